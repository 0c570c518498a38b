"""Checking what a tenant filled in against a pattern's parameters."""

from collections.abc import Callable, Mapping

from domain import quantity
from domain.errors import InvalidValue
from domain.patterns.model import Parameter, Pattern, Values

MOST_DEVICES = 32  # AllocationResultsMaxSize, over all requests of a claim


def accept(pattern: Pattern, given: Mapping[str, object]) -> Values:
    """Return a value for every parameter, defaults filled in; raise InvalidValue for any other."""
    known = {parameter.name for parameter in pattern.parameters}
    for name in given:
        if name not in known:
            raise InvalidValue(
                f"This pattern has no parameter {str(name)[:40]!r}.", field=f"params.{name}"
            )
    return {
        parameter.name: accept_one(parameter, given.get(parameter.name, parameter.default))
        for parameter in pattern.parameters
    }


def defaults(pattern: Pattern) -> Values:
    return accept(pattern, {})


def accept_one(parameter: Parameter, value: object) -> int | str:
    """Return `value` as its parameter has it (a count as int, a quantity as written)."""
    try:
        return _BY_KIND[parameter.kind](parameter, value)
    except ValueError as error:
        label = parameter.label or parameter.name
        raise InvalidValue(f"{label}: {error}", field=f"params.{parameter.name}") from None


def _count(parameter: Parameter, value: object) -> int:
    number = int_of(value)
    least, most = int_of(parameter.least or 1), int_of(parameter.most or MOST_DEVICES)
    if not least <= number <= most:
        raise ValueError(f"{number} is not within {least} and {most}")
    return number


def int_of(value: object) -> int:
    """A whole number from JSON or from a form; raise ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("must be a whole number")
    text = str(value).strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError(f"{text[:20]!r} is not a whole number")
    return int(text)


def _memory(parameter: Parameter, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("must be a quantity such as 40Gi")
    text = str(value).strip()
    if len(text) > 24:
        raise ValueError("is too long for a quantity")
    amount = quantity.parse(text)
    if amount <= 0:
        raise ValueError("must be more than nothing")
    least, most = parameter.least, parameter.most
    too_little = least != "" and amount < quantity.parse(str(least))
    too_much = most != "" and amount > quantity.parse(str(most))
    if too_little or too_much:
        raise ValueError(f"{text} is not within {least or 0} and {most or 'any amount'}")
    return text


def _choice(parameter: Parameter, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be one of the choices")
    if value == "" and parameter.optional:
        return value
    if value not in parameter.choices:
        raise ValueError(f"{value[:60]!r} is not one of the choices")
    return value


_BY_KIND: dict[str, Callable[[Parameter, object], int | str]] = {
    "count": _count,
    "memory": _memory,
    "choice": _choice,
}
