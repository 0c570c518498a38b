"""Disruption budgets: whether a pod may be evicted, and the budget that it uses up."""

from typing import Any

from simulator.apiserver.api import Api, WriteOptions, now_text
from simulator.apiserver.problems import Refused
from simulator.apiserver.selectors import selects

_MANAGER = WriteOptions(manager="kube-apiserver")


def spend(api: Api, pod: dict[str, Any], *, dry_run: bool) -> None:
    """Take one disruption from the pod's budget. Raises Refused (429) where there is none."""
    meta = pod["metadata"]
    kind = api.kinds.find("policy", "v1", "poddisruptionbudgets")
    if kind is None:
        return
    shelf = api.store.shelf(kind)
    for key in shelf.keys(meta["namespace"]):
        entry = shelf.entries[key]
        budget = entry.parsed()
        if not selects(budget["spec"].get("selector"), meta.get("labels") or {}):
            continue
        status = budget.setdefault("status", {})
        if status.get("disruptionsAllowed", 0) <= 0:
            raise _refusal(budget)
        if not dry_run:
            status["disruptionsAllowed"] -= 1
            status.setdefault("disruptedPods", {})[meta["name"]] = now_text()
            api.write_subresource(kind, entry, budget, "status", _MANAGER)


def _refusal(budget: dict[str, Any]) -> Refused:
    status, name = budget["status"], budget["metadata"]["name"]
    return Refused(
        429,
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={
            "causes": [
                {
                    "reason": "DisruptionBudget",
                    "message": f"The disruption budget {name} needs "
                    f"{status.get('desiredHealthy', 0)} healthy pods and has "
                    f"{status.get('currentHealthy', 0)} currently",
                }
            ]
        },
    )
