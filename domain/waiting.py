"""How far a pod has come that waits: what it must pass, in order, and where it stands.

The first layer that is stuck is the reason; what comes after it has not been reached, whatever it
says. A layer without a fact to stand on says so (`NONE`) and never passes by default.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from domain.quota import Line

QUOTA_WORDS = "exceeded quota"
"""How the ResourceQuota admission plugin begins what it refuses."""

CLAIM_REFUSED = "FailedResourceClaimCreation"
"""The event by which the resource claim controller tells a pod that its claim was refused."""

NOTHING = "It asks for no class any more."
_STARTING = frozenset({"ContainerCreating", "PodInitializing"})


class Verdict(StrEnum):
    PASSED = "passed"
    STUCK = "stuck"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Layer:
    """source: where the text comes from. words: what the cluster itself said, if anything.

    at: since when, or when it was last said.
    """

    name: str
    verdict: Verdict
    text: str
    source: str
    at: datetime | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """An event of the cluster."""

    reason: str
    message: str
    at: datetime | None = None

    @property
    def is_about_quota(self) -> bool:
        return QUOTA_WORDS in self.message


@dataclass(frozen=True, slots=True)
class Offer:
    """What the catalog knows of a class that is asked for. version: the approved one, or 0."""

    name: str
    is_known: bool = False
    version: int = 0
    approved_at: datetime | None = None
    is_offered_here: bool = False


def approval(offers: Sequence[Offer]) -> Layer:
    name, source = "Approval", "the catalog"
    for one in offers:
        if one.is_known and not one.version:
            return Layer(name, Verdict.STUCK, f"No version of {one.name} is approved.", source)
    if not offers or not any(one.is_known for one in offers):
        said = ", ".join(one.name for one in offers)
        text = f"{said}: not in this portal's catalog." if said else NOTHING
        return Layer(name, Verdict.NONE, text, source)
    said = "; ".join(_offer(one) for one in offers)
    moments = [one.approved_at for one in offers if one.approved_at is not None]
    return Layer(name, Verdict.PASSED, f"{said}.", source, max(moments, default=None))


def _offer(one: Offer) -> str:
    if not one.is_known:
        return f"{one.name} is not in this portal's catalog"
    where = "" if one.is_offered_here else ", though the portal does not place it in this cluster"
    return f"{one.name} v{one.version} is approved{where}"


def quota(tenant: str, lines: Sequence[Line], refused: Saying | None) -> Layer:
    """refused: the newest refusal to create a claim, while a claim is still missing."""
    name = "Quota"
    if refused is not None and refused.is_about_quota:
        return _refusal(name, "The cluster refused to create its claim for lack of quota.", refused)
    source = f"quotas of {tenant}" if tenant else "quotas"
    if not tenant:
        return Layer(name, Verdict.NONE, "Its namespace belongs to no tenant.", source)
    if not lines:
        return Layer(name, Verdict.NONE, NOTHING, source)
    said = "; ".join(
        f"{one.resource}: no quota"
        if one.limit is None
        else f"{one.resource}: {one.used} of {one.limit} charged, this one included"
        for one in lines
    )
    over = any(one.limit is not None and one.used > one.limit for one in lines)
    verdict = Verdict.STUCK if over else Verdict.PASSED
    if all(one.limit is None for one in lines):
        verdict = Verdict.NONE
    return Layer(name, verdict, f"{said}.", source)


def admission(refused: Saying | None, gates: Sequence[str], missing: Sequence[str]) -> Layer:
    """Refused by a policy or webhook, or held by a gate such as Kueue's."""
    name = "Admission checks"
    if refused is not None and not refused.is_about_quota:
        return _refusal(name, "The cluster refused to create its claim.", refused)
    if gates:
        said = f"It is held by the scheduling gate {', '.join(gates)}."
        return Layer(name, Verdict.STUCK, said, "the pod's spec.schedulingGates")
    if missing:
        said = f"The claim for {', '.join(missing)} has not been created yet."
        return Layer(name, Verdict.NONE, said, "the pod's status")
    return Layer(name, Verdict.PASSED, "Nothing holds it back.", "the pod and its claims")


def _refusal(name: str, text: str, said: Saying) -> Layer:
    source = f"the event {said.reason}"
    return Layer(name, Verdict.STUCK, text, source, said.at, said.message)


def classes(asked: Iterable[str], served: Iterable[str]) -> Layer:
    name, source = "Class", "DeviceClasses of the cluster"
    wanted = list(dict.fromkeys(asked))
    if not wanted:
        return Layer(name, Verdict.NONE, NOTHING, source)
    if missing := sorted(set(wanted) - set(served)):
        said = f"There is no DeviceClass {', '.join(missing)} in the cluster."
        return Layer(name, Verdict.STUCK, said, source)
    are = "is" if len(wanted) == 1 else "are"
    return Layer(name, Verdict.PASSED, f"{', '.join(wanted)} {are} there.", source)


ENGINE = "the placement engine"


def devices(funnels: Sequence[Mapping[str, Any]]) -> Layer:
    """By the funnels of the claims that still want devices, as JSON."""
    name = "Device selection"
    if not funnels:
        return Layer(name, Verdict.NONE, "It wants no further devices.", ENGINE)
    for funnel in funnels:
        if not funnel["on_nodes"]:
            return Layer(name, Verdict.STUCK, _narrow(funnel), ENGINE)
    fewest = min(funnel["on_nodes"] for funnel in funnels)
    said = f"{fewest} node{'s have' if fewest != 1 else ' has'} the devices."
    return Layer(name, Verdict.PASSED, said, ENGINE)


def _narrow(funnel: Mapping[str, Any]) -> str:
    layer = next((one for one in funnel["layers"] if one["name"] == funnel["first_empty"]), None)
    request = f"request {funnel['request']}" if funnel["request"] else "the claim"
    if layer is None:
        return str(funnel["problem"] or f"No node has all that {request} wants together.")
    lost = f"{layer['removed']} device{'s' if layer['removed'] != 1 else ''}"
    return f"For {request}, “{layer['name']}” takes away the last {lost}: {layer['detail']}"


def nodes(answer: Mapping[str, Any], has_devices: bool) -> Layer:
    """By an answer of the engine about the pod: `fitting` of `looked_at` nodes, and `reasons`."""
    name = "Node"
    if answer["outcome"] == "fits":
        count = answer["fitting"]
        said = f"{count} node{'s take' if count != 1 else ' takes'} it now."
        return Layer(name, Verdict.PASSED, said, ENGINE)
    if answer["outcome"] != "no":
        return Layer(name, Verdict.STUCK, answer["reason"], ENGINE)
    if not has_devices:
        return Layer(name, Verdict.NONE, "Not reached: there are no devices for it.", ENGINE)
    words = answer.get("message", "")
    return Layer(name, Verdict.STUCK, "No node takes it.", ENGINE, words=words)


def start(node: str, containers: Sequence[Mapping[str, Any]]) -> Layer:
    name, source = "Image and start", f"the kubelet of {node}"
    if not node:
        return Layer(name, Verdict.NONE, "Not reached: it has no node yet.", "the pod")
    for one in containers:
        reason = one.get("reason") or ""
        if one.get("state") == "waiting" and reason not in _STARTING:
            said = f"Container {one.get('name')} does not start: {reason or 'it waits'}."
            words = str(one.get("message") or "")
            return Layer(name, Verdict.STUCK, said, source, words=words)
    if containers and all(one.get("ready") for one in containers):
        return Layer(name, Verdict.PASSED, "Its containers run.", source)
    return Layer(name, Verdict.NONE, "Its containers are starting.", source)


def first_stuck(layers: Iterable[Layer]) -> Layer | None:
    return next((one for one in layers if one.verdict is Verdict.STUCK), None)
