"""A scheduler on the placement engine: filter, allocate, reserve, bind, or say why not."""

import asyncio
import logging
from typing import Any

from domain.placement import (
    Change,
    Delete,
    Features,
    Fleet,
    PodFit,
    PodPlacement,
    Upsert,
    apply_all,
    message,
    place_pod,
)
from simulator.fleet.api import (
    CLAIMS,
    CLASSES,
    NODES,
    PODS,
    SLICES,
    TAINT_RULES,
    ApiError,
)
from simulator.fleet.cache import Cluster, Key, Store, key_of
from simulator.fleet.clock import Clock
from simulator.fleet.controllers.claims import FINALIZER
from simulator.fleet.controllers.ownership import is_going, owner_reference
from simulator.fleet.events import Recorder

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_COMPONENT = "default-scheduler"
_EXTENDED = "<extended-resources>"
_FEATURES = Features.preset("1.37")
_ALL_NODES = 100
_GROUP = 50
_FIRST_BACKOFF, _LAST_BACKOFF = 0.25, 2.0
_KINDS = (NODES, PODS, SLICES, CLASSES, CLAIMS, TAINT_RULES)


class Scheduler:
    """One pod at a time. A pod that fits nowhere waits until something else changes."""

    def __init__(self, cluster: Cluster, recorder: Recorder) -> None:
        self._api = cluster.api
        self._recorder = recorder
        self._stores = {kind.kind: cluster.store(kind) for kind in _KINDS}
        self._fleet = Fleet()
        self._changes: dict[tuple[str, Key], Change] = {}
        self._active: dict[Key, None] = {}
        self._waiting: dict[Key, float] = {}
        self._backoff: dict[Key, float] = {}
        self._next_node = 0
        self._bound: dict[str, str] = {}
        self._woken = asyncio.Event()
        for kind, store in self._stores.items():
            store.listen(self._listener(kind))

    @property
    def _pods(self) -> Store:
        return self._stores["Pod"]

    @property
    def _claims(self) -> Store:
        return self._stores["ResourceClaim"]

    async def run(self) -> None:
        """Rules are not waited for: clusters before 1.37 do not serve them."""
        needed = [store for kind, store in self._stores.items() if kind != TAINT_RULES.kind]
        await asyncio.gather(*(store.ready.wait() for store in needed))
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._active:
                key = next(iter(self._active))
                del self._active[key]
                try:
                    await self._schedule(key)
                except ApiError as error:
                    self._try_later(key, error)
                except Exception:  # one odd pod must not keep the others from their turn
                    log.exception("scheduling %s/%s", *key)
                await asyncio.sleep(0)

    def _try_later(self, key: Key, error: ApiError) -> None:
        if error.is_missing:
            return
        log.debug("scheduling %s/%s: %s", *key, error)
        asyncio.get_running_loop().call_later(0.2, self._activate, key)

    def _activate(self, key: Key) -> None:
        self._waiting.pop(key, None)
        self._active[key] = None
        self._woken.set()

    def _listener(self, kind: str) -> Any:
        def listen(before: Json | None, after: Json | None) -> None:
            key = key_of(after or before or {})
            if kind == "Pod" and after:
                after = self._with_node(after)
            change: Change = Upsert(after) if after else Delete(kind, *key)
            self._changes[kind, key] = change
            if kind == "Pod":
                self._pod_changed(key, before, after)
            elif _matters(kind, before, after):
                self._wake()

        return listen

    def _with_node(self, pod: Json) -> Json:
        """The pod as bound, also while the watch still shows it from before."""
        uid = pod["metadata"]["uid"]
        if pod["spec"].get("nodeName"):
            self._bound.pop(uid, None)
        elif uid in self._bound:
            return pod | {"spec": pod["spec"] | {"nodeName": self._bound[uid]}}
        return pod

    def _pod_changed(self, key: Key, before: Json | None, after: Json | None) -> None:
        if after is None:
            self._active.pop(key, None)
            self._waiting.pop(key, None)
            self._backoff.pop(key, None)
            if (before or {})["spec"].get("nodeName"):
                self._wake()
        elif not after["spec"].get("nodeName"):
            claims = [
                ((pod or {}).get("status") or {}).get("resourceClaimStatuses")
                for pod in (before, after)
            ]
            if before is None or claims[0] != claims[1]:
                self._activate(key)

    def _wake(self) -> None:
        """Pods that failed are tried again, each not sooner than its back-off allows."""
        now = Clock.monotonic()
        loop = asyncio.get_running_loop()
        for key, due in list(self._waiting.items()):
            del self._waiting[key]
            if due <= now:
                self._activate(key)
            else:
                loop.call_later(due - now, self._activate, key)

    def _wait(self, key: Key) -> None:
        backoff = self._backoff.get(key, _FIRST_BACKOFF)
        self._backoff[key] = min(backoff * 2, _LAST_BACKOFF)
        self._waiting[key] = Clock.monotonic() + backoff

    # One pod.

    async def _schedule(self, key: Key) -> None:
        pod = self._pods.get(*key)
        if pod is None or self._with_node(pod)["spec"].get("nodeName") or is_going(pod):
            return
        if pod["spec"].get("schedulerName", _COMPONENT) != _COMPONENT:
            return
        claims = self._claims_of(pod)
        if claims is None:
            # Its claims are still to be made; their names in the status wake it.
            self._waiting[key] = 0.0
            return
        changes, self._changes = list(self._changes.values()), {}
        self._fleet = apply_all(self._fleet, changes)
        placement = self._place(pod)
        if placement.node is None:
            await self._refuse(pod, placement)
        else:
            await self._bind(pod, claims, placement, placement.node)

    def _place(self, pod: Json) -> PodPlacement:
        """In a large cluster nodes are looked at in groups, going on where the last pod ended."""
        names = sorted(self._fleet.nodes)
        if len(names) <= _ALL_NODES:
            return place_pod(self._fleet, pod, _FEATURES)
        fits: list[PodFit] = []
        start = self._next_node % len(names)
        order = names[start:] + names[:start]
        for first in range(0, len(order), _GROUP):
            placement = place_pod(self._fleet, pod, _FEATURES, nodes=order[first : first + _GROUP])
            self._next_node = start + first
            if placement.node is not None:
                return placement
            fits += placement.fits
        return PodPlacement(None, message=message(fits), fits=tuple(fits))

    def _claims_of(self, pod: Json) -> list[Json] | None:
        """None while one of them does not exist."""
        made = {
            item["name"]: item.get("resourceClaimName")
            for item in (pod.get("status") or {}).get("resourceClaimStatuses") or []
        }
        claims = []
        for entry in pod["spec"].get("resourceClaims") or []:
            name = entry.get("resourceClaimName") or made.get(entry["name"])
            claim = self._claims.get(pod["metadata"]["namespace"], name) if name else None
            if claim is None:
                return None
            claims.append(claim)
        return claims

    async def _refuse(self, pod: Json, placement: PodPlacement) -> None:
        self._wait(key_of(pod))
        text = _message(placement, self._stores[NODES.kind])
        self._recorder.record(pod, "FailedScheduling", text, component=_COMPONENT, warning=True)
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": text,
        }
        conditions = (pod.get("status") or {}).get("conditions") or []
        before = next((item for item in conditions if item["type"] == "PodScheduled"), None)
        if before and before["status"] == "False" and before.get("message") == text:
            return
        since = before["lastTransitionTime"] if before and before["status"] == "False" else None
        others = [item for item in conditions if item["type"] != "PodScheduled"]
        conditions = [*others, condition | {"lastTransitionTime": since or Clock.stamp()}]
        body = {"status": {"conditions": conditions}}
        self._pods.assume(await self._api.merge(PODS, *key_of(pod), body, sub="status"))

    async def _bind(
        self, pod: Json, claims: list[Json], placement: PodPlacement, node: str
    ) -> None:
        for claim in claims:
            await self._reserve(pod, claim, placement)
        if placement.extended_claim is not None:
            await self._extended(pod, placement)
        meta = pod["metadata"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        path = PODS.path(meta["namespace"], meta["name"], "binding")
        await self._api.call("POST", path, binding)
        # The next pod must see this one on its node, however far behind the watch is.
        self._bound[meta["uid"]] = node
        self._fleet = apply_all(self._fleet, [Upsert(self._with_node(pod))])
        self._recorder.record(
            pod,
            "Scheduled",
            f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}",
            component=_COMPONENT,
        )

    async def _reserve(self, pod: Json, claim: Json, placement: PodPlacement) -> None:
        """The finalizer first, then allocation and reservation in one write."""
        status = dict(claim.get("status") or {})
        users = list(status.get("reservedFor") or [])
        meta = pod["metadata"]
        if any(user["uid"] == meta["uid"] for user in users):
            return
        if "allocation" not in status:
            finalizers = claim["metadata"].get("finalizers") or []
            if FINALIZER not in finalizers:
                marked = claim["metadata"] | {"finalizers": [*finalizers, FINALIZER]}
                claim = await self._api.replace(CLAIMS, claim | {"metadata": marked})
            allocation = placement.allocations[claim["metadata"]["name"]]
            status["allocation"] = dict(allocation)
        user = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
        status["reservedFor"] = [*users, user]
        written = await self._api.replace(CLAIMS, claim | {"status": status}, "status")
        self._claims.assume(written)

    async def _extended(self, pod: Json, placement: PodPlacement) -> None:
        """The claim that stands for extended resources, and where the pod finds it."""
        wanted = placement.extended_claim or {}
        meta = pod["metadata"]
        body = {
            "metadata": {
                "generateName": f"{meta['name']}-extended-resources-",
                "namespace": meta["namespace"],
                "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
                "ownerReferences": [owner_reference(pod, PODS)],
                "finalizers": [FINALIZER],
            },
            "spec": wanted["spec"],
        }
        claim = await self._api.create(CLAIMS, body)
        user = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
        allocation = dict(placement.allocations[_EXTENDED])
        status = {"allocation": allocation, "reservedFor": [user]}
        self._claims.assume(await self._api.replace(CLAIMS, claim | {"status": status}, "status"))
        mark = {
            "resourceClaimName": claim["metadata"]["name"],
            "requestMappings": _mappings(pod, wanted),
        }
        body = {"status": {"extendedResourceClaimStatus": mark}}
        await self._api.merge(PODS, *key_of(pod), body, sub="status")


def _mappings(pod: Json, claim: Any) -> list[Json]:
    """Requests are called container-I-request-J over init containers, then containers."""
    containers = [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]
    mappings = []
    for request in claim["spec"]["devices"]["requests"]:
        _, index, _, number = request["name"].split("-")
        container = containers[int(index)]
        names = sorted((container.get("resources") or {}).get("limits") or {})
        mappings.append(
            {
                "containerName": container["name"],
                "resourceName": names[min(int(number), len(names) - 1)],
                "requestName": request["name"],
            }
        )
    return mappings


def _matters(kind: str, before: Json | None, after: Json | None) -> bool:
    """Whether a change may make room: heartbeats and reservations do not."""
    if before is None or after is None:
        return True
    if kind == "Node":
        fields = [
            (
                node["spec"],
                node["metadata"].get("labels"),
                (node.get("status") or {}).get("allocatable"),
            )
            for node in (before, after)
        ]
        return fields[0] != fields[1]
    if kind == "ResourceClaim":
        held = ["allocation" in (claim.get("status") or {}) for claim in (before, after)]
        return held[0] and not held[1]
    return True


def _message(placement: PodPlacement, nodes: Store) -> str:
    """With what preemption adds, which never frees a device and seldom a card."""
    base = placement.message
    if not base.startswith("0/"):
        return base
    total = len(placement.fits)
    hopeful = sum(_may_preempt(fit, nodes.get("", fit.node) or {}) for fit in placement.fits)
    parts = [f"{hopeful} No preemption victims found for incoming pod"] if hopeful else []
    if hopeful < total:
        parts.append(f"{total - hopeful} Preemption is not helpful for scheduling")
    return f"{base} preemption: 0/{total} nodes are available: {', '.join(sorted(parts))}."


def _may_preempt(fit: PodFit, node: Json) -> bool:
    """Only resources that the node has at all, and that others hold, can be freed."""
    allocatable = (node.get("status") or {}).get("allocatable") or {}
    return bool(fit.reasons) and all(
        reason == "Too many pods"
        or (
            reason.startswith("Insufficient ")
            and allocatable.get(reason.removeprefix("Insufficient "), "0") != "0"
        )
        for reason in fit.reasons
    )
