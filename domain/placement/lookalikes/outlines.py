"""The common case without a search: one request for some devices of a kind that nothing else
concerns.

Where every device of a node is whole, untainted and its own, the search takes the first free
devices that the selectors accept, or of those the first group that shares the value asked for and
is large enough. Both can be read off. Everything else is left to the search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.placement.cel import Program
from domain.placement.claims import EXACT_COUNT, Claim, DeviceClass, Request
from domain.placement.constraints import values_of
from domain.placement.devices import Device
from domain.placement.features import Features
from domain.placement.ledger import Ledger
from domain.placement.lookalikes.album import Page
from domain.placement.lookalikes.gallery import Free, Gallery, Sheet
from domain.placement.lookalikes.plans import NO, At, Found, Plan
from domain.placement.results import Selected
from domain.placement.verdicts import selector

FEW_STEPS = 64
"""Taking devices one after the other needs fewer steps of the search than this."""


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A claim with a single request for a number of devices, and what they must share."""

    request: Request
    owner: DeviceClass
    shared: str | None

    @property
    def selected(self) -> tuple[Selected, ...]:
        return (((self.request.name, self.request, self.owner),),)


def ask_of(
    claims: Sequence[Claim], owners: Mapping[str, DeviceClass | None], features: Features
) -> Ask | None:
    """None where more is asked for."""
    if len(claims) != 1 or len(claims[0].lines) != 1 or features.list_type_attributes:
        return None
    line, constraints = claims[0].lines[0], claims[0].constraints
    if line.is_prioritized or len(line.alternatives) != 1:
        return None
    request = line.alternatives[0]
    owner = owners[request.class_name]
    if owner is None or request.mode != EXACT_COUNT or request.count < 1:
        return None
    if request.is_admin or request.derived or request.capacities is not None:
        return None
    if len(constraints) > 1 or any(one.match_attribute is None for one in constraints):
        return None
    named = [one.match_attribute for one in constraints if request.named_in(one.requests)]
    return Ask(request, owner, named[0] if named else None)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What of one shape an ask could take: by value of the shared attribute, in order."""

    ask: Ask
    groups: tuple[Sequence[int], ...]

    def plan(self, free: Sequence[int]) -> Plan:
        """With these positions free: the first group that is large enough."""
        count, found = self.ask.request.count, None
        for group in self.groups:
            left = [one for one in group if one in free][:count]
            if len(left) == count and (found is None or left[0] < found[0]):
                found = left
        if found is None:
            return NO
        request = self.ask.request
        return Found((tuple(At(one, request, {}, False) for one in found),), self.ask.selected)


def outline_of(ask: Ask, sheet: Sheet, most_steps: int) -> Outline | None:
    """Of a common sheet. None where only the search can tell, since a selector fails."""
    of_class = ask.owner.selectors
    if of_class not in sheet.admitted:
        everything = range(len(sheet.candidates))
        sheet.admitted[of_class] = _accepted_by_all(of_class, sheet, everything)
    admitted = sheet.admitted[of_class]
    if admitted is None:
        return None
    positions = _accepted_by_all(ask.request.selectors, sheet, admitted)
    if positions is None:
        return None
    if ask.shared is None:
        return Outline(ask, (positions,)) if most_steps >= FEW_STEPS else None
    if 2 ** len(positions) > most_steps:
        return None  # the search could give up before it comes to the group
    return _grouped(ask, ask.shared, sheet, positions)


def sheet_of(page: Page, gallery: Gallery) -> Sheet:
    found = gallery.sheets.get(page.shape)
    if found is None:
        gallery.make_room()
        common = not page.is_ruled and all(
            _is_whole(one.device)
            and one.slice.reach.node_name == page.node.name
            and not one.slice.skipped_operations
            for one in page.candidates
        )
        found = gallery.sheets[page.shape] = Sheet(page.candidates, common)
    return found


def free_of(page: Page, gallery: Gallery, ledger: Ledger) -> Free:
    """False for special devices, and for those that are in use in part."""
    taken, consumed = ledger.taken, ledger.consumed
    if not sheet_of(page, gallery).is_common:
        return False
    if consumed and any(one.device.id in consumed for one in page.candidates):
        return False
    return tuple(i for i, one in enumerate(page.candidates) if one.device.id not in taken)


def _is_whole(device: Device) -> bool:
    """Untainted too, and without conditions, counters and policies."""
    return not (
        device.shared
        or device.consumes
        or device.taints
        or device.binds_to_node
        or device.binding_conditions
        or device.binding_failure_conditions
        or any(one.policy or one.value.nanos < 0 for one in device.capacity.values())
    )


def _accepted_by_all(
    expressions: Sequence[str | None], sheet: Sheet, positions: Sequence[int]
) -> Sequence[int] | None:
    for expression in expressions:
        accepted = _accepted(expression, sheet, positions)
        if accepted is None:
            return None
        positions = accepted
    return positions


def _accepted(
    expression: str | None, sheet: Sheet, positions: Sequence[int]
) -> Sequence[int] | None:
    """Those of the positions that a selector accepts; None if it fails on any of them."""
    if expression is None:
        return None
    asked = selector(expression)
    if not isinstance(asked.program, Program) or asked.program.paths is None:
        return None
    projections = sheet.projections(asked.program.paths)
    verdicts = [*map(asked.known.get, projections)]
    found = []
    for position in positions:
        verdict = verdicts[position]
        if verdict is None:
            view = sheet.candidates[position].device.view
            verdict = asked.judge(view, projections[position])
        if verdict is True:
            found.append(position)
        elif verdict is not False:
            return None
    return found


def _grouped(ask: Ask, shared: str, sheet: Sheet, positions: Sequence[int]) -> Outline | None:
    groups: dict[object, list[int]] = {}
    for position in positions:
        values = values_of(sheet.candidates[position].device.attribute(shared), lists=False)
        if values is None:
            continue
        if not values[0]:
            return None
        groups.setdefault(values, []).append(position)
    return Outline(ask, tuple(groups.values()))
