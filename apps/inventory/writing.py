"""The one way by which rooms write objects to a cluster.

It asks before it touches: nothing is written in mode observe or while the switch is off, mode
propose makes a patch to take away, and an object that is not ours is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.inventory import connections
from apps.inventory.models import Cluster, Mode, WriteSwitch
from domain import diffs
from domain.conditions import Condition
from domain.manifests.labels import MANAGED_BY, MANAGER
from kube import client
from kube.errors import Conflict, NotFound, Permanent
from kube.kinds import Kind

Json = dict[str, Any]

# Reasons that end by themselves once somebody changes a mode or a switch.
WAITING = frozenset({"WritesStopped", "ObserveOnly", "Proposed"})


@dataclass(frozen=True, slots=True)
class Object:
    """What names one object."""

    kind: Kind
    namespace: str | None
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.kind} {where}{self.name}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: the condition Applied, a patch to take away, and fields that differ."""

    condition: Condition
    proposal: str = ""
    drift: list[Json] = field(default_factory=list)


def _condition(holds: bool, reason: str, message: str) -> Condition:
    return Condition("Applied", "True" if holds else "False", reason, message)


def refusal(cluster: Cluster) -> Condition | None:
    """Why nothing may be written to this cluster now; None when it may."""
    switch = WriteSwitch.objects.filter(stopped=True).first()
    if switch is not None:
        why = f": {switch.reason}" if switch.reason else "."
        return _condition(False, "WritesStopped", f"All writes are stopped{why}")
    if cluster.retired_at is not None:
        return _condition(False, "ClusterRetired", "This cluster is retired.")
    if cluster.mode == Mode.OBSERVE:
        return _condition(False, "ObserveOnly", "This cluster is only observed; change its mode.")
    return None


def keep_so(
    cluster: Cluster,
    manifests: Sequence[Json],
    *,
    adopt: bool = False,
    force: bool = False,
    touch: bool = True,
) -> Outcome:
    """Bring the cluster to these objects, in order; repeatable.

    Without `touch`, what differs is only told (as drift), but what is missing is made again.
    Transient cluster errors pass through; permanent ones become the condition.
    """
    try:
        with connections.opened(cluster) as connection:
            return _keep_so(connection, cluster, manifests, adopt=adopt, force=force, touch=touch)
    except Conflict as error:
        fields = ", ".join(cause.field for cause in error.causes[:5])
        what = f"Somebody else owns {fields}. " if fields else ""
        return Outcome(_condition(False, "Conflict", f"{what}{error.message}"))
    except Permanent as error:
        return Outcome(_condition(False, error.reason, error.message))


def _keep_so(
    connection: client.Cluster,
    cluster: Cluster,
    manifests: Sequence[Json],
    *,
    adopt: bool,
    force: bool,
    touch: bool,
) -> Outcome:
    live = [_live(connection, manifest) for manifest in manifests]
    for manifest, found in zip(manifests, live, strict=True):
        if found is not None and not adopt and not is_ours(found):
            text = f"{_title(manifest)} exists and is not Claimyard's; nothing was changed."
            return Outcome(_condition(False, "NotOurs", text))
    drift = drift_of(manifests, live)
    stopped = refusal(cluster)
    if stopped is not None:
        return Outcome(stopped, _proposal(manifests, live), drift)
    if cluster.mode == Mode.PROPOSE and drift:
        text = "Apply the patch shown here, or change the cluster's mode to manage."
        return Outcome(_condition(False, "Proposed", text), _proposal(manifests, live), drift)
    if cluster.mode == Mode.PROPOSE:
        return Outcome(_condition(True, "AlreadySo", "The cluster has it as proposed."))
    for manifest, found in zip(manifests, live, strict=True):
        if touch or found is None:
            connection.apply(manifest, force=force)
    if not touch:
        drift = [one for one in drift if one["path"]]
        return Outcome(_condition(True, "Applied", "The cluster took every object."), drift=drift)
    return Outcome(_condition(True, "Applied", "The cluster took every object."))


def _live(connection: client.Cluster, manifest: Json) -> Json | None:
    metadata = manifest["metadata"]
    try:
        return connection.get(
            connection.kind_of(manifest), metadata.get("namespace"), metadata["name"]
        )
    except NotFound as error:
        if error.is_path:
            raise
        return None


def is_ours(found: Json) -> bool:
    labels = found.get("metadata", {}).get("labels") or {}
    return labels.get(MANAGED_BY) == MANAGER


def _title(manifest: Json) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def drift_of(manifests: Sequence[Json], live: Sequence[Json | None]) -> list[Json]:
    """Fields that differ, as JSON; the path "" stands for an object that is missing."""
    found: list[Json] = []
    for manifest, held in zip(manifests, live, strict=True):
        title = _title(manifest)
        if held is None:
            found.append({"object": title, "path": "", "live": None, "wanted": None})
            continue
        found += [
            {"object": title, "path": one.path, "live": one.before, "wanted": one.after}
            for one in diffs.changes(held, manifest)
        ]
    return found


def _proposal(manifests: Sequence[Json], live: Sequence[Json | None]) -> str:
    """The objects that need a change, as one YAML file for kubectl apply --server-side."""
    needed = [
        manifest
        for manifest, held in zip(manifests, live, strict=True)
        if held is None or diffs.changes(held, manifest)
    ]
    return "---\n".join(diffs.to_yaml(manifest) for manifest in needed)


def remove(cluster: Cluster, objects: Sequence[Object]) -> Outcome:
    """Delete what is ours of these, in order; what is gone already is no error."""
    try:
        with connections.opened(cluster) as connection:
            return _remove(connection, cluster, objects)
    except Permanent as error:
        return Outcome(_condition(False, error.reason, error.message))


def _remove(connection: client.Cluster, cluster: Cluster, objects: Sequence[Object]) -> Outcome:
    there = []
    for one in objects:
        try:
            found = connection.get(one.kind, one.namespace, one.name)
        except NotFound:
            continue
        if is_ours(found):
            there.append((one, found["metadata"]["uid"]))
    stopped = refusal(cluster) if there else None
    if stopped is None and there and cluster.mode == Mode.PROPOSE:
        stopped = _condition(False, "Proposed", "Delete what is named here, or change the mode.")
    if stopped is not None:
        proposal = "\n".join(_command(one) for one, _ in there)
        return Outcome(stopped, proposal)
    for one, uid in there:
        connection.delete(one.kind, one.namespace, one.name, uid=uid, missing_ok=True)
    return Outcome(_condition(True, "Removed", "Nothing of it is left in the cluster."))


def release(cluster: Cluster, one: Object, labels: Sequence[str]) -> Outcome:
    """Take our labels off an object that stays; repeatable. What is not ours is left alone."""
    try:
        with connections.opened(cluster) as connection:
            return _release(connection, cluster, one, labels)
    except Permanent as error:
        return Outcome(_condition(False, error.reason, error.message))


def _release(
    connection: client.Cluster, cluster: Cluster, one: Object, labels: Sequence[str]
) -> Outcome:
    done = Outcome(_condition(True, "Released", f"{one} stays, without the portal's labels."))
    try:
        if not is_ours(connection.get(one.kind, one.namespace, one.name)):
            return done
    except NotFound:
        return done
    stopped = refusal(cluster)
    if stopped is None and cluster.mode == Mode.PROPOSE:
        stopped = _condition(False, "Proposed", "Unlabel what is named here, or change the mode.")
    if stopped is not None:
        taken = " ".join(f"{label}-" for label in labels)
        where = f" --namespace {one.namespace}" if one.namespace else ""
        return Outcome(stopped, f"kubectl label {one.kind} {one.name}{where} {taken}")
    changes = {"metadata": {"labels": dict.fromkeys(labels)}}
    connection.patch_merge(one.kind, one.namespace, one.name, changes)
    return done


def _command(one: Object) -> str:
    where = f" --namespace {one.namespace}" if one.namespace else ""
    return f"kubectl delete {one.kind} {one.name}{where}"
