"""What one attempt sees from one node, and the checks of one device that need nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from domain.placement.amounts import Amount
from domain.placement.capacity import allowed, consumption, fits
from domain.placement.cel import SelectorError
from domain.placement.claims import Claim, DeviceClass, Request
from domain.placement.counters import CounterBook
from domain.placement.devices import Device, Node, Slice, Taint, TaintRule
from domain.placement.faults import Fatal, NodeError
from domain.placement.features import Features
from domain.placement.ledger import Ledger
from domain.placement.pools import Candidate, View
from domain.placement.verdicts import CompileError, selector

OPTIONAL_OPERATIONS = "DRAOptionalNodeOperations"


@dataclass(slots=True)
class Site:
    """One node as one attempt sees it."""

    node: Node
    view: View
    ledger: Ledger
    rules: Sequence[TaintRule]
    features: Features
    book: CounterBook
    verdicts: dict[tuple[int, int], bool] = field(default_factory=dict)
    amounts: dict[tuple[int, int], Mapping[str, Amount] | None] = field(default_factory=dict)

    def selectable(
        self, claim: Claim, request: Request, owner: DeviceClass, candidate: Candidate
    ) -> bool:
        """Class selectors first, then the request's, then where the device can be reached.

        Raises Fatal for a selector that fails (upstream ends the attempt), or Unknown.
        """
        device = candidate.device
        if device.binding_conditions and not self.features.device_binding_and_status:
            return False
        key = (id(request), id(device))
        known = self.verdicts.get(key)
        if known is None:
            known = (
                _accepted(f"class {owner.name}", owner.selectors, device)
                and _accepted(f"claim {claim}", request.selectors, device)
                and self._reached(candidate)
            )
            self.verdicts[key] = known
        return known

    def _reached(self, candidate: Candidate) -> bool:
        if not candidate.slice.per_device:
            return True
        return candidate.device.reach.includes(self.node.name, self.node.labels)

    def share_of(self, request: Request, device: Device) -> Mapping[str, Amount] | None:
        """What one share takes; None if policies forbid it or a capacity is lacking.

        Raises Fatal for amounts that cannot be computed with.
        """
        key = (id(request), id(device))
        if key not in self.amounts:
            fractional = self.features.fractional_capacity_range
            taken = consumption(device, request.capacities, fractional=fractional)
            if taken is not None and not allowed(device, taken, fractional=fractional):
                taken = None
            self.amounts[key] = taken
        return self.amounts[key]

    def has_static_capacity(self, request: Request, device: Device) -> bool:
        """Whether the device could serve the request if nobody else used it. Raises Fatal."""
        taken = self.share_of(request, device)
        return taken is not None and fits(device, taken, {}, {})

    def complain_of_invalid_pools(self) -> None:
        """Raises NodeError, for use after nothing was found."""
        if any(pool.invalid_reason for pool in self.view.pools):
            raise NodeError("invalid resource pools were encountered")

    def supports_operations(self, one: Slice) -> bool:
        """Upstream's other variants know nothing of operations that are skipped (KEP-5945)."""
        if not one.skipped_operations or not self.features.knows_skipped_operations:
            return True
        declared = OPTIONAL_OPERATIONS in self.node.declared_features
        return self.features.optional_node_operations and declared

    def tolerated(self, request: Request, device: Device) -> bool:
        if not self.features.device_taints:
            return True
        return all(
            any(toleration.tolerates(taint) for toleration in request.tolerations)
            for taint in self.taints_of(device)
            if taint.prevents_scheduling
        )

    def taints_of(self, device: Device) -> list[Taint]:
        """Its own, and those that DeviceTaintRules put on it."""
        ruled = [rule.taint for rule in self.rules if rule.applies_to(device.id)]
        return [*device.taints, *ruled]


def _accepted(owner: str, expressions: Sequence[str | None], device: Device) -> bool:
    for i, expression in enumerate(expressions):
        if expression is None:
            raise Fatal(f"{owner}: selector #{i}: CEL expression empty")
        try:
            if not selector(expression).accepts(device.view):
                return False
        except CompileError as problem:
            raise Fatal(f"{owner}: selector #{i}: CEL compile error: {problem}") from problem
        except SelectorError as problem:
            raise Fatal(
                f"{owner}: selector #{i} on device {device.id}: CEL runtime error: {problem}"
            ) from problem
    return True
