"""What if: the engine asked again for something a little different, a bounded number of times."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from domain.placement.decisions import Decision
from domain.placement.faults import Malformed
from domain.placement.features import Features
from domain.placement.fleet import Fleet, Upsert, apply_all
from domain.placement.lookalikes import Decisions, fitting
from domain.placement.placing import place
from domain.placement.pods.fit import PodAttempt
from domain.placement.pods.reading import read_pod

Raw = Mapping[str, Any]
FEW_STEPS = 2_000
SHOWN = 20
"""With a pod, a trial stops looking when it has found this many nodes."""


class OutOfTries(Exception):
    """The search has asked as often as it may."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Claims that go onto one node together; with a pod, all of its claims that are to be had.

    The pod names each claim directly, so that a trial may change it.
    """

    claims: tuple[Raw, ...]
    pod: Raw | None = None

    def instead(self, claims: Sequence[Raw]) -> "Wanted":
        """The same with other claims; the pod takes them under the names of its own."""
        if self.pod is None or len(claims) != len(self.claims):
            return Wanted(tuple(claims))
        named = tuple(
            {**new, "metadata": old["metadata"], "kind": "ResourceClaim"}
            for new, old in zip(claims, self.claims, strict=True)
        )
        return replace(self, claims=named)


def wanted_by(fleet: Fleet, pod: Raw) -> Wanted:
    """The claims of a pod that are not allocated yet; those of templates as they would be made."""
    pod = deepcopy(dict(pod))
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    namespace = str(meta.get("namespace") or "")
    made = {
        one.get("name"): one.get("resourceClaimName")
        for one in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    claims: list[Raw] = []
    for entry in spec.get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or made.get(entry.get("name"))
        template = fleet.templates.get((namespace, str(entry.get("resourceClaimTemplateName"))))
        if name is None and template is not None:
            name = f"{meta.get('name')}-{entry.get('name')}"
            content = (template.get("spec") or {}).get("spec") or {}
            claims.append(_claim(namespace, name, content))
        elif (held := fleet.claims.get((namespace, str(name)))) and not held.is_allocated:
            claims.append(_claim(namespace, str(name), held.raw.get("spec") or {}))
        if name is not None:
            entry.pop("resourceClaimTemplateName", None)
            entry["resourceClaimName"] = name
    return Wanted(tuple(claims), pod)


def _claim(namespace: str, name: str, spec: Raw) -> Raw:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": namespace, "name": name, "uid": f"{namespace}/{name}"},
        "spec": spec,
    }


@dataclass(slots=True)
class Trials:
    """Every try is a real answer of the engine. `is_over` lets a caller end it by the clock.

    most_steps: of one search on one node; partitions that exclude each other can take millions.
    unsure: how many tries left a node open for that reason. It counts as one that does not fit.
    """

    fleet: Fleet
    features: Features
    most: int = 60
    is_over: Callable[[], bool] = field(default=lambda: False)
    used: int = 0
    most_steps: int = FEW_STEPS
    unsure: int = 0

    def where(
        self, wanted: Wanted, fleet: Fleet | None = None, among: Iterable[str] | None = None
    ) -> tuple[str, ...]:
        """Nodes on which it would fit; none if the attempt would end in an error.

        Raises OutOfTries.
        """
        if self.used >= self.most or self.is_over():
            raise OutOfTries
        self.used += 1
        fleet = self.fleet if fleet is None else fleet
        answers = place(
            fleet, wanted.claims, among, "all", self.features, most_steps=self.most_steps
        )
        outcomes = {one.outcome for one in _telling(answers)}
        if "fatal" in outcomes:
            return ()
        self.unsure += "unknown" in outcomes
        names = fitting(answers)
        return tuple(names if wanted.pod is None else self._for_pod(fleet, wanted, names))

    def _for_pod(self, fleet: Fleet, wanted: Wanted, names: Iterable[str]) -> Iterator[str]:
        fleet = apply_all(fleet, [Upsert(claim) for claim in wanted.claims])
        try:
            pod = read_pod(wanted.pod or {})
        except Malformed:
            return
        attempt = PodAttempt.of(fleet, pod, self.features)
        found = 0
        for name in names:
            if attempt.on(fleet.nodes[name]).fits:
                found += 1
                yield name
            if found >= SHOWN or self.is_over():
                return


def _telling(answers: Sequence[Decision]) -> Iterable[Decision]:
    return answers.telling if isinstance(answers, Decisions) else answers


# --- Changing one request of several claims
@dataclass(frozen=True, slots=True)
class Spot:
    """Where a request stands: claim, entry of spec.devices.requests, alternative (or None)."""

    claim: int
    request: int
    alternative: int | None = None


def requests_of(claims: Sequence[Raw]) -> Iterator[tuple[Spot, str, Raw]]:
    """Each request with its full name, and what it says."""
    for i, claim in enumerate(claims):
        devices = (claim.get("spec") or {}).get("devices") or {}
        for j, line in enumerate(devices.get("requests") or ()):
            if line.get("exactly"):
                yield Spot(i, j), str(line.get("name", "")), line["exactly"]
            for k, one in enumerate(line.get("firstAvailable") or ()):
                yield Spot(i, j, k), f"{line.get('name', '')}/{one.get('name', '')}", one


def with_request(claims: Sequence[Raw], spot: Spot, **changes: Any) -> tuple[Raw, ...]:
    """Copies in which one request says something else; a change to None takes the field away."""
    copied = deepcopy(list(claims))
    line = copied[spot.claim]["spec"]["devices"]["requests"][spot.request]
    body = line["exactly"] if spot.alternative is None else line["firstAvailable"][spot.alternative]
    body.update(changes)
    for name in [name for name, value in changes.items() if value is None]:
        del body[name]
    return tuple(copied)
