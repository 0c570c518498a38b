"""API objects to the domain's words. What cannot be read is named, and only that is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube.client import Json
from kube.parse.claims import claim, class_facts
from kube.parse.compact import body, compact_node, compact_pod
from kube.parse.details import event, pod_details, uses_devices
from kube.parse.fields import Malformed, named
from kube.parse.nodes import node
from kube.parse.pods import pod
from kube.parse.slices import Place, slice_, slice_place, taint_rule

__all__ = [
    "Malformed",
    "Place",
    "body",
    "claim",
    "class_facts",
    "compact_node",
    "compact_pod",
    "event",
    "named",
    "node",
    "parsed",
    "pod",
    "pod_details",
    "slice_",
    "slice_place",
    "taint_rule",
    "uses_devices",
]


def parsed[T](parser: Callable[[Json], T], raw: Json) -> T:
    """Run a parser; whatever it trips over becomes Malformed with the object's name."""
    try:
        return parser(raw)
    except Malformed as error:
        raise Malformed(f"{_name(raw)}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise Malformed(f"{_name(raw)}: {type(error).__name__} {str(error)[:100]}") from None


def _name(raw: Any) -> str:
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    if not isinstance(metadata, dict):
        return "an object without metadata"
    namespace = metadata.get("namespace")
    return f"{f'{namespace}/' if namespace else ''}{metadata.get('name')}"[:300]
