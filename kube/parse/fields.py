"""Small readers shared by the parsers."""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import Any

from domain import quantity
from domain.devices import NOBODY, Owner
from domain.manifests.labels import DEPLOYMENT, POOL, TENANT
from kube.client import Json

LONGEST_NAME = 253
UNNAMEABLE = frozenset("/%\0")


class Malformed(ValueError):
    """An object that is not what its kind says; the message names the object and the field."""


def identity(raw: Json) -> tuple[str, str, str]:
    """uid, namespace, name."""
    metadata = raw["metadata"]
    uid = str(metadata.get("uid") or "")
    if not uid:
        raise Malformed("it has no uid")
    return uid, intern(str(metadata.get("namespace") or "")), str(metadata["name"])


def named(value: Any) -> str:
    """A name that an API server would take: a segment of a path (IsValidPathSegmentName)."""
    name = str(value or "")
    if len(name) > LONGEST_NAME:
        raise Malformed("a name in it is longer than Kubernetes allows")
    if name in (".", "..") or not UNNAMEABLE.isdisjoint(name):
        raise Malformed("a name in it holds what no name may hold")
    return intern(name)


def owner(raw: Json) -> Owner:
    """Whose an object is, by our own labels."""
    labels = raw["metadata"].get("labels")
    if not isinstance(labels, dict) or TENANT not in labels:
        return NOBODY
    return Owner(*(intern(str(labels.get(name) or "")) for name in (TENANT, DEPLOYMENT, POOL)))


def texts(raw: Any) -> dict[str, str]:
    """A map of strings such as labels; anything else in it is left out."""
    if not isinstance(raw, dict):
        return {}
    return {str(key): value for key, value in raw.items() if isinstance(value, str)}


@lru_cache(maxsize=8192)
def whole(text: str) -> int:
    """A quantity as a whole number, rounded up; Malformed if it is none."""
    try:
        return quantity.whole(text)
    except quantity.BadQuantity as error:
        raise Malformed(str(error)[:200]) from None


@lru_cache(maxsize=4096)
def mebibytes(text: str) -> int:
    try:
        return quantity.mebibytes(text)
    except quantity.BadQuantity as error:
        raise Malformed(str(error)[:200]) from None
