"""Content as stored and as typed (JSON) to a Pattern, and back, with every rule checked."""

from collections.abc import Iterator
from typing import Any

import msgspec

from domain.errors import InvalidValue
from domain.patterns import names
from domain.patterns.model import DevicePlugin, NodeLabel, Parameter, Pattern, Request, Term
from domain.patterns.values import MOST_DEVICES, accept_one

MOST_REQUESTS = 32  # resource/v1 DeviceRequestsMaxSize
MOST_TERMS = 32  # DeviceSelectorsMaxSize
MOST_PARAMETERS = 20
LONGEST_STRING = 64  # DeviceAttributeMaxValueLength: nothing longer can ever match


def pattern_from(content: object) -> Pattern:
    """Return the pattern; raise InvalidValue with the path of what is wrong."""
    try:
        pattern = msgspec.convert(content, Pattern, strict=True)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at ")
        raise InvalidValue(f"{text}.", field=path.strip("`").removeprefix("$.")) from None
    for path in _strangers(content, content_of(pattern), ""):
        raise InvalidValue(f"A pattern has no field {path[:80]!r}.", field=path)
    _check(pattern)
    return pattern


def content_of(pattern: Pattern) -> dict[str, Any]:
    """The pattern as plain JSON; `pattern_from` is its inverse."""
    content: dict[str, Any] = msgspec.to_builtins(pattern)
    return content


def _strangers(given: object, known: object, path: str) -> Iterator[str]:
    """Paths in `given` that reading has left out: a misspelt key must not pass unseen."""
    if isinstance(given, dict) and isinstance(known, dict):
        for key, value in given.items():
            here = f"{path}.{key}" if path else str(key)
            if key not in known:
                yield here
            else:
                yield from _strangers(value, known[key], here)
    elif isinstance(given, list) and isinstance(known, list):
        for index, (left, right) in enumerate(zip(given, known, strict=False)):
            yield from _strangers(left, right, f"{path}[{index}]")


def _require(holds: bool, message: str, field: str) -> None:
    if not holds:
        raise InvalidValue(message, field=field)


def _check(pattern: Pattern) -> None:
    _require(
        len(pattern.parameters) <= MOST_PARAMETERS,
        f"At most {MOST_PARAMETERS} parameters.",
        "parameters",
    )
    _once([one.name for one in pattern.parameters], "parameters")
    for index, parameter in enumerate(pattern.parameters):
        _check_parameter(parameter, f"parameters[{index}]")
    _require(
        0 < len(pattern.requests) <= MOST_REQUESTS,
        f"A pattern has 1 to {MOST_REQUESTS} requests.",
        "requests",
    )
    _once([one.name for one in pattern.requests], "requests")
    for index, request in enumerate(pattern.requests):
        _check_request(pattern, request, f"requests[{index}]")
    for index, attribute in enumerate(pattern.match_attributes):
        _check_key(attribute, f"match_attributes[{index}]")
    if pattern.device_plugin is not None:
        _check_plugin(pattern, pattern.device_plugin)


def _once(found: list[str], field: str) -> None:
    for name in found:
        _require(found.count(name) == 1, f"The name {name!r} is used twice.", field)


def _check_parameter(parameter: Parameter, at: str) -> None:
    _require(
        names.is_identifier(parameter.name),
        "A parameter's name has letters, digits and underscores, 32 at most.",
        f"{at}.name",
    )
    _require(len(parameter.label) <= 80, "A label has 80 characters at most.", f"{at}.label")
    if parameter.kind == "choice":
        _check_choices(parameter, at)
    try:
        accept_one(parameter, parameter.default)
    except InvalidValue as error:
        raise InvalidValue(f"The default does not fit. {error}", field=f"{at}.default") from None


def _check_choices(parameter: Parameter, at: str) -> None:
    _require(0 < len(parameter.choices) <= 64, "Give 1 to 64 choices.", f"{at}.choices")
    _once(list(parameter.choices), f"{at}.choices")
    for index, choice in enumerate(parameter.choices):
        _check_text(choice, f"{at}.choices[{index}]")


def _check_text(value: str, field: str) -> None:
    _require(
        0 < len(value) <= LONGEST_STRING and value.isprintable() and value == value.strip(),
        f"Use 1 to {LONGEST_STRING} printable characters without spaces around them.",
        field,
    )


def _check_request(pattern: Pattern, request: Request, at: str) -> None:
    _require(
        names.is_dns_label(request.name),
        "A request's name has lower-case letters, digits and hyphens, 63 at most.",
        f"{at}.name",
    )
    _require(
        names.is_subdomain(request.device_class),
        "This is not a name that a DeviceClass can have.",
        f"{at}.device_class",
    )
    _require(0 < request.count <= MOST_DEVICES, f"1 to {MOST_DEVICES} devices.", f"{at}.count")
    if request.count_parameter:
        _check_use(pattern, request.count_parameter, "count", f"{at}.count_parameter")
    _require(len(request.terms) <= MOST_TERMS, f"At most {MOST_TERMS} terms.", f"{at}.terms")
    for index, term in enumerate(request.terms):
        _check_term(pattern, term, f"{at}.terms[{index}]")


def _check_use(pattern: Pattern, name: str, kind: str, field: str) -> None:
    found = pattern.parameter(name)
    _require(
        found is not None and found.kind == kind,
        f"There is no parameter {name[:40]!r} of kind {kind}.",
        field,
    )


def _check_key(key: str, field: str) -> None:
    _require(
        names.is_fully_qualified(key),
        "Name it with its domain, such as gpu.nvidia.com/productName.",
        field,
    )


def _check_term(pattern: Pattern, term: Term | NodeLabel, at: str) -> None:
    if isinstance(term, Term):
        _check_key(term.key, f"{at}.key")
    else:
        _require(names.is_label_key(term.label), "This is not a label key.", f"{at}.label")
    _require(
        bool(term.value) != bool(term.parameter), "Give a value or a parameter, one of them.", at
    )
    kind = "choice" if term.op == "equals" else "memory"
    if term.parameter:
        _check_use(pattern, term.parameter, kind, f"{at}.parameter")
    elif kind == "memory":
        fixed = Parameter(name="value", kind="memory", default=term.value)
        try:
            accept_one(fixed, term.value)
        except InvalidValue as error:
            raise InvalidValue(str(error), field=f"{at}.value") from None
    else:
        _check_text(term.value, f"{at}.value")


def _check_plugin(pattern: Pattern, form: DevicePlugin) -> None:
    _require(
        len(pattern.requests) == 1,
        "Only a pattern with one request has a device-plugin form.",
        "device_plugin",
    )
    by_choice = dict(form.resource_by_choice or {})
    _require(
        bool(form.resource) != bool(form.parameter and by_choice),
        "Give a resource, or a parameter with a resource for each choice.",
        "device_plugin",
    )
    for resource in [form.resource] if form.resource else by_choice.values():
        _require(
            names.is_extended_resource(resource),
            "An extended resource has a name such as nvidia.com/gpu.",
            "device_plugin.resource",
        )
    if form.parameter:
        _check_use(pattern, form.parameter, "choice", "device_plugin.parameter")
    for index, label in enumerate(form.node_labels):
        at = f"device_plugin.node_labels[{index}]"
        _check_term(pattern, label, at)
        _check_spelling(pattern, label, at)


def _check_spelling(pattern: Pattern, label: NodeLabel, at: str) -> None:
    """Every text that could reach a label comparison must be one that a label can hold."""
    if label.op != "equals":
        return
    spelling = dict(label.spelling or {})
    parameter = pattern.parameter(label.parameter)
    written = parameter.choices if parameter is not None else (label.value,)
    for text in written:
        _require(
            names.is_label_value(spelling.get(text, text)),
            f"No node label can be {text[:60]!r}; give its spelling on nodes.",
            f"{at}.spelling",
        )
