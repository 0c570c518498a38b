"""Answers of the engine as JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

from domain.diffs import to_yaml
from domain.placement import Features, Fleet, Funnel, PodFit, explain
from domain.placement.fixes import Fixes
from domain.placement.fragments import Fragmentation

Json = dict[str, Any]
SHOWN_NODES = 20


def funnel_json(funnel: Funnel) -> Json:
    return {
        "request": funnel.request,
        "layers": [
            {
                "name": layer.name,
                "count": layer.count,
                "removed": layer.removed,
                "sample": list(layer.removed_sample),
                "detail": layer.detail,
            }
            for layer in funnel.layers
        ],
        "first_empty": funnel.first_empty,
        "matches": funnel.matches,
        "free": funnel.free,
        "on_nodes": funnel.on_nodes,
        "parts": [funnel_json(part) for part in funnel.parts],
        "problem": funnel.problem,
    }


def funnels(fleet: Fleet, claims: Iterable[Any], features: Features) -> list[Json]:
    return [funnel_json(explain(fleet, claim, features)) for claim in claims]


def fixes_json(fixes: Fixes) -> Json:
    return {
        "found": [
            {
                "kind": fix.kind,
                "text": fix.text,
                "nodes": list(fix.nodes[:SHOWN_NODES]),
                "claims": [dict(claim) for claim in fix.claims],
                "yaml": "---\n".join(to_yaml({"spec": one["spec"]}) for one in fix.claims),
                "ends": list(fix.ends),
            }
            for fix in fixes.found
        ],
        "tries": fixes.tries,
        "partial": fixes.partial,
    }


def reasons_json(fits: Sequence[PodFit]) -> list[Json]:
    """Each reason in the scheduler's words, with how many nodes give it, the most common first."""
    by_reason: dict[str, list[str]] = {}
    for fit in fits:
        for reason in fit.reasons:
            by_reason.setdefault(reason, []).append(fit.node)
    ordered = sorted(by_reason.items(), key=lambda one: (-len(one[1]), one[0]))
    return [
        {"reason": reason, "count": len(nodes), "nodes": nodes[:SHOWN_NODES]}
        for reason, nodes in ordered
    ]


def fragments_json(found: Fragmentation) -> Json:
    return {
        "cards": found.cards,
        "free": found.free,
        "stranded": len(found.stranded),
        "stranded_cards": [
            {
                "card": str(one.card),
                "nodes": list(one.nodes[:SHOWN_NODES]),
                "in_use": list(one.in_use),
                "holders": list(one.holders),
            }
            for one in found.stranded[:SHOWN_NODES]
        ],
        "profiles": [
            {"name": one.name, "fits": one.fits, "cards": one.cards, "published": one.published}
            for one in found.profiles
        ],
        "groups": [
            {
                "class": one.class_name,
                "link": one.link,
                "size": one.size,
                "node": one.node,
                "is_sure": one.is_sure,
            }
            for one in found.groups
        ],
        "moves": [
            {
                "card": str(one.card),
                "moves": [
                    {"claim": claim, "to": to} for claim, to in zip(one.claims, one.to, strict=True)
                ],
            }
            for one in found.moves
        ],
        "group_moves": [
            {
                "class": one.class_name,
                "size": one.size,
                "node": one.node,
                "moves": [
                    {"claim": claim, "to": to} for claim, to in zip(one.claims, one.to, strict=True)
                ],
            }
            for one in found.group_moves
        ],
        "partial": found.partial,
    }
