import json
from typing import Any

from tests.oracle import random_cases
from tests.oracle.shrinking import shrunk


def tainted(case: dict[str, Any]) -> bool:
    return any(
        device.get("taints") for one in case["slices"] for device in one["spec"].get("devices", ())
    )


def test_a_failing_case_loses_all_that_it_can_and_still_fails() -> None:
    case = next(one for one in random_cases.cases(50) if tainted(one))
    small = shrunk(case, tainted)
    assert tainted(small)
    assert len(json.dumps(small)) < len(json.dumps(case)) / 4
    (only,) = small["slices"]
    assert len(only["spec"]["devices"]) == 1


def test_the_given_case_is_left_as_it_was() -> None:
    case = next(one for one in random_cases.cases(50) if tainted(one))
    before = json.dumps(case)
    shrunk(case, tainted)
    assert json.dumps(case) == before


def test_one_seed_is_one_case() -> None:
    assert list(random_cases.cases(5, 7)) == list(random_cases.cases(5, 7))
    assert random_cases.case(7) != random_cases.case(8)
