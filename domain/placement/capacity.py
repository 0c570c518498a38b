"""Consumable capacity (KEP-5075): what a share takes, and whether it still fits."""

from collections.abc import Mapping

from domain.placement.amounts import MAX_INT64, NANO, Amount, units
from domain.placement.devices import Capacity, Device, RequestPolicy
from domain.placement.faults import Fatal

_MILLI = NANO // 1000
Consumed = Mapping[str, int]


def consumption(
    device: Device, asked: Mapping[str, Amount] | None, *, fractional: bool
) -> dict[str, Amount] | None:
    """What one share of the device takes of each of its capacities.

    None if the device lacks a capacity that is asked for. Raises Fatal for amounts that
    upstream's arithmetic cannot represent, and for negative ones.
    """
    if asked and not device.capacity.keys() >= asked.keys():
        return None
    taken = {}
    for name, capacity in device.capacity.items():
        try:
            amount = _rounded((asked or {}).get(name), capacity, fractional=fractional)
        except Fatal as problem:
            raise Fatal(f'capacity "{name}": {problem}') from problem
        if amount.nanos < 0:
            raise Fatal(f'capacity "{name}": capacity value is negative')
        taken[name] = amount
    return taken


def allowed(device: Device, taken: Mapping[str, Amount], *, fractional: bool) -> bool:
    """Whether every amount is one that the device's request policies permit."""
    return not any(
        _violates(taken[name], capacity.policy, fractional=fractional)
        for name, capacity in device.capacity.items()
    )


def fits(device: Device, taken: Mapping[str, Amount], used: Consumed, picked: Consumed) -> bool:
    """Whether there is room beside what is in use and what this attempt already picked."""
    for name, capacity in device.capacity.items():
        total = taken[name].nanos + used.get(name, 0) + picked.get(name, 0)
        if total > capacity.value.nanos:
            return False
    return True


def _rounded(asked: Amount | None, capacity: Capacity, *, fractional: bool) -> Amount:
    policy = capacity.policy
    if asked is None:
        default = policy.default if policy is not None else None
        return capacity.value if default is None else default
    if policy is None:
        return asked
    if policy.has_range and policy.minimum is not None:
        return _round_up_range(asked, policy, policy.minimum, fractional=fractional)
    return next((value for value in policy.valid_values if asked.nanos <= value.nanos), asked)


def _round_up_range(
    asked: Amount, policy: RequestPolicy, minimum: Amount, *, fractional: bool
) -> Amount:
    if asked.nanos < minimum.nanos:
        return minimum
    step = policy.step
    if step is None:
        return asked
    if _counts_in_millis(policy, fractional=fractional):
        if not _is_milli(asked):
            raise Fatal(f"{_UNREPRESENTABLE}: request {asked} is not a representable milli value")
        millis = _next_step(asked.millis, minimum.millis, step.millis)
        if millis > MAX_INT64:
            raise Fatal(
                f"{_UNREPRESENTABLE}: rounding request {asked} up to the next step passes the "
                "milli-value range"
            )
        return Amount(millis * _MILLI, step.format)
    if asked.nanos > MAX_INT64 * NANO:
        raise Fatal(f"{_UNREPRESENTABLE}: request {asked} exceeds MaxInt64")
    whole = _next_step(asked.whole, minimum.whole, step.whole)
    if whole > MAX_INT64 and minimum.whole >= 0:
        raise Fatal(
            f"{_UNREPRESENTABLE}: rounding request {asked} up to the next step passes MaxInt64"
        )
    return units(whole, step.format)


_UNREPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


def _next_step(asked: int, minimum: int, step: int) -> int:
    return minimum + -(-(asked - minimum) // step) * step


def _counts_in_millis(policy: RequestPolicy, *, fractional: bool) -> bool:
    """DRAFractionalCapacityRange: thousandths are used if all bounds have them exactly."""
    if not fractional:
        return False
    bounds = (policy.minimum, policy.maximum, policy.step)
    if any(bound is not None and not _is_milli(bound) for bound in bounds):
        return False
    return policy.step is None or policy.step.millis >= 1


def _is_milli(amount: Amount) -> bool:
    return amount.nanos % _MILLI == 0 and abs(amount.millis) <= MAX_INT64


def _violates(taken: Amount, policy: RequestPolicy | None, *, fractional: bool) -> bool:
    if policy is None or (policy.default is not None and taken == policy.default):
        return False
    if policy.has_range:
        return _violates_range(taken, policy, fractional=fractional)
    return bool(policy.valid_values) and taken not in policy.valid_values


def _violates_range(taken: Amount, policy: RequestPolicy, *, fractional: bool) -> bool:
    if policy.maximum is not None and taken.nanos > policy.maximum.nanos:
        return True
    if policy.step is None or policy.minimum is None:
        return False
    if _counts_in_millis(policy, fractional=fractional):
        if not _is_milli(taken):
            return True
        return (taken.millis - policy.minimum.millis) % policy.step.millis != 0
    return (taken.whole - policy.minimum.whole) % policy.step.whole != 0
