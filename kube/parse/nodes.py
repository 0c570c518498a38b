"""Node."""

from __future__ import annotations

from sys import intern
from typing import Any

import orjson

from domain.accelerators import LABEL_PREFIXES, is_accelerator
from domain.devices import Node
from kube.client import Json
from kube.parse.fields import Malformed, identity, texts, whole

HAMI_CARDS = "hami.io/node-nvidia-register"
HAMI_ALIVE = "hami.io/node-handshake-nvidia"


def node(raw: Json) -> Node:
    uid, _, name = identity(raw)
    status = raw.get("status") or {}
    labels = texts(raw["metadata"].get("labels"))
    return Node(
        uid=uid,
        name=intern(name),
        is_ready=_is_ready(status.get("conditions")),
        is_schedulable=not (raw.get("spec") or {}).get("unschedulable"),
        labels={
            intern(key): intern(value)
            for key, value in labels.items()
            if key.startswith(LABEL_PREFIXES)
        },
        resources=_resources(status),
        hami_cards=_hami(texts(raw["metadata"].get("annotations"))),
    )


def _is_ready(conditions: Any) -> bool:
    """By the Ready condition; a node that has none yet has not reported."""
    return any(
        one.get("type") == "Ready" and one.get("status") == "True" for one in conditions or ()
    )


def _resources(status: Json) -> dict[str, tuple[int, int]]:
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    found = {}
    for resource in {*capacity, *allocatable}:
        if is_accelerator(resource):
            pair = (
                whole(str(capacity.get(resource, "0"))),
                whole(str(allocatable.get(resource, "0"))),
            )
            if any(pair):
                found[intern(resource)] = pair
    return found


def _hami(annotations: dict[str, str]) -> tuple[tuple[str, str, int], ...]:
    """HAMi's register: JSON in newer versions, "uuid,count,MiB,cores,type,numa,health:" before."""
    text = annotations.get(HAMI_CARDS, "")
    if not text or HAMI_ALIVE not in annotations:
        return ()
    if text.lstrip().startswith("["):
        try:
            cards = orjson.loads(text)
            return tuple(
                (str(card["id"]), str(card.get("type") or ""), int(card.get("devmem") or 0))
                for card in cards
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise Malformed(f"its annotation {HAMI_CARDS} is not HAMi's: {error}") from None
    return tuple(
        (parts[0], parts[4], int(parts[2]))
        for entry in text.split(":")
        if len(parts := entry.split(",")) >= 5 and parts[2].isdigit()
    )
