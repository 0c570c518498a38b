"""Deployments: one ReplicaSet per template, rolled over within maxSurge and maxUnavailable."""

import asyncio
from typing import Any

from simulator.fleet.api import DEPLOYMENTS, REPLICA_SETS, ApiError, plain
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.clock import Clock, parsed
from simulator.fleet.controllers.ownership import (
    controller_of,
    is_going,
    owned_by,
    owner_reference,
    share_of,
    template_hash,
)
from simulator.fleet.controllers.rollout import Plan, next_sizes
from simulator.fleet.controllers.rollout_status import conditions_of
from simulator.fleet.events import Recorder

type Json = dict[str, Any]

_COMPONENT = "deployment-controller"
_HASH = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"


class Deployments:
    def __init__(self, cluster: Cluster, recorder: Recorder, clock: Clock) -> None:
        self._api = cluster.api
        self._recorder = recorder
        self._clock = clock
        self._deployments = cluster.store(DEPLOYMENTS)
        self._sets = cluster.store(REPLICA_SETS)
        self._queue = Queue(_COMPONENT, self._reconcile)
        self._deployments.listen(lambda old, new: self._queue.add(key_of(new or old or {})))
        self._sets.listen(self._set_changed)

    async def run(self) -> None:
        await asyncio.gather(self._deployments.ready.wait(), self._sets.ready.wait())
        await self._queue.run()

    def _set_changed(self, before: Json | None, after: Json | None) -> None:
        item = after or before or {}
        owner = controller_of(item)
        if owner and owner["kind"] == DEPLOYMENTS.kind:
            self._queue.add((item["metadata"]["namespace"], owner["name"]))

    async def _reconcile(self, key: Key) -> None:
        deployment = self._deployments.get(*key)
        if deployment is None or is_going(deployment):
            return
        sets = [rs for rs in owned_by(deployment, self._sets) if not is_going(rs)]
        current = next((rs for rs in sets if _is_template(rs, deployment)), None)
        paused = bool(deployment["spec"].get("paused"))
        if current is None and not paused:
            current = await self._new_set(deployment, sets)
            sets.append(current)
        sets = await self._scale(deployment, current, sets, paused=paused)
        if current:
            current = next(rs for rs in sets if key_of(rs) == key_of(current))
        await self._write_status(deployment, current, sets)
        await self._forget_old(deployment, current, sets)

    async def _new_set(self, deployment: Json, sets: list[Json]) -> Json:
        template = deployment["spec"]["template"]
        meta = deployment["metadata"]
        mark = template_hash(template)
        pod_meta = template.get("metadata") or {}
        labels = pod_meta.get("labels") or {}
        revision = 1 + max((_revision(rs) for rs in sets), default=0)
        body = {
            "metadata": {
                "name": f"{meta['name']}-{mark}",
                "namespace": meta["namespace"],
                "labels": labels | {_HASH: mark},
                "annotations": {_REVISION: str(revision)},
                "ownerReferences": [owner_reference(deployment, DEPLOYMENTS)],
            },
            "spec": {
                "replicas": 0,
                "selector": _with_hash(deployment["spec"]["selector"], mark),
                "template": template | {"metadata": pod_meta | {"labels": labels | {_HASH: mark}}},
            },
        }
        created = await self._api.create(REPLICA_SETS, body)
        self._sets.assume(created)
        if meta.get("annotations", {}).get(_REVISION) != str(revision):
            body = {"metadata": {"annotations": {_REVISION: str(revision)}}}
            changed = await self._api.merge(DEPLOYMENTS, meta["namespace"], meta["name"], body)
            self._deployments.assume(changed)
        return created

    async def _scale(
        self, deployment: Json, current: Json | None, sets: list[Json], *, paused: bool
    ) -> list[Json]:
        sizes = next_sizes(_plan(deployment, current, sets, paused=paused))
        scaled = []
        for rs in sets:
            name = rs["metadata"]["name"]
            wanted, have = sizes.get(name, 0), int(rs["spec"].get("replicas", 0))
            if wanted == have:
                scaled.append(rs)
                continue
            changed = await self._api.merge(
                REPLICA_SETS,
                rs["metadata"]["namespace"],
                name,
                {"spec": {"replicas": wanted}},
            )
            self._sets.assume(changed)
            scaled.append(changed)
            way = "up" if wanted > have else "down"
            self._recorder.record(
                deployment,
                "ScalingReplicaSet",
                f"Scaled {way} replica set {name} from {have} to {wanted}",
                component=_COMPONENT,
            )
        return scaled

    async def _write_status(self, deployment: Json, current: Json | None, sets: list[Json]) -> None:
        total = _sum(sets, "replicas")
        wanted = int(deployment["spec"].get("replicas", 1))
        available = _sum(sets, "availableReplicas")
        status: Json = {
            "observedGeneration": deployment["metadata"].get("generation", 1),
            "replicas": total,
            "updatedReplicas": _sum([current] if current else [], "replicas"),
            "readyReplicas": _sum(sets, "readyReplicas"),
            "availableReplicas": available,
            "unavailableReplicas": max(wanted - available, 0),
            "terminatingReplicas": _sum(sets, "terminatingReplicas"),
        }
        before = deployment.get("status") or {}
        status["conditions"] = conditions_of(
            deployment, current, status, now=Clock.stamp(), patience=self._patience(deployment)
        )
        if all((before.get(key) or 0) == (value or 0) for key, value in status.items()):
            self._watch_deadline(deployment, before)
            return
        meta = deployment["metadata"]
        written = await self._api.merge(
            DEPLOYMENTS, meta["namespace"], meta["name"], {"status": status}, sub="status"
        )
        self._deployments.assume(written)
        self._watch_deadline(deployment, status)

    def _patience(self, deployment: Json) -> float:
        seconds = float(deployment["spec"].get("progressDeadlineSeconds", 600))
        return self._clock.shortened(seconds)

    def _watch_deadline(self, deployment: Json, status: Json) -> None:
        """Look again when the rollout should have got on."""
        for item in status.get("conditions") or []:
            if item["type"] == "Progressing" and item.get("reason") in {
                "ReplicaSetUpdated",
                "NewReplicaSetCreated",
            }:
                left = parsed(item["lastUpdateTime"]) + self._patience(deployment) - Clock.wall()
                self._queue.add_after(key_of(deployment), max(left, 0.0) + 1.1)

    async def _forget_old(self, deployment: Json, current: Json | None, sets: list[Json]) -> None:
        limit = int(deployment["spec"].get("revisionHistoryLimit", 10))
        empty = [
            rs
            for rs in sets
            if rs is not current
            and not rs["spec"].get("replicas")
            and not (rs.get("status") or {}).get("replicas")
        ]
        for rs in sorted(empty, key=_revision)[: max(len(empty) - limit, 0)]:
            try:
                await self._api.delete(REPLICA_SETS, *key_of(rs), uid=rs["metadata"]["uid"])
            except ApiError as error:
                if not error.is_conflict:
                    raise


def _plan(deployment: Json, current: Json | None, sets: list[Json], *, paused: bool) -> Plan:
    spec = deployment["spec"]
    wanted = int(spec.get("replicas", 1))
    strategy = spec.get("strategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    surge = share_of(rolling.get("maxSurge", "25%"), wanted, up=True)
    unavailable = share_of(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    if strategy.get("type") == "Recreate":
        surge, unavailable = 0, wanted
    elif surge == 0 and unavailable == 0:
        unavailable = 1
    name = current["metadata"]["name"] if current else ""
    return Plan(
        wanted=wanted,
        surge=surge,
        unavailable=unavailable,
        recreate=strategy.get("type") == "Recreate",
        paused=paused,
        current=name,
        sizes={rs["metadata"]["name"]: int(rs["spec"].get("replicas", 0)) for rs in sets},
        available={
            rs["metadata"]["name"]: int((rs.get("status") or {}).get("availableReplicas", 0))
            for rs in sets
        },
        existing={
            rs["metadata"]["name"]: int((rs.get("status") or {}).get("replicas", 0))
            + int((rs.get("status") or {}).get("terminatingReplicas", 0))
            for rs in sets
        },
    )


def _sum(sets: list[Json], field: str) -> int:
    return sum(int((rs.get("status") or {}).get(field, 0)) for rs in sets)


def _revision(rs: Json) -> int:
    text = (rs["metadata"].get("annotations") or {}).get(_REVISION, "0")
    return int(text) if text.isdigit() else 0


def _with_hash(selector: Json, mark: str) -> Json:
    return selector | {"matchLabels": (selector.get("matchLabels") or {}) | {_HASH: mark}}


def _is_template(rs: Json, deployment: Json) -> bool:
    mine = rs["spec"]["template"]
    meta = dict(mine.get("metadata") or {})
    labels = {k: v for k, v in (meta.get("labels") or {}).items() if k != _HASH}
    theirs = deployment["spec"]["template"]
    other = theirs.get("metadata") or {}
    return (
        labels == (other.get("labels") or {})
        and (meta.get("annotations") or {}) == (other.get("annotations") or {})
        and plain(mine["spec"]) == plain(theirs["spec"])
    )
