"""A new version is judged by the devices that it matches and by claims that start anew."""

from typing import Any

from domain.placement import Features, Fleet, Upsert, apply
from domain.placement.renewals import Renewal, difference, renew
from tests.domain.placement.fleets import (
    DRIVER,
    Raw,
    allocated,
    claim,
    device,
    device_class,
    node,
    published,
    request,
    result,
    selecting,
)

RUNNING = Features.preset("1.37")


def at_least(amount: str) -> str:
    return f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{amount}")) >= 0'


def fleet_of(*objects: Raw) -> Fleet:
    devices = published(device("large", memory="80Gi"), device("small", memory="24Gi"))
    return Fleet.build([node("node-0"), device_class(), devices, *objects])


def with_class(fleet: Fleet, expression: str) -> Fleet:
    body: dict[str, Any] = dict(device_class())
    body["spec"] = {"selectors": selecting(expression)}
    return apply(fleet, Upsert(body))


def renewed(fleet: Fleet, later: Fleet) -> list[Renewal]:
    asked = [(held, held.raw) for held in fleet.claims.values()]
    return list(renew(later, RUNNING, asked))


def test_lost_and_gained_devices_are_counted_and_named() -> None:
    fleet = fleet_of()
    found = difference(fleet, [at_least("40Gi")], [at_least("1Gi")])
    assert (found.before, found.after, found.lost_count, found.gained_count) == (1, 2, 0, 1)
    assert [one.device for one in found.gained] == ["small"]
    back = difference(fleet, [at_least("1Gi")], [at_least("40Gi")])
    assert [one.device for one in back.lost] == ["small"]


def test_a_selector_that_fails_matches_nothing() -> None:
    found = difference(fleet_of(), ["true"], ['device.attributes["x"].y == 1'])
    assert (found.after, found.lost_count) == (0, 2)
    assert difference(fleet_of(), ["true"], ["no CEL ("]).after == 0


def test_a_claim_keeps_fitting_on_its_own_device_if_that_still_matches() -> None:
    fleet = fleet_of(allocated("held", result("large")), allocated("other", result("small")))
    found = renewed(fleet, with_class(fleet, at_least("40Gi")))
    assert [(one.claim, one.outcome) for one in found] == [
        ("default/held", "fits"),
        ("default/other", "nowhere"),
    ]
    assert found[1].reason


def test_a_claim_whose_device_is_lost_may_find_another() -> None:
    fleet = fleet_of(allocated("other", result("small")))
    (found,) = renewed(fleet, with_class(fleet, at_least("40Gi")))
    assert (found.outcome, found.is_allocated) == ("fits", True)


def test_a_claim_that_waits_is_tried_too() -> None:
    fleet = fleet_of(claim("waits", request(count=2)))
    (found,) = renewed(fleet, with_class(fleet, at_least("40Gi")))
    assert (found.outcome, found.is_allocated) == ("nowhere", False)


def test_what_cannot_be_asked_for_any_more_says_why() -> None:
    fleet = fleet_of(allocated("held", result("large")))
    (held,) = fleet.claims.values()
    (found,) = renew(fleet, RUNNING, [(held, "This pattern has no parameter 'size'.")])
    assert (found.outcome, found.reason) == ("refused", "This pattern has no parameter 'size'.")


def test_more_devices_than_a_claim_holds_are_put_to_the_engine() -> None:
    fleet = fleet_of(allocated("held", result("large")))
    (held,) = fleet.claims.values()
    (found,) = renew(fleet, RUNNING, [(held, claim("held", request(count=3)))])
    assert found.outcome == "nowhere"


def test_the_time_ends_the_list_and_not_an_answer() -> None:
    fleet = fleet_of(allocated("a", result("large")), allocated("b", result("small")))
    asked = [(held, held.raw) for held in fleet.claims.values()]
    over = iter([False, True])
    assert len(list(renew(fleet, RUNNING, asked, lambda: next(over)))) == 1
