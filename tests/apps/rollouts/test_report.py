"""The report in words, from content alone."""

from typing import Any

from apps.rollouts import report
from domain.evidence import Line, settled


def decision(action: str, reason: str, by: str = "claimyard", times: int = 1) -> dict[str, Any]:
    return {"action": action, "reason": reason, "by": by, "times": times, "problem": ""}


def line(key: str, old: float | None, new: float | None, **changes: Any) -> dict[str, Any]:
    return Line(key, key.title(), "s", changes.get("better", "lower"), old, new).as_dict()


def content(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "migration": {"name": "move", "state": "rolled-back", "reason": "as before"},
        "workloads": [{"phase": "back", "way": "claims", "is_managed": True}],
        "comparison": [{"lines": [line("latency", 1.0, 2.0), line("wait", 1.0, 1.01)]}],
        "rollback": {"seconds": 42.0, "says": "the rollback of this migration"},
        "decisions": [
            decision("started", "Started.", by="ada"),
            decision("wait", "no", times=9),
            decision("roll-back", "the gate failed"),
        ],
        "studies": {"plan": None, "preflight": None, "shadow": None},
        "nodes": ["n1"],
    }
    return found | changes


def texts(found: dict[str, Any]) -> list[str]:
    return [one["answer"] for one in report.answers(found)]


def test_a_rollback_tells_its_cause_not_its_last_word() -> None:
    assert report.headline(content()).endswith("Why: the gate failed")


def test_the_three_answers() -> None:
    change, back, who = texts(content())
    assert change == "Worse: latency (+100 %). The same within 5 %: 1 of 2 figures."
    assert back == "It went back already, in 42 s, as measured by the rollback of this migration."
    assert who == "ada: started. The portal itself took 1 steps."


def test_without_figures_nothing_is_said_to_be_fine() -> None:
    found = content(comparison=[{"lines": [line("latency", None, 2.0)]}])
    assert texts(found)[0].startswith("Nothing can be said")


def test_going_back_is_open_until_the_old_path_is_retired() -> None:
    running = {"name": "move", "state": "waiting", "reason": ""}
    drilled = content(migration=running)
    assert texts(drilled)[1].startswith("Yes, in 42 s")
    unknown = content(migration=running, rollback={"seconds": None, "says": "no drill has passed"})
    assert "is not known" in texts(unknown)[1]
    gone = content(migration=running, workloads=[{"phase": "retired", "way": "claims"}])
    assert texts(gone)[1].startswith("No: the old path is retired")


def test_a_figure_is_better_by_its_direction() -> None:
    assert line("hit", 0.5, 0.7, better="higher")["verdict"] == "better"
    assert line("hit", 0.7, 0.5, better="higher")["verdict"] == "worse"
    assert line("errors", 0.0, 0.0)["verdict"] == "same"
    assert line("errors", 0.0, 0.1)["verdict"] == "worse"


def test_numbers_survive_other_readers() -> None:
    assert settled({"a": 1.0, "b": [0.1 + 0.2], "c": float("inf"), 1: None}) == {
        "a": 1,
        "b": [0.3],
        "c": "inf",
        "1": None,
    }


def test_a_tenants_part_names_no_others() -> None:
    studies = {
        "plan": {"nodes": ["n1"], "mapping": [], "summary": "s"},
        "preflight": {
            "findings": [
                {"code": "foreign", "blocks": "move"},
                {"code": "driver", "blocks": "nodes"},
                {"code": "quota", "blocks": "move"},
            ]
        },
        "shadow": {"workloads": [{"key": "recent: labs/x"}, {"key": "a/b"}]},
    }
    found = report.narrowed(content(studies=studies))
    assert found["studies"]["plan"] == {"summary": "s"}
    assert found["studies"]["preflight"]["findings"] == [{"code": "quota", "blocks": "move"}]
    assert found["studies"]["shadow"]["workloads"] == [{"key": "a/b"}]
    assert found["nodes"] == []
