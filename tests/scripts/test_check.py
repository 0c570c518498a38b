"""`make check` runs every check, says of each whether it holds, and fails when one does not."""

import sys
from pathlib import Path

import pytest

from scripts import check, settings, sizes


def one(name: str, program: str) -> check.Check:
    return check.Check(name, (sys.executable, "-c", program))


def test_all_run_even_when_one_fails_and_the_failing_ones_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        check,
        "checks",
        lambda: [one("first", "exit('line 7 is too long')"), one("second", "pass")],
    )
    monkeypatch.setattr(sys, "argv", ["check.py"])
    with pytest.raises(SystemExit, match="1 of 2 failed: first"):
        check.main()
    said = capsys.readouterr().out
    assert "FAILED  first" in said and "line 7 is too long" in said and "ok  second" in said


def test_a_tool_that_is_missing_is_a_failure_with_advice() -> None:
    status, output = check.outcome(check.Check("lost", ("/nowhere/tool",)))
    assert status and "/nowhere/tool is missing: run `make setup`" in output


def test_files_and_functions_that_are_too_long_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "ROOT", tmp_path)
    path = tmp_path / "long.py"
    path.write_text("def f() -> None:\n" + "    x = 1\n" * 401)
    assert sizes.faults(path) == [
        "long.py: 402 lines, more than 400",
        "long.py:1: f has 402 lines",
    ]


def test_every_setting_has_a_row() -> None:
    from portal import env

    table = settings.table()
    assert all(f"| `{setting.name}`" in table for setting in env.KNOWN.values())


def test_a_variable_that_nobody_documented_is_found() -> None:
    assert "CLAIMYARD_LISTEN" in settings.undocumented("nothing is documented here")
