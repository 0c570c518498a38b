"""A pattern and checked values, as Kubernetes wants them.

Both forms charge the same class: `charge` is per replica, whichever allocation path it takes.
Selector forms never fail on a device that lacks the attribute, for one error in a selector ends the
whole scheduling attempt of a pod (dynamic-resource-allocation, cel/compile.go).
"""

from dataclasses import dataclass
from typing import Any

from domain import quantity
from domain.errors import InvalidValue
from domain.patterns.model import NodeLabel, Pattern, Request, Term, Values
from domain.patterns.names import cel_string
from domain.patterns.values import int_of


@dataclass(frozen=True, slots=True)
class PluginForm:
    """`limits` of the container, and what a node's labels must say."""

    limits: dict[str, int]
    requirements: tuple[dict[str, Any], ...]


def claim_spec(pattern: Pattern, values: Values) -> dict[str, Any]:
    """The spec of a ResourceClaim (resource.k8s.io/v1) for one replica."""
    devices: dict[str, Any] = {
        "requests": [_request(request, values) for request in pattern.requests]
    }
    if pattern.match_attributes:
        devices["constraints"] = [
            {"matchAttribute": attribute} for attribute in pattern.match_attributes
        ]
    return {"devices": devices}


def _request(request: Request, values: Values) -> dict[str, Any]:
    exactly: dict[str, Any] = {
        "deviceClassName": request.device_class,
        "allocationMode": "ExactCount",
        "count": _count(request, values),
    }
    if selectors := request_selectors(request, values):
        exactly["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    return {"name": request.name, "exactly": exactly}


def request_selectors(request: Request, values: Values) -> list[str]:
    """One CEL expression per term that applies, in the pattern's order."""
    found = (_expression(term, _value(term, values)) for term in request.terms)
    return [expression for expression in found if expression]


def selector_shapes(request: Request) -> list[str]:
    """The expressions with their parameters left open, for people who review a pattern."""
    return [
        _expression(term, term.value) if not term.parameter else _shape(term)
        for term in request.terms
    ]


def _shape(term: Term) -> str:
    marker = "\N{HORIZONTAL ELLIPSIS}"
    return _expression(term, marker).replace(cel_string(marker), f"<{term.parameter}>")


def _value(term: Term | NodeLabel, values: Values) -> str:
    return str(values[term.parameter]) if term.parameter else term.value


def _expression(term: Term, value: str) -> str:
    if not value:
        return ""
    domain, _, name = term.key.partition("/")
    where, key, literal = cel_string(domain), cel_string(name), cel_string(value)
    if term.op == "equals":
        return f'device.attributes[{where}][?{key}].orValue("") == {literal}'
    capacity = f"device.capacity[{where}]"
    return f"{key} in {capacity} && {capacity}[{key}].compareTo(quantity({literal})) >= 0"


def charge(pattern: Pattern, values: Values) -> dict[str, int]:
    """Devices of each class that one replica takes from a quota, as the API server counts them."""
    taken: dict[str, int] = {}
    for request in pattern.requests:
        held = taken.get(request.device_class, 0)
        taken[request.device_class] = held + _count(request, values)
    return taken


def _count(request: Request, values: Values) -> int:
    return int_of(values[request.count_parameter]) if request.count_parameter else request.count


def plugin_form(pattern: Pattern, values: Values) -> PluginForm:
    """Limits and node requirements for one replica; raise InvalidValue without such a form."""
    form = pattern.device_plugin
    if form is None:
        raise InvalidValue(
            "This pattern has no device-plugin form; choose the path dra.", field="path"
        )
    resource = form.resource
    if form.parameter:
        chosen = str(values[form.parameter])
        resource = dict(form.resource_by_choice or {}).get(chosen, "")
        if not resource:
            raise InvalidValue(
                f"On the device-plugin path this pattern has no resource for {chosen!r}.",
                field=f"params.{form.parameter}",
            )
    return PluginForm(
        limits={resource: _count(pattern.requests[0], values)},
        requirements=node_requirements(form.node_labels, values),
    )


def node_requirements(labels: tuple[NodeLabel, ...], values: Values) -> tuple[dict[str, Any], ...]:
    """Node selector requirements; terms whose optional choice was left out are left out too."""
    found = []
    for label in labels:
        value = _value(label, values)
        if not value:
            continue
        if label.op == "equals":
            spelled = dict(label.spelling or {}).get(value, value)
            found.append({"key": label.label, "operator": "In", "values": [spelled]})
        else:
            # Gt is the only order that node affinity has.
            below = quantity.mebibytes(value) - 1
            found.append({"key": label.label, "operator": "Gt", "values": [str(below)]})
    return tuple(found)
