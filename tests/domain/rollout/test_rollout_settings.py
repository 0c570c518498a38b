from typing import Any

import pytest

from domain.errors import InvalidValue
from domain.gates import content_of
from domain.gates.templates import TEMPLATES
from domain.rollout.settings import settings_content, settings_from

CACHE = {"name": "cache", "metric": "cache_hit", "ratio_at_least": 0.85}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"steps": []}, "steps"),
        ({"steps": [{"weight": 50}]}, "steps"),  # it would end with the old version at work
        ({"steps": [{"weight": 15}, {"weight": 45}, {"weight": 90}]}, "steps"),
        ({"steps": [{"weight": 50}, {"weight": 50}, {"weight": 100}]}, "steps[1].weight"),
        ({"steps": [{"weight": 50}, {"weight": 20}, {"weight": 100}]}, "steps[1].weight"),
        ({"steps": [{"weight": 101}]}, "steps[0].weight"),
        ({"steps": [{"weight": 100, "hold_seconds": -1}]}, "steps[0].hold_seconds"),
        ({"warm_weight": 10}, "warm_weight"),
        ({"capacity": "by-weight"}, "gates[5].metric"),
        ({"capacity": "by-weight", "gates": [CACHE]}, "gates[0].metric"),
        ({"gates": [CACHE | {"dry_run": True}]}, "gates"),
        ({"gates": "none"}, "gates"),
        ({"step": 1}, "step"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_field(content: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        settings_from(content)
    assert refused.value.field == field


def test_by_weight_wants_limits_that_a_smaller_pool_can_hold() -> None:
    errors = {"name": "errors", "metric": "errors", "at_most": 0.01}
    alone = {"name": "cache", "metric": "cache_hit", "at_least": 0.5}
    for gates in ([errors], [errors, alone], [errors, CACHE | {"dry_run": True}]):
        assert settings_from({"capacity": "by-weight", "gates": gates}).capacity == "by-weight"


def test_what_was_accepted_is_kept_with_every_value_named() -> None:
    found = settings_from({"gates": "quick"})
    assert settings_from(settings_content(found)) == found
    assert settings_content(found)["gates"] == content_of(TEMPLATES["quick"].gates)
