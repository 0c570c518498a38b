"""What is scattered now, and what a new version of a class or pattern would change."""

from typing import Any

import pytest

from tests.workers.placement.test_placement_why import answered
from tests.workers.placement.test_placement_worker import (
    DRIVER,
    Mirror,
    ask,
    held_claim,
    mirror,
    service,
)

__all__ = ["mirror", "service"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("service")]
Json = dict[str, Any]


def test_fragments_are_told_of_one_class_or_of_all(mirror: Mirror) -> None:
    found = answered(mirror, "fragments", {"class": "gpu"})
    assert (found["cards"], found["free"], found["partial"]) == (2, 2, False)
    assert found["groups"][0] == {
        "class": "gpu",
        "link": "",
        "size": 2,
        "node": "n1",
        "is_sure": True,
    }
    assert answered(mirror, "fragments", {})["groups"] == found["groups"]
    assert "no device class x" in ask(mirror, "fragments", {"class": "x"}).problem


def test_a_new_version_of_a_class_says_which_claims_it_would_leave_without_devices(
    mirror: Mirror,
) -> None:
    mirror.put("resourceclaims", held_claim())
    is_driver = f'device.driver == "{DRIVER}"'
    small = 'device.capacity["d.example"].memory.compareTo(quantity("50Gi")) < 0'
    small = small.replace("d.example", DRIVER)
    question = {"class": "gpu", "before": [is_driver], "after": [is_driver, "false"]}
    found = answered(mirror, "compare-class", question)
    assert (found["before"]["matches"], found["after"]["matches"]) == (2, 0)
    assert found["devices"]["lost"] == 2
    assert found["claims"]["lost_sample"][0]["claim"] == "vision/c1"
    found = answered(mirror, "compare-class", question | {"after": [is_driver, small]})
    assert found["devices"]["lost_sample"] == [f"{DRIVER}/n1/gpu-0"]
    assert (found["claims"]["of"], found["claims"]["lost"], found["claims"]["fit"]) == (1, 0, 1)


CARDS: Json = {
    "parameters": [{"name": "count", "kind": "count", "default": 1, "most": 4}],
    "requests": [{"name": "gpu", "device_class": "gpu", "count_parameter": "count"}],
}


def test_a_new_version_of_a_pattern_is_tried_with_the_values_of_its_claims(mirror: Mirror) -> None:
    held = held_claim()
    exactly = held["spec"]["devices"]["requests"][0]["exactly"]
    exactly |= {"allocationMode": "ExactCount", "count": 1}
    mirror.put("resourceclaims", held)
    after = {**CARDS, "parameters": [{**CARDS["parameters"][0], "least": 2, "default": 2}]}
    question = {"before": CARDS, "after": after, "class_selectors": {"gpu": ["true"]}}
    found = answered(mirror, "compare-pattern", question)
    (lost,) = found["claims"]["lost_sample"]
    assert "1 is not within 2 and 4" in lost["reason"]
    assert found["devices"] == {"lost": 0, "lost_sample": [], "gained": 0, "gained_sample": []}
