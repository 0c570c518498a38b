"""From what a pod asks a device plugin for back to the pattern that would ask for the same.

A pattern's device-plugin form says which resource and node labels stand for it. Read backwards it
says which pattern, with which values, stands for a resource and the labels a workload selects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain import quantity
from domain.errors import InvalidValue
from domain.patterns import NodeLabel, Pattern, Values, accept, charge
from domain.patterns.model import DevicePlugin

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`count` units of `resource`, on nodes whose labels equal `selector` and exceed `above` (MiB).

    `homes` are the labels of the nodes that could serve it today: a pattern that takes less than
    the workload does is still the same where all of them satisfy it.
    """

    resource: str
    count: int
    selector: Labels
    above: Mapping[str, int]
    homes: Sequence[Labels]


@dataclass(frozen=True, slots=True)
class Match:
    """The values to give the pattern, and the labels that its terms stand for."""

    values: Values
    covered: frozenset[str]


class NoMatch(ValueError):
    """The pattern does not stand for it; the message says why."""


def match(pattern: Pattern, wanted: Wanted) -> Match:
    """Values for which the pattern's device-plugin form is what is wanted; raises NoMatch."""
    form = pattern.device_plugin
    if form is None:
        raise NoMatch("it has no device-plugin form to compare with")
    values: dict[str, object] = dict(_by_resource(form, wanted.resource))
    values |= _count(pattern, wanted.count)
    covered: set[str] = set()
    for label in form.node_labels:
        values |= _by_label(pattern, label, wanted)
        if label.label in wanted.selector or label.label in wanted.above:
            covered.add(label.label)
    try:
        accepted = accept(pattern, values)
    except InvalidValue as error:
        raise NoMatch(str(error)) from None
    _check_homes(form, accepted, wanted)
    return Match(accepted, frozenset(covered))


def _by_resource(form: DevicePlugin, resource: str) -> dict[str, str]:
    if form.resource:
        if form.resource != resource:
            raise NoMatch(f"it stands for {form.resource}")
        return {}
    for choice, name in (form.resource_by_choice or {}).items():
        if name == resource:
            return {form.parameter: choice}
    raise NoMatch(f"none of its choices stands for {resource}")


def _count(pattern: Pattern, count: int) -> dict[str, int]:
    request = pattern.requests[0]
    if request.count_parameter:
        return {request.count_parameter: count}
    if request.count != count:
        raise NoMatch(f"it is for {request.count} devices, not for {count}")
    return {}


def _by_label(pattern: Pattern, label: NodeLabel, wanted: Wanted) -> dict[str, str]:
    """What the workload's own selector says of the parameter behind the label."""
    if label.op == "at-least":
        least = wanted.above.get(label.label)
        if least is None or not label.parameter:
            return {}
        return {label.parameter: f"{least + 1}Mi"}
    chosen = wanted.selector.get(label.label)
    if not label.parameter:
        if chosen is not None and chosen != _spelled(label, label.value):
            raise NoMatch(f"it is for {label.label}={_spelled(label, label.value)}")
        return {}
    parameter = pattern.parameter(label.parameter)
    assert parameter is not None  # reading a pattern checks it
    if chosen is None:
        return {label.parameter: ""} if parameter.optional else {}
    for choice in parameter.choices:
        if _spelled(label, choice) == chosen:
            return {label.parameter: choice}
    raise NoMatch(f"it has no choice for {label.label}={chosen}")


def _spelled(label: NodeLabel, value: str) -> str:
    return dict(label.spelling or {}).get(value, value)


def _check_homes(form: DevicePlugin, values: Values, wanted: Wanted) -> None:
    """Every node that serves the workload today must be one that the pattern would take."""
    for label in form.node_labels:
        value = str(values[label.parameter]) if label.parameter else label.value
        if not value or label.label in wanted.selector:
            continue
        strangers = [home for home in wanted.homes if not _holds(label, value, home)]
        if strangers:
            raise NoMatch(
                f"it takes only {label.label} "
                f"{'of ' if label.op == 'equals' else 'of at least '}{_spelled(label, value)}, "
                f"while {len(strangers)} of the workload's {len(wanted.homes)} nodes have "
                f"{strangers[0].get(label.label) or 'none'}"
            )


def _holds(label: NodeLabel, value: str, home: Labels) -> bool:
    found = home.get(label.label, "")
    if label.op == "equals":
        return found == _spelled(label, value)
    return found.isdecimal() and int(found) >= quantity.mebibytes(value)


def devices_of(pattern: Pattern, values: Values) -> dict[str, int]:
    """Devices of each class that one replica takes on the new path."""
    return charge(pattern, values)
