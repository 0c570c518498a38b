"""A workload's manifest before and after the move, for people to read or to take away."""

import copy
from collections.abc import Mapping
from typing import Any

from domain import canonical, diffs
from domain.patterns import Pattern, Values, claim_spec
from domain.rollout.mapping import Mapped, Way

Json = dict[str, Any]
REQUEST = "devices"

# Where a pod's template is in the kinds that people write.
TEMPLATE_AT: Mapping[str, tuple[str, ...]] = {
    "Pod": (),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "LeaderWorkerSet": ("spec", "leaderWorkerTemplate", "workerTemplate"),
}
# What makes the pods of these has no field for claims that we know of.
WITHOUT_CLAIMS: Mapping[str, str] = {
    "InferenceService": "KServe keeps claims behind an annotation that differs by version.",
    "LLMInferenceService": "KServe's field for claims is not the same in its versions.",
    "RayCluster": "Ray counts GPUs by resource names; with claims it sees none.",
    "RayService": "Ray counts GPUs by resource names; with claims it sees none.",
    "RayJob": "Ray counts GPUs by resource names; with claims it sees none.",
}


def refused_kind(kind: str, way: Way) -> str:
    """Why a workload of this kind cannot go that way; "" if it can. The bridge changes no
    manifest, so every kind can take it."""
    if way != Way.CLAIMS or kind in TEMPLATE_AT:
        return ""
    known = WITHOUT_CLAIMS.get(kind, "Nothing here knows where this kind keeps its pods.")
    return f"{kind}: {known} The bridge leaves it as it is."


def template(namespace: str, workload: str, pattern: Pattern, values: Values) -> Json:
    """The ResourceClaimTemplate that its pods will name."""
    spec = claim_spec(pattern, values)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": f"{workload[:40]}-{canonical.digest(spec)[:10]}",
            "namespace": namespace,
        },
        "spec": {"spec": spec},
    }


def rewritten(spec: Json, mapped: Mapped, resources: frozenset[str], template_name: str) -> Json:
    """A pod's spec that asks by claim: units, and the labels the claim stands for, are gone."""
    if mapped.way != Way.CLAIMS:
        return spec
    after = copy.deepcopy(spec)
    after["resourceClaims"] = [
        *(after.get("resourceClaims") or ()),
        {"name": REQUEST, "resourceClaimTemplateName": template_name},
    ]
    for container in after.get("containers") or ():
        _ask_by_claim(container, resources)
    _drop_labels(after, mapped.covered)
    return after


def _ask_by_claim(container: Json, resources: frozenset[str]) -> None:
    held = container.get("resources") or {}
    asked = False
    for part in ("limits", "requests"):
        amounts = {k: v for k, v in (held.get(part) or {}).items() if k not in resources}
        asked = asked or len(amounts) != len(held.get(part) or {})
        if amounts:
            held[part] = amounts
        else:
            held.pop(part, None)
    if asked:
        held["claims"] = [*(held.get("claims") or ()), {"name": REQUEST}]
        container["resources"] = held


def _drop_labels(spec: Json, covered: frozenset[str]) -> None:
    selector = {k: v for k, v in (spec.get("nodeSelector") or {}).items() if k not in covered}
    if selector:
        spec["nodeSelector"] = selector
    else:
        spec.pop("nodeSelector", None)
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [_without(term, covered) for term in required.get("nodeSelectorTerms") or ()]
    if not terms:
        return
    left = [term for term in terms if term]
    if left:
        required["nodeSelectorTerms"] = left
    else:
        del affinity["requiredDuringSchedulingIgnoredDuringExecution"]
        _prune(spec)


def _without(term: Json, covered: frozenset[str]) -> Json:
    left = [one for one in term.get("matchExpressions") or () if one.get("key") not in covered]
    rest = {key: value for key, value in term.items() if key != "matchExpressions"}
    return rest | ({"matchExpressions": left} if left else {})


def _prune(spec: Json) -> None:
    """Leave no empty affinity behind."""
    affinity = spec["affinity"]
    if not affinity.get("nodeAffinity"):
        affinity.pop("nodeAffinity", None)
    if not affinity:
        del spec["affinity"]


def diff(before: Any, after: Any, *added: Json) -> str:
    """What changes in the workload, and what is new beside it, as one unified diff."""
    parts = [diffs.text(before, after)] if before != after else []
    parts += [diffs.text(None, one) for one in added]
    return "\n".join(parts)
