"""The report of a migration in words, from the content of its evidence and from nothing else: what
a page shows is what was signed."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.rollout.preflight import Blocks

Json = dict[str, Any]
#: What only names others' workloads, which a tenant has no business with.
_OF_OTHERS = ("foreign", "strangers")
_ENDINGS = {
    "done": "ended: everything runs on the new path",
    "rolled-back": "was rolled back: everything runs on the old path again",
    "left": "was left as it stood",
    "failed": "failed",
}


def narrowed(content: Json) -> Json:
    """The part of it that is the tenant's own: without workloads and nodes of others."""
    studies = {
        kind: narrowed_study(kind, study) if study is not None else None
        for kind, study in content["studies"].items()
    }
    own = [one | {"nodes": []} for one in content["workloads"] if one["is_managed"]]
    return content | {"workloads": own, "studies": studies, "nodes": [], "is_narrowed": True}


def narrowed_study(kind: str, study: Json) -> Json:
    """A study without what names nodes or others' workloads."""
    if kind == "preflight":
        found = [
            one
            for one in study.get("findings", ())
            if one["code"] not in _OF_OTHERS and one["blocks"] != Blocks.NODES
        ]
        return study | {"findings": found}
    if kind == "shadow":
        found = [one for one in study.get("workloads", ()) if not one["key"].startswith("recent: ")]
        return study | {"workloads": found}
    return {key: value for key, value in study.items() if key not in ("nodes", "mapping")}


def headline(content: Json) -> str:
    """One sentence on how it ended."""
    migration = content["migration"]
    state = str(migration["state"])
    ending = _ENDINGS.get(state, f"is under way ({state})")
    why = _cause(content) if state in ("rolled-back", "failed", "left") else ""
    return f"{migration['name']} {ending}.{f' Why: {why}' if why else ''}"


def _cause(content: Json) -> str:
    """What led to that end: the decision that turned it, else the last word."""
    turns = ("roll-back", "rolled back", "fail", "leave", "left")
    found = next((one for one in content["decisions"] if one["action"] in turns), None)
    return str(found["reason"] if found is not None else content["migration"]["reason"])


def answers(content: Json) -> list[Json]:
    """The three questions that anybody asks, answered from the figures."""
    return [
        {"question": "What did the move change?", "answer": _changes(content["comparison"])},
        {
            "question": "Could we go back today, and how long would it take?",
            "answer": _way_back(content),
        },
        {"question": "Who decided?", "answer": _people(content["decisions"])},
    ]


def _changes(comparison: Sequence[Json]) -> str:
    lines = [line for one in comparison for line in one["lines"]]
    by_verdict: dict[str, list[str]] = {}
    for line in lines:
        by_verdict.setdefault(line["verdict"], []).append(_title(line))
    if not set(by_verdict) - {"unknown"}:
        return "Nothing can be said: no figure was kept for both paths."
    parts = []
    for verdict, words in (("worse", "Worse"), ("better", "Better")):
        if found := by_verdict.get(verdict):
            parts.append(f"{words}: {', '.join(dict.fromkeys(found))}.")
    if same := by_verdict.get("same"):
        parts.append(f"The same within 5 %: {len(same)} of {len(lines)} figures.")
    if unknown := by_verdict.get("unknown"):
        parts.append(f"Not known: {len(unknown)}.")
    return " ".join(parts)


def _title(line: Mapping[str, Any]) -> str:
    change = line["change_percent"]
    title = str(line["title"])
    title = title[0].lower() + title[1:]
    return title if change is None else f"{title} ({change:+.0f} %)"


def _way_back(content: Json) -> str:
    seconds, says = content["rollback"]["seconds"], content["rollback"]["says"]
    phases = {one["phase"] for one in content["workloads"] if one["way"] == "claims"}
    state = content["migration"]["state"]
    measured = f"{seconds:.0f} s, as measured by {says}" if seconds is not None else says
    if state == "rolled-back":
        return f"It went back already, in {measured}."
    if phases & {"retiring", "retired"}:
        return "No: the old path is retired. Going back is a migration of its own."
    if seconds is None:
        return f"The old pools are still there, but how long it takes is not known: {says}."
    return f"Yes, in {measured}."


def _people(decisions: Sequence[Json]) -> str:
    machine = sum(1 for one in decisions if one["by"] == "claimyard" and is_act(one))
    by_person: dict[str, list[str]] = {}
    for one in decisions:
        if one["by"] != "claimyard":
            by_person.setdefault(one["by"], []).append(one["action"])
    people = "; ".join(f"{who}: {', '.join(dict.fromkeys(did))}" for who, did in by_person.items())
    return f"{people or 'No person'}. The portal itself took {machine} steps."


def is_act(decision: Mapping[str, Any]) -> bool:
    """Whether it changed something, or tried to; waiting is no act."""
    return decision["action"] not in ("wait", "nothing") or bool(decision["problem"])


def timeline(content: Json) -> list[Json]:
    """Decisions that changed something, in their order."""
    return [one for one in content["decisions"] if is_act(one)]


_LOOKS = {
    "blocker": "fail",
    "warning": "degraded",
    "unknown": "unknown",
    "ok": "pass",
    "same": "pass",
    "weaker": "degraded",
    "missing": "fail",
    "better": "pass",
    "worse": "fail",
    "fits": "pass",
    "partly": "degraded",
    "not": "fail",
    "refused": "refused",
    "accepted": "pass",
    "no-permission": "unknown",
    "error": "unknown",
    "claims": "pass",
    "bridge": "pass",
    "none": "blocked",
    "not-supported": "blocked",
    "waiting": "waiting",
    "running": "progressing",
    "blocked": "fail",
    "done": "pass",
    "failed": "fail",
    "measured": "pass",
}


def look(word: str) -> str:
    """The word of a state whose icon and colour fit."""
    return _LOOKS.get(word, "unknown")
