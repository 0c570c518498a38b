"""What deploy/ hands to Prometheus and Grafana is read by the real promtool, and names what is."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from apps.telemetry.exporting import NAMES
from tests.programs import program

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "alerts" / "claimyard.rules.yml"
OWN = re.compile(r"claimyard_[a-z_]+")


def promtool(*args: str, stdin: str = "") -> None:
    done = subprocess.run(
        [program("promtool", "prometheus"), *args],
        cwd=RULES.parent,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.stack
def test_the_rules_are_rules() -> None:
    promtool("check", "rules", "--lint-fatal", RULES.name)


@pytest.mark.stack
def test_the_rules_fire_when_they_should_and_not_before() -> None:
    promtool("test", "rules", "claimyard.test.yml")


@pytest.mark.parametrize("path", [RULES, DEPLOY / "grafana" / "claimyard.json"])
def test_only_metrics_that_the_portal_exports_are_named(path: Path) -> None:
    found = set(OWN.findall(path.read_text()))
    assert found and found <= NAMES.keys()


def test_the_dashboard_shows_the_ten_and_has_no_two_panels_in_one_place() -> None:
    board = json.loads((DEPLOY / "grafana" / "claimyard.json").read_text())
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in board["panels"]]
    assert len(places) == len(set(places)) >= 10
    assert all(one["targets"][0]["expr"] for one in board["panels"])
