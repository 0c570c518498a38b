"""A gateway's controller: keeps Envoy in step with HTTPRoutes and InferencePools, writes status.

Clusters come before the routes that name them, and go after a while that `linger` sets: taking a
picker's cluster away cuts the streams that run through it.
"""

import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from kube import kinds
from kube.client import Cluster
from kube.errors import Conflict, NotFound
from kube.kinds import Kind
from kube.watch import Changed, Deleted, Listed, follow
from tests.datapath.envoyfiles import Files, routes
from tests.datapath.translation import Json, Key, Said, State, Translation

CONTROLLER = "claimyard.dev/test-envoy"
KINDS: dict[str, Kind] = {
    "gateways": kinds.GATEWAYS,
    "routes": kinds.HTTP_ROUTES,
    "pools": kinds.INFERENCE_POOLS,
    "services": kinds.SERVICES,
    "pods": kinds.PODS,
}


class Mirror(threading.Thread):
    """Objects of one kind by (namespace, name), kept current by a watch."""

    def __init__(
        self, cluster: Cluster, kind: Kind, changed: threading.Event, over: threading.Event
    ) -> None:
        super().__init__(daemon=True, name=f"mirror-{kind.plural}")
        self._cluster, self._kind, self._changed, self._over = cluster, kind, changed, over
        self.objects: dict[Key, Json] = {}
        self.synced = threading.Event()

    def run(self) -> None:
        listing: dict[Key, Json] = {}
        for step in follow(self._cluster, self._kind, stop=self._over, watch_seconds=30):
            if isinstance(step, Listed):
                listing = {} if step.is_first else listing
                listing |= {(one.namespace, one.name): one.object() for one in step.items}
                if not step.is_last:
                    continue
                self.objects = dict(listing)
                self.synced.set()
            elif isinstance(step, Changed):
                key = (step.item.namespace, step.item.name)
                self.objects = self.objects | {key: step.item.object()}
            elif isinstance(step, Deleted):
                gone = (step.item.namespace, step.item.name)
                self.objects = {key: one for key, one in self.objects.items() if key != gone}
            else:
                continue
            self._changed.set()


class Controller(threading.Thread):
    """`delay` seconds before acting on a change; without `tells` it never writes status."""

    def __init__(self, cluster: Cluster, files: Files) -> None:
        super().__init__(daemon=True, name="gateway-controller")
        self._cluster, self._files = cluster, files
        self._changed, self._over = threading.Event(), threading.Event()
        self._mirrors = {
            name: Mirror(cluster, kind, self._changed, self._over) for name, kind in KINDS.items()
        }
        self._clusters: dict[str, Json] = {}
        self._unused: dict[str, float] = {}
        self.ready = threading.Event()
        self.mode, self.delay, self.linger, self.tells = "original_dst", 0.0, 30.0, True
        self.failure: BaseException | None = None

    def stop(self) -> None:
        self._over.set()
        self._changed.set()
        self.join(10)

    def poke(self) -> None:
        self._changed.set()

    @property
    def pods(self) -> dict[Key, Json]:
        return self._mirrors["pods"].objects

    def run(self) -> None:
        for mirror in self._mirrors.values():
            mirror.start()
        for mirror in self._mirrors.values():
            mirror.synced.wait()
        while not self._over.is_set():
            self._changed.clear()
            try:
                self._step()
            except Conflict:
                self._changed.set()  # an object changed while its status was written
            except Exception as error:  # noqa: BLE001 - told by Rig.check
                self.failure = error
                return
            self.ready.set()
            self._changed.wait(1.0 if self._unused else 5.0)
            if self.delay:
                self._over.wait(self.delay)

    def _step(self) -> None:
        state = State(**{name: mirror.objects for name, mirror in self._mirrors.items()})
        found = Translation(state, self.mode).run()
        self._files.put("cds", list((self._clusters | found.clusters).values()))
        self._files.put("rds", [routes(found.virtual_hosts())])
        now = time.monotonic()
        gone = self._clusters.keys() - found.clusters.keys()
        self._unused = {name: self._unused.get(name, now) for name in gone}
        kept = {
            name: self._clusters[name]
            for name, since in self._unused.items()
            if since + self.linger > now
        }
        self._clusters = kept | found.clusters
        self._files.put("cds", list(self._clusters.values()))
        for job, targets in found.targets().items():
            self._files.put(f"targets-{job}", targets)
        if self.tells:
            self._tell(state, found.said)

    def _tell(self, state: State, said: Iterable[Said]) -> None:
        for one in said:
            item = getattr(state, one.kind)[one.key]
            body = _status(item, one)
            old = item.get("status") or {}
            if all(old.get(name) == value for name, value in body.items()):
                continue
            try:
                self._cluster.patch_merge(KINDS[one.kind], *one.key, {"status": body}, sub="status")
            except NotFound:
                continue


def _status(item: Json, said: Said) -> Json:
    old = item.get("status") or {}
    if said.kind == "gateways":
        listeners = [
            {
                "name": one["name"],
                "attachedRoutes": 0,
                "supportedKinds": [{"group": kinds.GATEWAYS.group, "kind": "HTTPRoute"}],
                "conditions": _filled(item, _held(old.get("listeners"), one["name"]), said),
            }
            for one in item["spec"]["listeners"]
        ]
        return {
            "conditions": _filled(item, old.get("conditions") or [], said),
            "addresses": [{"type": "IPAddress", "value": "127.0.0.1"}],
            "listeners": listeners,
        }
    parents = old.get("parents") or []
    others = [one for one in parents if one.get("controllerName") not in (CONTROLLER, None)]
    mine = [one for one in parents if one.get("controllerName") == CONTROLLER]
    told = []
    for ref in said.parents:
        before: Json = next((one for one in mine if _same(one["parentRef"], ref)), {})
        told.append(
            {
                "parentRef": before.get("parentRef", ref),
                "controllerName": CONTROLLER,
                "conditions": _filled(item, before.get("conditions") or [], said),
            }
        )
    return {"parents": [*others, *told]}


def _held(listeners: Any, name: str) -> list[Json]:
    return next((one["conditions"] for one in listeners or [] if one["name"] == name), [])


def _same(left: Json, right: Json) -> bool:
    """The API server fills in defaults, so only the name counts."""
    return bool(left["name"] == right["name"])


def _filled(item: Json, held: list[Json], said: Said) -> list[Json]:
    before = {one["type"]: one for one in held}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = []
    for kind, holds, reason, message in said.conditions:
        status = "True" if holds else "False"
        old = before.get(kind, {})
        found.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "observedGeneration": item["metadata"]["generation"],
                "lastTransitionTime": old["lastTransitionTime"]
                if old.get("status") == status
                else now,
            }
        )
    return found
