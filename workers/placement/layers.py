"""The layers that something has to pass before it runs, from rows and from the engine's answer."""

from typing import Any

from apps.inventory.models import Pod
from apps.placement.waiting import before_devices, row_of
from domain import waiting
from domain.placement.trials import Wanted, requests_of
from domain.waiting import Layer, Verdict
from workers.placement.kinds import Json
from workers.placement.warm import Snapshot


def layers_json(snapshot: Snapshot, subject: Json, wanted: Wanted, answer: Json) -> list[Json]:
    """In order; the first that is stuck is the reason."""
    found = _layers(snapshot, subject, wanted, answer)
    stuck = waiting.first_stuck(found)
    return [_json(one) | {"is_first": one is stuck} for one in found]


def _json(one: Layer) -> Json:
    return {
        "name": one.name,
        "verdict": one.verdict.value,
        "text": one.text,
        "source": one.source,
        "at": None if one.at is None else one.at.isoformat(),
        "words": one.words,
    }


def _layers(snapshot: Snapshot, subject: Json, wanted: Wanted, answer: Json) -> list[Layer]:
    asked = _classes_of(wanted)
    raw = wanted.pod or {}
    spec = raw.get("spec") or {}
    row = row_of(snapshot.cluster, **subject)
    found = before_devices(
        snapshot.cluster,
        tenant="" if row is None else row.tenant,
        uids=[] if row is None else [row.uid],
        asked=asked,
        missing=_missing(raw),
        gates=[
            str(one.get("name")) for one in (raw.get("spec") or {}).get("schedulingGates") or ()
        ],
    )
    found.append(waiting.classes(asked, snapshot.fleet.classes))
    if answer["outcome"] == "settled":
        found.append(_settled("Device selection", answer))
        found.append(_settled("Node", answer))
    else:
        devices = waiting.devices(answer.get("funnels", ()))
        if answer["outcome"] == "fits":
            devices = Layer(devices.name, Verdict.PASSED, "It finds its devices.", waiting.ENGINE)
        found += [devices, waiting.nodes(answer, devices.verdict is not Verdict.STUCK)]
    node = str(spec.get("nodeName") or "")
    found.append(waiting.start(node, row.containers if isinstance(row, Pod) else []))
    return found


def _settled(name: str, answer: Json) -> Layer:
    return Layer(name, Verdict.PASSED, str(answer["message"]), "the pod or claim itself")


def _classes_of(wanted: Wanted) -> list[str]:
    names = (str(body.get("deviceClassName") or "") for _, _, body in requests_of(wanted.claims))
    return [name for name in dict.fromkeys(names) if name]


def _missing(pod: Any) -> list[str]:
    """Entries of spec.resourceClaims whose claim no template has made yet."""
    status = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    made = {one.get("name") for one in status}
    return [
        str(one.get("name"))
        for one in (pod.get("spec") or {}).get("resourceClaims") or ()
        if one.get("resourceClaimTemplateName") and one.get("name") not in made
    ]
