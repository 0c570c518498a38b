"""The exhaustive search of the structured allocator: the first complete solution wins.

Claims in the given order, their requests in spec order, for each the devices in pool order. In
one request only combinations are tried, never permutations: the next device comes after the one
before it. A prioritised list takes the first alternative from which all the rest can be solved.
This is the plain form, kept as the reference that faster ones must agree with.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from domain.placement.amounts import Amount
from domain.placement.capacity import fits
from domain.placement.claims import ALL, MOST_RESULTS, Claim, DeviceClass, Request
from domain.placement.constraints import Rule, rules_of
from domain.placement.counters import CounterPicks
from domain.placement.derived import Attributes
from domain.placement.devices import Device, DeviceID
from domain.placement.faults import Fatal, Unknown
from domain.placement.pools import Candidate
from domain.placement.requests import Demand, Wanted
from domain.placement.results import Pick
from domain.placement.site import Site

Undo = Callable[[], None]


class _TooMany(Exception):
    """This branch would give a claim more devices than its status can hold."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Per claim what was picked, and per request line which alternative with its class."""

    picks: list[list[Pick]]
    selected: list[list[tuple[str, Request, DeviceClass]]]


@dataclass(slots=True)
class Search:
    """Used once. Mirrors upstream's allocateOne and allocateDevice, check by check."""

    site: Site
    claims: Sequence[Claim]
    wanted: Wanted
    most_steps: int
    steps: int = 0
    candidates: Sequence[Candidate] = field(init=False)
    rules: list[list[Rule]] = field(init=False)
    counters: CounterPicks = field(init=False)
    picks: list[list[Pick]] = field(init=False)
    chosen: dict[tuple[int, int], int] = field(default_factory=dict)
    marked: dict[DeviceID, list[int]] = field(default_factory=dict)
    shares: dict[DeviceID, list[Mapping[str, Amount]]] = field(default_factory=dict)
    usable: dict[int, list[bool | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lookup = Attributes().lookup
        lists = self.site.features.list_type_attributes
        self.candidates = self.site.view.candidates
        self.rules = [rules_of(claim, lookup, lists=lists) for claim in self.claims]
        self.counters = CounterPicks(self.site.book)
        self.picks = [[] for _ in self.claims]

    def run(self) -> Solution | None:
        """None if nothing fits. Raises NodeError, Fatal, or Unknown after `most_steps`."""
        try:
            found = self._claim(0)
        except _TooMany as problem:
            raise Fatal("allocation max size exceeded") from problem
        except RecursionError as problem:
            raise Unknown("the claims of this attempt ask for too many devices") from problem
        if not found:
            self.site.complain_of_invalid_pools()
            return None
        return Solution(self.picks, [self._selected(i) for i in range(len(self.claims))])

    def free_for(self, demand: Demand) -> list[Device]:
        """What one request could take if it were alone, in order. Raises as `run` does."""
        usable = self._usable_by(demand)
        found = []
        for position, candidate in enumerate(self.candidates):
            if self._is_in_use(0, demand.request, candidate.device):
                continue
            if usable[position] is None:
                usable[position] = self._is_usable(demand, candidate)
            if usable[position]:
                found.append(candidate.device)
        return found

    def _selected(self, claim: int) -> list[tuple[str, Request, DeviceClass]]:
        demands = [
            alternatives[self.chosen.get((claim, i), 0)]
            for i, alternatives in enumerate(self.wanted[claim])
        ]
        return [(one.request.parent or one.request.name, one.request, one.owner) for one in demands]

    def _count_step(self) -> None:
        self.steps += 1
        if self.steps > self.most_steps:
            raise Unknown(
                f"the search takes more than {self.most_steps} steps; "
                "the scheduler gives up after its filter timeout"
            )

    def _claim(self, claim: int) -> bool:
        """Solves this claim and all after it."""
        self._count_step()
        return claim == len(self.claims) or self._line(claim, 0)

    def _line(self, claim: int, line: int) -> bool:
        """Solves this request line and all that follows."""
        self._count_step()
        if line == len(self.wanted[claim]):
            try:
                return self._claim(claim + 1)
            except _TooMany:
                return False  # other choices for earlier claims may leave room
        alternatives = self.wanted[claim][line]
        if not alternatives[0].request.parent:
            return self._device(claim, line, alternatives[0], 0, 0)
        return self._first_available(claim, line, alternatives)

    def _first_available(self, claim: int, line: int, alternatives: list[Demand]) -> bool:
        too_many = 0
        for i, demand in enumerate(alternatives):
            try:
                if self._device(claim, line, demand, 0, 0):
                    self.chosen[claim, line] = i
                    return True
            except _TooMany:
                too_many += 1
        if too_many == len(alternatives):
            raise _TooMany
        return False

    def _device(self, claim: int, line: int, demand: Demand, index: int, start: int) -> bool:
        """Solves device number `index` of a request and all that follows."""
        self._count_step()
        if demand.every is not None and not demand.every:
            return False  # "all devices" means at least one
        if index >= demand.count:
            return self._line(claim, line + 1)
        if demand.count - index > MOST_RESULTS - len(self.picks[claim]):
            raise _TooMany
        if demand.request.mode == ALL:
            return self._next_of_all(claim, line, demand, index)
        return self._next_of_some(claim, line, demand, index, start)

    def _next_of_some(self, claim: int, line: int, demand: Demand, index: int, start: int) -> bool:
        usable = self._usable_by(demand)
        for position in range(start, len(self.candidates)):
            if usable[position] is False:
                continue
            candidate = self.candidates[position]
            if self._is_in_use(claim, demand.request, candidate.device):
                continue
            if usable[position] is None:
                usable[position] = self._is_usable(demand, candidate)
            if not usable[position] or not self._has_room(demand, candidate.device):
                continue
            undo = self._take(claim, demand, candidate, must=False)
            if undo is None:
                continue
            if self._followed(undo, claim, line, demand, index, position + 1):
                return True
        return False

    def _next_of_all(self, claim: int, line: int, demand: Demand, index: int) -> bool:
        """The order does not matter: if one of them cannot be had, there is no solution."""
        candidate = (demand.every or ())[index]
        if self._is_in_use(claim, demand.request, candidate.device):
            return False
        if not self._is_usable(demand, candidate):
            return False
        undo = self._take(claim, demand, candidate, must=True)
        return undo is not None and self._followed(undo, claim, line, demand, index, 0)

    def _followed(
        self, undo: Undo, claim: int, line: int, demand: Demand, index: int, start: int
    ) -> bool:
        try:
            done = self._device(claim, line, demand, index + 1, start)
        except Exception:
            undo()
            raise
        if not done:
            undo()
        return done

    def _usable_by(self, demand: Demand) -> list[bool | None]:
        """What is known of each candidate; a selector is evaluated only when it is reached."""
        known = self.usable.get(id(demand))
        if known is None:
            known = self.usable[id(demand)] = [None] * len(self.candidates)
        return known

    def _is_usable(self, demand: Demand, candidate: Candidate) -> bool:
        """All that does not depend on what was picked. Raises Fatal, or Unknown."""
        site, request, device = self.site, demand.request, candidate.device
        if not site.selectable(demand.claim, request, demand.owner, candidate):
            return False
        if site.features.consumable_capacity and self._share_of(demand, device) is None:
            return False
        if device.consumes and not site.features.partitionable_devices:
            return False
        return site.supports_operations(candidate.slice) and site.tolerated(request, device)

    def _is_in_use(self, claim: int, request: Request, device: Device) -> bool:
        """Admin access looks over everybody's shoulder, but only once per claim."""
        holders = self.marked.get(device.id)
        if request.is_admin:
            return holders is not None and claim in holders
        return bool(holders) or device.id in self.site.ledger.taken

    def _share_of(self, demand: Demand, device: Device) -> Mapping[str, Amount] | None:
        try:
            return self.site.share_of(demand.request, device)
        except Fatal as problem:
            raise Fatal(
                f"claim {demand.claim}, request {demand.request.name}: checking capacity for "
                f"device {device.id}: {problem}"
            ) from problem

    def _has_room(self, demand: Demand, device: Device) -> bool:
        if not self.site.features.consumable_capacity:
            return True
        taken = self._share_of(demand, device)
        if taken is None:
            return False
        picked: dict[str, int] = {}
        for share in self.shares.get(device.id, ()):
            for name, amount in share.items():
                picked[name] = picked.get(name, 0) + amount.nanos
        return fits(device, taken, self.site.ledger.consumed.get(device.id, {}), picked)

    def _take(self, claim: int, demand: Demand, candidate: Candidate, *, must: bool) -> Undo | None:
        """Marks a usable device as picked and returns how to undo that; None if it cannot be had.

        must: a constraint that refuses it is an error, since "all devices" includes it.
        """
        device = candidate.device
        is_share = self.site.features.consumable_capacity and bool(device.shared)
        undo: list[Undo] = []
        try:
            taken = (
                self._take_counters(candidate, undo, is_share=is_share)
                and self._meet_constraints(claim, demand, device, undo, must=must)
                and self._has_room(demand, device)
            )
        except Exception:
            _roll_back(undo)
            raise
        if not taken:
            _roll_back(undo)
            return None
        undo.append(self._record(claim, demand, candidate, is_share=is_share))
        return partial(_roll_back, undo)

    def _take_counters(self, candidate: Candidate, undo: list[Undo], *, is_share: bool) -> bool:
        """A device in use by other shares has paid for its counters already."""
        device, pool = candidate.device, candidate.pool
        if not device.consumes or (is_share and self._is_shared_already(device.id)):
            return True
        if self.site.features.compatibility_groups:
            before = self.counters.join(pool, device)
            if before is None:
                return False
            undo.append(partial(self.counters.part, pool, before))
        if not self.counters.take(pool, device):
            return False
        undo.append(partial(self.counters.give_back, pool, device))
        return True

    def _is_shared_already(self, device: DeviceID) -> bool:
        ledger = self.site.ledger
        return bool(self.shares.get(device)) or device in ledger.shares or device in ledger.consumed

    def _meet_constraints(
        self, claim: int, demand: Demand, device: Device, undo: list[Undo], *, must: bool
    ) -> bool:
        request = demand.request
        for rule in self.rules[claim]:
            if not rule.add(request, device):
                if must:
                    raise Fatal(
                        f"claim {demand.claim}, request {request.name}: cannot add device "
                        f"{device.id} because a claim constraint would not be satisfied"
                    )
                return False
            undo.append(partial(rule.remove, request))
        return True

    def _record(self, claim: int, demand: Demand, candidate: Candidate, *, is_share: bool) -> Undo:
        device = candidate.device
        taken: Mapping[str, Amount] = {}
        if is_share:
            taken = self.site.share_of(demand.request, device) or {}
            self.shares.setdefault(device.id, []).append(taken)
        else:
            self.marked.setdefault(device.id, []).append(claim)
        self.picks[claim].append(Pick(demand.request, device, candidate.slice, taken, is_share))

        def undo() -> None:
            self.picks[claim].pop()
            if is_share:
                self.shares[device.id].pop()
            else:
                self.marked[device.id].remove(claim)

        return undo


def _roll_back(undo: list[Undo]) -> None:
    while undo:
        undo.pop()()
