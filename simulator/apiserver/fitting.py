"""Whether an object is of its kind: unknown fields, wrong types, list keys that stand twice."""

from typing import Any

from simulator.apiserver import problems
from simulator.apiserver.decoding import Misfit, cannot_unmarshal, fitted, typed_trouble
from simulator.apiserver.fieldsets import duplicate_key
from simulator.apiserver.kinds import Kind
from simulator.apiserver.schema import Type

Item = dict[str, Any]


class Undecodable(problems.Refused):
    """Says what is wrong without saying of what, for a patch whose result is at fault."""

    def __init__(self, kind: Kind, trouble: str) -> None:
        super().__init__(
            400,
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
            f"{trouble}",
        )
        self.trouble = trouble


def fit(kind: Kind, kind_type: Type, item: Item, validation: str) -> list[str]:
    """Drop unknown fields and tell of them. Raises Undecodable if strict, or ill-typed."""
    unknown, ill_typed = _sorted(kind, fitted(item, kind_type))
    for misfit in ill_typed:
        raise Undecodable(kind, cannot_unmarshal(misfit))
    told = [f'unknown field "{misfit.path}"' for misfit in unknown]
    if told and validation == "Strict":
        raise Undecodable(kind, f"strict decoding error: {', '.join(told)}")
    return told if validation == "Warn" else []


def fit_config(kind: Kind, kind_type: Type, item: Item) -> None:
    """Check an applied configuration. Raises Refused (500), as a real server does."""
    unknown, ill_typed = _sorted(kind, fitted(item, kind_type))
    for misfit in ill_typed:
        raise _untyped(kind, item, typed_trouble(misfit))
    for misfit in unknown:
        raise _untyped(kind, item, f".{misfit.path}: field not declared in schema")
    if twice := duplicate_key(item, kind_type):
        raise _untyped(kind, item, twice)


def _sorted(kind: Kind, misfits: list[Misfit]) -> tuple[list[Misfit], list[Misfit]]:
    """Unknown fields, and wrong types; those of a custom resource are judged by its schema."""
    unknown = [misfit for misfit in misfits if misfit.expected is None]
    ill_typed = [
        misfit
        for misfit in misfits
        if misfit.expected is not None and (not kind.custom or misfit.path.startswith("metadata"))
    ]
    return unknown, ill_typed


def _untyped(kind: Kind, item: Item, trouble: str) -> problems.Refused:
    meta = item["metadata"]
    name = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
    return problems.plain_failure(
        f"failed to create typed patch object ({name}; {kind.group_version}, Kind={kind.kind}): "
        f"{trouble}"
    )
