"""A claim that the API server would refuse is refused here, too: it must not read as fitting."""

from typing import Any

import pytest

from apps.placement import asking
from domain.errors import InvalidValue
from domain.placement.asked import read_claim

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("exactly", "why"),
    [
        ({"count": -3}, "count must be greater than zero"),
        ({"count": "-1"}, "count must be greater than zero"),
        ({"count": True}, "count must be a whole number"),
        ({"count": 1.5}, "count must be a whole number"),
        ({"count": 999999}, "count must be greater than zero and at most"),
        ({"allocationMode": "All", "count": 2}, "must not be given with allocationMode All"),
        ({"zork": 1}, "requests[0] has no field zork"),
    ],
)
def test_what_the_api_server_refuses_is_not_asked(exactly: Json, why: str) -> None:
    body = {"deviceClassName": "gpu", **exactly}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": body}]}}
    with pytest.raises(InvalidValue) as refusal:
        asking.claim_from({"spec": spec})
    assert why in str(refusal.value)


def test_a_count_of_zero_is_the_default_as_for_the_api_server() -> None:
    body = {"deviceClassName": "gpu", "count": 0}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": body}]}}
    claim = read_claim(asking.claim_from({"spec": spec}))
    assert claim.lines[0].alternatives[0].count == 1
