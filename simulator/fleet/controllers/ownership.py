"""Owners, selectors and hashes, as all controllers read them."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from simulator.fleet.api import Kind, plain
from simulator.fleet.cache import Store

type Json = dict[str, Any]

# The letters that Kubernetes uses in generated names: no vowels, so no words.
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
_DONE = {"Succeeded", "Failed"}


def owner_reference(owner: Json, kind: Kind) -> Json:
    meta = owner["metadata"]
    return {
        "apiVersion": kind.version,
        "kind": kind.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(item: Json) -> Json | None:
    for reference in item["metadata"].get("ownerReferences") or []:
        if reference.get("controller"):
            return dict(reference)
    return None


def owned_by(owner: Json, store: Store) -> Iterator[Json]:
    """The objects of the owner's namespace that it controls."""
    uid = owner["metadata"]["uid"]
    for item in list(store.within(owner["metadata"]["namespace"])):
        reference = controller_of(item)
        if reference and reference["uid"] == uid:
            yield item


def is_going(item: Json) -> bool:
    return "deletionTimestamp" in item["metadata"]


def is_done(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in _DONE


def is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def template_hash(template: Json) -> str:
    """Ten letters that stand for a pod template's content."""
    number = int.from_bytes(hashlib.sha256(plain(template).encode()).digest()[:8])
    letters = ""
    for _ in range(10):
        number, index = divmod(number, len(_SAFE))
        letters += _SAFE[index]
    return letters


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A LabelSelector; None selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(meets(rule, labels) for rule in selector.get("matchExpressions") or [])


def meets(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(rule["key"])
    match rule["operator"]:
        case "In":
            return value in rule["values"]
        case "NotIn":
            return value not in rule["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def share_of(value: object, total: int, *, up: bool) -> int:
    """`2` or `"25%"` of a total, rounded up (surge) or down (unavailable)."""
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    percent = int(text[:-1]) * total
    return -(-percent // 100) if up else percent // 100
