"""Why a request fits or does not: how many devices each filter removed, in order."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.placement.asked import read_claim, read_line
from domain.placement.capacity import fits
from domain.placement.cel import SelectorError
from domain.placement.claims import ALL, Claim, Constraint, DeviceClass, Request, RequestLine
from domain.placement.constraints import values_of
from domain.placement.counters import CounterBook, CounterPicks
from domain.placement.derived import Attributes
from domain.placement.devices import Device, Node, is_cordoned
from domain.placement.faults import Fatal, Malformed, PlacementError
from domain.placement.features import DEFAULT, Features
from domain.placement.fleet import Fleet
from domain.placement.lookalikes import census, first_failure, fitting, reads_identity
from domain.placement.placing import place
from domain.placement.pools import View
from domain.placement.sight import Seen, Sight, sight
from domain.placement.site import Site
from domain.placement.verdicts import CompileError, selector

SAMPLE = 5
MOST_STEPS = 2_000
"""Of the search on one node; a page has no time for the millions that some partitions take."""

NOWHERE = Node("", {})
_TOP_VALUES = 4


@dataclass(frozen=True, slots=True)
class Layer:
    """What is left after one filter; `removed` counts what it took away, with a few names."""

    name: str
    count: int
    removed: int = 0
    removed_sample: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Funnel:
    """The filters in the order in which they apply, for one request.

    matches: devices that class and request selectors accept. free: those of them that could be
    taken now. on_nodes: nodes on which the whole request fits, by a real search. parts: for a
    claim of several requests or with alternatives, a funnel each; the outer one is then the one
    that is narrowest. problem: why nothing could be counted.
    """

    request: str
    layers: tuple[Layer, ...] = ()
    matches: int = 0
    free: int = 0
    on_nodes: int = 0
    parts: tuple["Funnel", ...] = ()
    problem: str = ""

    @property
    def first_empty(self) -> str | None:
        """The first filter that left nothing, or None."""
        return next((layer.name for layer in self.layers if layer.count == 0), None)


def explain(
    fleet: Fleet,
    request: Mapping[str, Any],
    features: Features = DEFAULT,
    nodes: Iterable[str] | None = None,
) -> Funnel:
    """`request`: an entry of spec.devices.requests, or a whole claim with its constraints."""
    raw = request if "spec" in request else _as_claim(request)
    try:
        claim = read_claim(raw)
    except Malformed as problem:
        return Funnel(str(request.get("name") or ""), problem=str(problem))
    names = None if nodes is None else list(nodes)
    scene = _Scene.of(fleet, features, claim, names)
    funnels = [scene.funnel(claim, one) for line in claim.lines for one in line.alternatives]
    if not funnels:
        return Funnel("", problem="the claim has no requests")
    whole = place(fleet, [raw], names, "all", features, most_steps=MOST_STEPS)
    on_nodes, failed = len(fitting(whole)), first_failure(whole)
    narrowest = min(funnels, key=lambda one: (one.first_empty is None, one.free))
    return Funnel(
        narrowest.request,
        narrowest.layers,
        narrowest.matches,
        narrowest.free,
        on_nodes,
        tuple(funnels) if len(funnels) > 1 else (),
        failed,
    )


def _as_claim(request: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": "request", **request}
    if "exactly" not in named and "firstAvailable" not in named:
        named = {"name": named.pop("name"), "exactly": named}
    return {"metadata": {"name": "asked"}, "spec": {"devices": {"requests": [named]}}}


@dataclass(slots=True)
class _Scene:
    fleet: Fleet
    features: Features
    sight: Sight

    @classmethod
    def of(
        cls, fleet: Fleet, features: Features, claim: Claim, names: list[str] | None
    ) -> "_Scene":
        """Nodes that look alike are looked at once, unless a selector tells them apart."""
        found = None
        if names is None and not reads_identity(fleet, features, claim):
            found = census(fleet, features)
        if found is None:
            wanted = sorted(fleet.nodes) if names is None else names
            found = sight(fleet, features, [fleet.nodes[name] for name in wanted])
        return cls(fleet, features, found)

    def funnel(self, claim: Claim, request: Request) -> Funnel:
        owner = self.fleet.classes.get(request.class_name)
        if owner is None:
            return Funnel(
                request.full_name, problem=f"device class {request.class_name} does not exist"
            )
        walk = _Walk(self.sight.seen)
        walk.layers.append(Layer("devices", self.sight.published))
        walk.layers.append(self._visible())
        walk.keep_matching("class selectors", owner.selectors)
        walk.keep_matching("request selectors", request.selectors)
        matches = _count(walk.left)
        self._narrow(walk, claim, request)
        free = next(one.count for one in walk.layers if one.name == "capacity and counters")
        return Funnel(request.full_name, tuple(walk.layers), matches, free)

    def _visible(self) -> Layer:
        reasons = "; ".join(
            f"{pool}: {reason}" for pool, reason in list(self.sight.hidden.items())[:SAMPLE]
        )
        unseen = self.sight.unseen
        sample = tuple(map(str, unseen[:SAMPLE]))
        return Layer("visible", self.sight.visible, len(unseen), sample, reasons)

    def _narrow(self, walk: "_Walk", claim: Claim, request: Request) -> None:
        ledger = self.fleet.ledger(self.features)
        rules = tuple(self.fleet.rules.values()) if self.features.device_taint_rules else ()
        site = Site(NOWHERE, View((), ()), ledger, rules, self.features, CounterBook(ledger))
        walk.keep("not tainted", lambda seen: _taint_reason(site, request, seen.device))
        walk.keep(
            "not in use",
            lambda seen: (
                "in use" if not request.is_admin and seen.device.id in ledger.taken else ""
            ),
        )
        walk.keep("capacity and counters", lambda seen: _room_reason(site, request, seen))
        _keep_groups(walk, claim, request)
        nodes = self.fleet.nodes
        walk.keep(
            "on schedulable nodes",
            lambda seen: (
                "only on cordoned nodes"
                if all(is_cordoned(nodes[name]) for name in seen.nodes)
                else ""
            ),
        )


@dataclass(slots=True)
class _Walk:
    left: list[Seen]
    layers: list[Layer] = field(default_factory=list)

    def keep(self, name: str, reason: Callable[[Seen], str], detail: str = "") -> None:
        """Keeps what has no reason to go; the reasons become the layer's detail."""
        kept, gone = [], []
        reasons: Counter[str] = Counter()
        for seen in self.left:
            why = reason(seen)
            if why:
                gone.append(seen)
                reasons[why] += seen.weight
            else:
                kept.append(seen)
        said = "; ".join(f"{why} ({count})" for why, count in reasons.most_common(_TOP_VALUES))
        said = f"{detail}: {said}" if detail and said else detail or said
        self.left = kept
        sample = tuple(str(seen.device.id) for seen in gone[:SAMPLE])
        self.layers.append(Layer(name, _count(kept), _count(gone), sample, said))

    def keep_matching(self, name: str, expressions: Sequence[str | None]) -> None:
        texts = [text for text in expressions if text is not None]
        self.keep(
            name,
            lambda seen: next((why for text in texts if (why := _refusal(text, seen.device))), ""),
            " and ".join(texts),
        )


def _count(seen: Iterable[Seen]) -> int:
    return sum(one.weight for one in seen)


def _refusal(expression: str, device: Device) -> str:
    compiled = selector(expression)
    try:
        if compiled.accepts(device.view):
            return ""
    except CompileError as problem:
        return f"does not compile: {problem}"
    except SelectorError as problem:
        return f"fails: {problem}"
    except PlacementError as problem:
        return str(problem)
    return compiled.reading(device.view)


def _taint_reason(site: Site, request: Request, device: Device) -> str:
    if site.tolerated(request, device):
        return ""
    return "taints " + ", ".join(
        sorted({f"{one.key}={one.value}:{one.effect}" for one in site.taints_of(device)})
    )


def _room_reason(site: Site, request: Request, seen: Seen) -> str:
    device, pool = seen.device, seen.candidate.pool
    if site.features.consumable_capacity:
        try:
            taken = site.share_of(request, device)
        except Fatal as problem:
            return str(problem)
        if taken is None:
            return "lacks a capacity that is asked for, or its policy forbids the amount"
        used = site.ledger.consumed.get(device.id, {})
        if not fits(device, taken, used, {}):
            return "; ".join(
                f"{name}: {taken[name]} asked, "
                f"{_left(capacity.value.nanos - used.get(name, 0), capacity.value.format)} free"
                for name, capacity in device.capacity.items()
                if taken[name].nanos + used.get(name, 0) > capacity.value.nanos
            )
    shared = bool(device.shared) and site.ledger.holds(device.id)
    if device.consumes and not shared:
        if not site.features.partitionable_devices:
            return "needs partitionable devices"
        if not CounterPicks(site.book).take(pool, device):
            return "counters used up"
    return ""


def _left(nanos: int, form: Any) -> str:
    from domain.placement.amounts import Amount

    return str(Amount(nanos, form))


def _keep_groups(walk: _Walk, claim: Claim, request: Request) -> None:
    """Devices that belong to a group large enough on some node."""
    rules = [one for one in claim.constraints if request.named_in(one.requests)]
    wanted = 1 if request.mode == ALL else request.count
    large: set[Any] = set()
    best = 0
    by_node: dict[str, list[Seen]] = defaultdict(list)
    for seen in walk.left:
        for node in seen.nodes:
            by_node[node].append(seen)
    for together in by_node.values():
        group = _largest(together, rules, request)
        best = max(best, len(group))
        if len(group) >= wanted:
            large.update(seen.device.id for seen in together)
    names = ", ".join(str(one.match_attribute or one.distinct_attribute) for one in rules)
    detail = f"{wanted} wanted together on a node, {best} is the most there is"
    walk.keep(
        "constraints",
        lambda seen: "" if seen.device.id in large else "group too small",
        f"{detail} with {names}" if names else detail,
    )


def _largest(together: list[Seen], rules: Sequence[Constraint], request: Request) -> Sequence[Seen]:
    group: Sequence[Seen] = together
    for rule in rules:
        name = rule.match_attribute or rule.distinct_attribute or ""
        lookup = Attributes().lookup
        by_value: dict[Any, list[Seen]] = defaultdict(list)
        for seen in group:
            values = values_of(lookup(request, seen.device, name), lists=True)
            for value in values[1] if values else ():
                by_value[values[0] if values else "", value].append(seen)
        if rule.match_attribute is not None:
            group = max(by_value.values(), key=len, default=[])
        else:
            group = [seen[0] for seen in by_value.values()]
    return group


@dataclass(frozen=True, slots=True)
class MatchCount:
    """ "matches 18 of 64 devices now, 6 free": of what is published, accepted and takable."""

    total: int
    matches: int
    free: int
    problems: tuple[str, ...] = ()


def match_count(
    fleet: Fleet,
    class_selectors: Sequence[Any],
    request_selectors: Sequence[Any] = (),
    features: Features = DEFAULT,
) -> MatchCount:
    """Selectors as CEL text or as API objects ({"cel": {"expression": …}})."""
    expressions = [_expression(one) for one in (*class_selectors, *request_selectors)]
    requests = Request("any", "", selectors=tuple(expressions))
    lines = (RequestLine("any", (requests,)),)
    scene = _Scene.of(fleet, features, Claim("", "any", "", lines), None).sight
    ledger = fleet.ledger(features)
    rules = tuple(fleet.rules.values()) if features.device_taint_rules else ()
    site = Site(NOWHERE, View((), ()), ledger, rules, features, CounterBook(ledger))
    anyone = Request("any", "")
    matches = free = 0
    problems: Counter[str] = Counter()
    for seen in scene.seen:
        refusals = [why for text in expressions if (why := _refusal(text, seen.device))]
        for why in refusals[:1]:
            if why.startswith(("does not", "fails")):
                problems[why] += seen.weight
        if refusals:
            continue
        matches += seen.weight
        device = seen.device
        if device.id not in ledger.taken and site.tolerated(anyone, device):
            free += 0 if _room_reason(site, anyone, seen) else seen.weight
    said = tuple(f"{why} ({count})" for why, count in problems.most_common(SAMPLE))
    return MatchCount(scene.published, matches, free, said)


def _expression(raw: Any) -> str:
    return raw if isinstance(raw, str) else str(raw["cel"]["expression"])


__all__ = ["DeviceClass", "Funnel", "Layer", "MatchCount", "explain", "match_count", "read_line"]
