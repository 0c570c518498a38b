"""Requests on real parts follow the weights, and what is measured says so."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from domain import routing
from domain.figures import State
from tests.datapath.conftest import Carried

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]


def test_what_is_measured_is_what_was_wished_and_what_callers_saw(path: Carried) -> None:
    """One tenth to the pool on claims: by Envoy, as callers count, and as the portal measures."""
    path.sent(20)  # the first request of all makes the counters
    path.weights(main=90, dra=10)
    began = timezone.now()
    seen, _ = path.sent(600)

    assert seen["codes"] == {"200": 600}
    true = seen["pools"].get("dra", 0) / 600
    assert routing.follows(0.1, true, 600)
    # Prometheus extends what it saw to both ends of the window, by a scrape at most: 1 of 30.
    while timezone.now() - began < timedelta(seconds=30):
        time.sleep(1)
    share = path.share(began)
    assert share["dra"].state is State.LIVE, share
    assert "Counted by the gateway" in share["dra"].detail
    assert abs((share["dra"].value or 0) - true) < 0.03
    assert share["dra"].total == pytest.approx(600, rel=0.05)
