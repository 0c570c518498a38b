"""The scale subresource: replicas of a workload as an autoscaling/v1 Scale."""

from typing import Any

import orjson

from simulator.apiserver import patches, problems
from simulator.apiserver.api import Api, Outcome, WriteOptions
from simulator.apiserver.columns import selector_text
from simulator.apiserver.kinds import Kind
from simulator.apiserver.paths import Target

SCALE = Kind("autoscaling", "v1", "Scale", "scales")
_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class Scales:
    def __init__(self, api: Api) -> None:
        self._api = api

    def read(self, kind: Kind, wanted: Target) -> Outcome:
        item = self._api.existing(kind, wanted.namespace, wanted.name).parsed()
        return Outcome(200, orjson.dumps(self._scale(kind, item)))

    def write(
        self, kind: Kind, wanted: Target, scale: dict[str, Any], options: WriteOptions
    ) -> Outcome:
        """Set the replicas. Raises Refused: 404, 409 on a stale resourceVersion, 422."""
        if not isinstance(scale, dict) or scale.get("kind") != "Scale":
            raise problems.bad_request("expected a Scale of autoscaling/v1")
        entry = self._api.existing(kind, wanted.namespace, wanted.name)
        meta = scale.get("metadata") or {}
        if meta.get("resourceVersion") not in (None, "", str(entry.revision)):
            raise problems.conflict(kind, wanted.name)
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            cause = problems.invalid_value(
                "spec.replicas", replicas, "must be greater than or equal to 0"
            )
            raise problems.invalid(SCALE, wanted.name, [cause])
        item = entry.parsed()
        _put(item, self._api.custom.replica_paths(kind)[0], replicas)
        outcome = self._api.write_subresource(kind, entry, item, "scale", options)
        return Outcome(200, orjson.dumps(self._scale(kind, orjson.loads(outcome.data))))

    def patch(
        self, kind: Kind, wanted: Target, media: str, patch: Any, options: WriteOptions
    ) -> Outcome:
        scale = self._scale(kind, self._api.existing(kind, wanted.namespace, wanted.name).parsed())
        if media == patches.JSON:
            changed = patches.json_patch(scale, patch)
        else:
            changed = patches.merge_patch(scale, patch)
        return self.write(kind, wanted, changed, options)

    def _scale(self, kind: Kind, item: dict[str, Any]) -> dict[str, Any]:
        spec_path, status_path, selector_path = self._api.custom.replica_paths(kind)
        meta = {name: item["metadata"][name] for name in _META if name in item["metadata"]}
        status: dict[str, Any] = {"replicas": _at(item, status_path) or 0}
        selector = _at(item, selector_path)
        if selector:
            status["selector"] = selector if isinstance(selector, str) else selector_text(selector)
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": meta,
            "spec": {"replicas": replicas} if (replicas := _at(item, spec_path)) else {},
            "status": status,
        }


def _at(item: dict[str, Any], path: str) -> Any:
    found: Any = item
    for step in path.strip(".").split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _put(item: dict[str, Any], path: str, value: int) -> None:
    *steps, last = path.strip(".").split(".")
    for step in steps:
        item = item.setdefault(step, {})
    item[last] = value
