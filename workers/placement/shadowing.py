"""Shadow placement: what the device plugin's workloads would find if they asked by claims."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from domain.errors import InvalidValue
from domain.placement import Features, Fleet, explain
from domain.placement.fragments import fragmentation
from domain.placement.shadow import (
    CONSIDERED_NOT,
    NoSuchClass,
    Shadow,
    Workload,
    as_claim,
    published_too,
    resources,
    shadow,
    workloads,
)
from workers.placement.kinds import Deadline, Json, answers, text
from workers.placement.shown import SHOWN_NODES, fragments_json, funnel_json
from workers.placement.warm import Snapshot

BUDGET_SECONDS = 10.0
MOST_SHOWN = 50
MOST_FUNNELS = 3


@answers("shadow")
def shadow_placement(snapshot: Snapshot, question: Json) -> Json:
    """{"class", "resource", "namespaces"?, "node_labels"?, "as_published"?: true}.

    as_published: count the cards of the workloads' own nodes as published, as after a migration.
    """
    deadline = Deadline(BUDGET_SECONDS)
    class_name, resource = text(question, "class"), text(question, "resource")
    fleet, features = snapshot.fleet, snapshot.features
    moving = workloads(
        fleet,
        resource,
        namespaces=_namespaces(question),
        node_labels=_labels(question),
    )
    try:
        stage, nodes = (
            published_too(fleet, class_name, resource, moving)
            if question.get("as_published")
            else (fleet, ())
        )
        found = shadow(stage, class_name, moving, features, is_over=deadline.is_over)
    except NoSuchClass as problem:
        raise InvalidValue(str(problem), field="class") from problem
    before = _fragments(found.before, class_name, features, deadline)
    after = _fragments(found.after, class_name, features, deadline)
    return {
        "class": class_name,
        "resource": resource,
        "resources": resources(fleet)[:SHOWN_NODES],
        "of": found.of,
        "looked_at": found.looked_at,
        "units": sum(one.units for one in moving),
        "fits": len(found.fits),
        "fit_units": sum(one.units for one in found.fits),
        "misfits": len(found.misfits),
        "misfit_units": sum(one.units for one in found.misfits),
        "published_nodes": list(nodes[:SHOWN_NODES]),
        "published_count": len(nodes),
        "placed": [
            _workload(one) | {"to": to} for one, to in list(found.fits.items())[:MOST_SHOWN]
        ],
        "left": _left(found, class_name, features),
        "before": before,
        "after": after,
        "compared": _compared(before, after),
        "partial": found.looked_at < found.of,
        "considered_not": list(CONSIDERED_NOT),
    }


def _namespaces(question: Json) -> Sequence[str] | None:
    value = question.get("namespaces")
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidValue("namespaces must be a list of names.", field="namespaces")
    return value


def _labels(question: Json) -> dict[str, str]:
    value = question.get("node_labels") or {}
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise InvalidValue("node_labels must map labels to values.", field="node_labels")
    return value


def _workload(one: Workload) -> Json:
    return {"namespace": one.namespace, "name": one.name, "units": one.units, "node": one.node}


def _left(found: Shadow, class_name: str, features: Features) -> list[Json]:
    """Misfits of one size have one reason: the funnel on the fleet with everything else placed."""
    sizes = Counter(one.units for one in found.misfits)
    answer: list[Json] = []
    for units, count in sorted(sizes.items(), reverse=True):
        same = [one for one in found.misfits if one.units == units]
        entry: dict[str, Any] = {
            "units": units,
            "count": count,
            "workloads": [_workload(one) for one in same[:SHOWN_NODES]],
        }
        if len(answer) < MOST_FUNNELS:
            claim = as_claim(same[0], class_name)
            entry["funnel"] = funnel_json(explain(found.after, claim, features))
        answer.append(entry)
    return answer


def _fragments(fleet: Fleet, class_name: str, features: Features, deadline: Deadline) -> Json:
    found = fragmentation(
        fleet, features, classes=[class_name], with_moves=False, is_over=deadline.is_over
    )
    return fragments_json(found)


def _compared(before: Json, after: Json) -> list[Json]:
    """Line by line, for a table; None where one side ran out of time."""
    lines = []
    for kind, title in (("groups", _group_title), ("profiles", _profile_title)):
        now, then = ({title(one): one for one in side[kind]} for side in (before, after))
        for name in dict.fromkeys((*now, *then)):
            sizes = [_size(side.get(name)) for side in (now, then)]
            lines.append({"title": name, "before": sizes[0], "after": sizes[1]})
    return lines


def _group_title(group: Json) -> str:
    where = f"of one {group['link']}" if group["link"] else "of one node"
    return f"Largest free group {where}"


def _profile_title(profile: Json) -> str:
    return f"{profile['name']}: how many more fit".capitalize()


def _size(line: Json | None) -> int | None:
    return None if line is None else line.get("size", line.get("fits"))
