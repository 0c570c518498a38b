"""Faults strike where and as often as they are told, and no more."""

import http.client
import threading

import pytest

from simulator.apiserver import Fault, Server
from tests.contract.client import Client
from tests.contract.objects import config_map, config_maps

PATH = config_maps("default")


@pytest.fixture
def api(simulated: Server) -> Client:
    simulated.faults.clear()
    client = Client(simulated.kubeconfig)
    client.delete(PATH)
    return client


def test_too_many_requests_says_when_to_come_back(simulated: Server, api: Client) -> None:
    simulated.faults.add(Fault("429", match=f"GET {PATH}", times=2, seconds=3))
    for _ in range(2):
        answer = api.get(PATH)
        assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
        assert answer.body["details"] == {"retryAfterSeconds": 3}
    assert api.get(PATH).status == 200


def test_a_slow_answer_keeps_nobody_else_waiting(simulated: Server, api: Client) -> None:
    simulated.faults.add(Fault("latency", match=f"GET {PATH}", seconds=0.5))
    answered: list[str] = []

    def ask() -> None:
        api.get(PATH)
        answered.append("slow")

    slow = threading.Thread(target=ask)
    slow.start()
    while simulated.faults.listed():  # until the fault has struck
        pass
    api.get("/api/v1/nodes")
    answered.append("fast")
    slow.join()
    assert answered == ["fast", "slow"]


def test_a_fault_can_let_requests_pass_first(simulated: Server, api: Client) -> None:
    simulated.faults.add(Fault("500", match="GET *", after=1))
    assert [api.get(PATH).status for _ in range(3)] == [200, 500, 200]


def test_a_fault_strikes_only_what_it_matches(simulated: Server, api: Client) -> None:
    simulated.faults.add(Fault("500", match="GET /api/v1/pods", times=-1))
    assert api.get(PATH).status == 200
    assert api.get("/api/v1/pods").status == 500
    assert api.get("/api/v1/pods").status == 500


def test_a_token_can_expire(simulated: Server, api: Client) -> None:
    simulated.faults.add(Fault("expired-token"))
    assert api.get(PATH).status == 401
    assert api.get(PATH).status == 200


def test_a_write_can_meet_a_conflict(simulated: Server, api: Client) -> None:
    api.create(PATH, config_map("a"))
    simulated.faults.add(Fault("conflict", match=f"PATCH {PATH}/*"))
    answer = api.patch(f"{PATH}/a", {"data": {"x": "1"}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert "data" not in api.get(f"{PATH}/a").body


def test_the_server_can_be_away(simulated: Server, api: Client) -> None:
    simulated.faults.add(Fault("away", match=f"GET {PATH}"))
    with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
        api.get(PATH)
    assert api.get(PATH).status == 200


def test_a_watch_can_be_dropped(simulated: Server, api: Client) -> None:
    revision = api.get(PATH).body["metadata"]["resourceVersion"]
    simulated.faults.add(Fault("drop-watch", match=f"WATCH {PATH}", seconds=0.05))
    with (
        api.watch(PATH, resourceVersion=revision) as watch,
        pytest.raises((ConnectionError, http.client.IncompleteRead, AssertionError)),
    ):
        watch.next()
    with api.watch(PATH, resourceVersion=revision) as watch:
        api.create(PATH, config_map("a"))
        assert watch.seen(1) == [("ADDED", "a")]


def test_open_watches_are_dropped_too(simulated: Server, api: Client) -> None:
    revision = api.get(PATH).body["metadata"]["resourceVersion"]
    for kind in ("drop-watch", "away"):
        with api.watch(PATH, resourceVersion=revision) as watch:
            simulated.faults.add(Fault(kind, match=f"WATCH {PATH}"))
            with pytest.raises((ConnectionError, http.client.IncompleteRead, AssertionError)):
                watch.next()
        simulated.faults.clear()


def test_a_watch_can_break_within_an_event(simulated: Server, api: Client) -> None:
    revision = api.get(PATH).body["metadata"]["resourceVersion"]
    simulated.faults.add(Fault("half-watch", match=f"WATCH {PATH}"))
    with api.watch(PATH, resourceVersion=revision) as watch:
        api.create(PATH, config_map("a", x="y" * 100))
        with pytest.raises((ValueError, ConnectionError, http.client.IncompleteRead)):
            watch.next()


def test_a_watch_can_be_told_that_it_is_too_old(simulated: Server, api: Client) -> None:
    revision = api.get(PATH).body["metadata"]["resourceVersion"]
    simulated.faults.add(Fault("410", match=f"WATCH {PATH}"))
    with api.watch(PATH, resourceVersion=revision) as watch:
        assert watch.next()["object"]["code"] == 410


def test_forgotten_history_expires_watches_and_pages(simulated: Server, api: Client) -> None:
    for name in ("a", "b", "c"):
        api.create(PATH, config_map(name))
    page = api.get(PATH, limit=1).body["metadata"]
    old = page["resourceVersion"]
    api.patch(f"{PATH}/a", {"data": {"x": "1"}})
    simulated.forget_history()
    with api.watch(PATH, resourceVersion=old) as watch:
        assert watch.next()["object"]["code"] == 410
    answer = api.get(PATH, limit=1, **{"continue": page["continue"]})
    assert (answer.status, answer.body["reason"]) == (410, "Expired")
    going_on = answer.body["metadata"]["continue"]
    rest = api.get(PATH, **{"continue": going_on}).body["items"]
    assert [item["metadata"]["name"] for item in rest] == ["b", "c"]


def test_faults_can_be_set_over_http(simulated: Server, api: Client) -> None:
    made = api.create("/simulator/faults", {"kind": "500", "match": f"GET {PATH}", "times": 1})
    assert made.status == 200 and len(made.body["faults"]) == 1
    assert api.get(PATH).status == 500
    api.create("/simulator/faults", {"kind": "500", "times": -1})
    assert api.delete("/simulator/faults").body == {"faults": []}
    assert api.get(PATH).status == 200


def test_an_unknown_fault_is_refused(api: Client) -> None:
    answer = api.create("/simulator/faults", {"kind": "flood"})
    assert answer.status == 400 and "known are: latency, 429" in answer.message
