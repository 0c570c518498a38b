"""What is asked, once: which values it reads that no content shows, and the plans found so far."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from domain.placement.cel import Program, SelectorError
from domain.placement.claims import Claim, DeviceClass, Request, RequestLine
from domain.placement.constraints import values_of
from domain.placement.devices import Device
from domain.placement.faults import Unknown
from domain.placement.features import Features
from domain.placement.lookalikes.album import Page
from domain.placement.lookalikes.outlines import Ask, Outline, ask_of
from domain.placement.lookalikes.plans import ALONE, Plan
from domain.placement.lookalikes.tokens import Tokens
from domain.placement.verdicts import CompileError, selector

MOST_PLANS = 50_000
Column = tuple[Hashable, Callable[[Page], Hashable]]


@dataclass(slots=True, eq=False)
class Query:
    """Claims' content with the classes they name now. `can_be_pictured` is rarely False.

    `columns` are what a picture needs beside shape and state.
    """

    owners: dict[str, DeviceClass | None]
    columns: tuple[Column, ...]
    can_be_pictured: bool
    # Set where outlines may answer; by shape what they are, None where they may not after all.
    ask: Ask | None = None
    is_checked: bool = False
    outlines: dict[int, Outline | None] = field(default_factory=dict)
    plans: dict[Hashable, Plan] = field(default_factory=dict)
    asks_alone: bool = False

    def names(self, classes: Mapping[str, DeviceClass]) -> bool:
        """Whether the classes are still those that the plans were made with."""
        return all(classes.get(name) is owner for name, owner in self.owners.items())

    def make_room(self) -> None:
        """Between questions only: an answer is read from the plans that it was solved with."""
        for known in (self.plans, self.outlines):
            if len(known) >= MOST_PLANS:
                known.clear()

    def remember(self, picture: Hashable, plan: Plan) -> None:
        self.plans[picture] = plan
        self.asks_alone = self.asks_alone or plan == ALONE


def query_for(
    claims: Sequence[Claim],
    classes: Mapping[str, DeviceClass],
    features: Features,
    tokens: Tokens,
) -> Query:
    requests = [one for claim in claims for line in claim.lines for one in line.alternatives]
    owners = {one.class_name: classes.get(one.class_name) for one in requests}
    expressions: dict[str, None] = {}
    for request in requests:
        owner = owners[request.class_name]
        for expression in (*(owner.selectors if owner else ()), *request.selectors):
            if expression is not None:
                expressions[expression] = None
    columns: list[Column] = [
        (("verdict", one), _verdicts(one)) for one in expressions if _is_hard(one, tokens)
    ]
    lists = features.list_type_attributes
    columns += [
        (("pattern", name, lists), _pattern(name, lists))
        for name in _constrained(claims)
        if tokens.reads_identity(name)
    ]
    can = not any(one.derived for one in requests) and not features.fixed_vanished_devices
    ask = None if columns or not can else ask_of(claims, owners, features)
    return Query(owners, tuple(columns), can, ask)


def _constrained(claims: Sequence[Claim]) -> list[str]:
    names = {
        name
        for claim in claims
        for one in claim.constraints
        for name in (one.match_attribute, one.distinct_attribute)
        if name is not None
    }
    return sorted(names)


def _is_hard(expression: str, tokens: Tokens) -> bool:
    program = selector(expression).program
    if not isinstance(program, Program):
        return False  # the same answer for every device
    if program.reads is None:
        return True
    return any(
        path.part == "attributes" and not path.presence and tokens.reads_identity(path.name)
        for path in program.reads
        if path.name
    )


def _verdicts(expression: str) -> Callable[[Page], Hashable]:
    accepts = selector(expression).accepts

    def column(page: Page) -> Hashable:
        return bytes([_verdict(accepts, candidate.device) for candidate in page.candidates])

    return column


def _verdict(accepts: Callable[..., bool], device: Device) -> int:
    """2 for anything but an answer: such a picture is never shared, see quick."""
    try:
        return 1 if accepts(device.view) else 0
    except (SelectorError, CompileError, Unknown):
        return 2


def _pattern(name: str, lists: bool) -> Callable[[Page], Hashable]:
    """Which devices share a value of an attribute; the values themselves do not matter."""

    def column(page: Page) -> Hashable:
        seen: dict[Hashable, int] = {}
        found: list[Hashable] = []
        for candidate in page.candidates:
            values = values_of(candidate.device.attribute(name), lists=lists)
            if values is None or len(values[1]) != 1:
                found.append(values)
                continue
            found.append((values[0], seen.setdefault(values, len(seen))))
        return tuple(found)

    return column


def content_of(claims: Sequence[Claim]) -> Hashable:
    """Equal for claims that differ in their names only."""
    return tuple(
        (tuple(map(_line, claim.lines)), claim.constraints, repr(claim.configs)) for claim in claims
    )


def _line(line: RequestLine) -> Hashable:
    return line.name, line.is_prioritized, tuple(map(_request, line.alternatives))


def _request(one: Request) -> Hashable:
    capacities = (
        None
        if one.capacities is None
        else tuple((name, str(one.capacities[name])) for name in sorted(one.capacities))
    )
    tolerations = tuple((toleration, repr(toleration.raw)) for toleration in one.tolerations)
    return (
        one.name, one.class_name, one.mode, one.count, one.parent, one.admin_access,
        one.selectors, tolerations, capacities, one.derived,
    )  # fmt: skip
