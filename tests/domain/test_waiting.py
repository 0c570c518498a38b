"""Each layer says where something that waits stands, by a fact, and the first stuck one is why."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain import waiting
from domain.quota import Line
from domain.waiting import Layer, Offer, Saying, Verdict

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
PASSED, STUCK, NONE = Verdict.PASSED, Verdict.STUCK, Verdict.NONE
OVER = Saying("FailedResourceClaimCreation", "is forbidden: exceeded quota: claimyard", AT)
DENIED = Saying("FailedResourceClaimCreation", "denied the request: selector not approved", AT)


@pytest.mark.parametrize(
    ("layer", "verdict", "said"),
    [
        (waiting.approval([Offer("h100", True, 2, AT, True)]), PASSED, "h100 v2 is approved."),
        (waiting.approval([Offer("h100", True)]), STUCK, "No version of h100 is approved"),
        (waiting.approval([Offer("h100")]), NONE, "not in this portal's catalog"),
        (waiting.approval([Offer("h100", True, 1)]), PASSED, "does not place it in this cluster"),
        (waiting.quota("vision", [Line("h100", 4, 2, 2)], None), PASSED, "2 of 4 charged"),
        (waiting.quota("vision", [Line("h100", 1, 2, 2)], None), STUCK, "2 of 1 charged"),
        (waiting.quota("vision", [Line("h100", None, 0, 0)], None), NONE, "no quota"),
        (waiting.quota("", [], None), NONE, "belongs to no tenant"),
        (waiting.quota("", [], OVER), STUCK, "for lack of quota"),
        (waiting.admission(DENIED, [], ["gpu"]), STUCK, "refused"),
        (waiting.admission(OVER, [], ["gpu"]), NONE, "has not been created yet"),
        (waiting.admission(None, ["kueue.x-k8s.io/admission"], []), STUCK, "kueue"),
        (waiting.admission(None, [], []), PASSED, "Nothing holds it back"),
        (waiting.classes(["a", "b"], {"a"}), STUCK, "no DeviceClass b"),
        (waiting.classes(["a"], {"a"}), PASSED, "a is there"),
        (waiting.classes([], {"a"}), NONE, "no class"),
        (waiting.start("", []), NONE, "no node yet"),
        (waiting.start("n1", [{"state": "running", "ready": True}]), PASSED, "run"),
        (waiting.start("n1", []), NONE, "starting"),
        (
            waiting.start("n1", [{"state": "waiting", "reason": "ContainerCreating"}]),
            NONE,
            "starting",
        ),
        (
            waiting.start("n1", [{"name": "m", "state": "waiting", "reason": "ErrImagePull"}]),
            STUCK,
            "m does not start: ErrImagePull",
        ),
    ],
)
def test_a_layer_passes_only_by_a_fact(layer: Layer, verdict: Verdict, said: str) -> None:
    assert layer.verdict is verdict
    assert said in layer.text
    assert layer.source


def test_what_the_cluster_said_is_kept_with_its_moment() -> None:
    layer = waiting.quota("vision", [Line("h100", 4, 2, 2)], OVER)
    assert (layer.words, layer.at) == (OVER.message, AT)


def funnel(**changes: Any) -> dict[str, Any]:
    found = {
        "request": "gpu",
        "on_nodes": 0,
        "first_empty": "request selectors",
        "problem": "",
        "layers": [
            {"name": "devices", "removed": 0, "detail": ""},
            {"name": "request selectors", "removed": 4, "detail": "memory is 24Gi (4)"},
        ],
    }
    return found | changes


def test_devices_are_stuck_at_the_filter_that_took_the_last_of_them() -> None:
    layer = waiting.devices([funnel(on_nodes=2), funnel()])
    assert layer.verdict is STUCK
    assert "“request selectors” takes away the last 4 devices: memory is 24Gi (4)" in layer.text


def test_devices_that_no_node_has_together_are_said_so() -> None:
    layer = waiting.devices([funnel(first_empty=None)])
    assert (layer.verdict, "together" in layer.text) == (STUCK, True)
    assert waiting.devices([funnel(first_empty=None, on_nodes=1)]).text == "1 node has the devices."


def test_a_node_is_not_blamed_where_devices_are_missing() -> None:
    answer = {"outcome": "no", "fitting": 0, "message": "0/1 nodes are available: 1 x."}
    assert waiting.nodes(answer, has_devices=False).verdict is NONE
    layer = waiting.nodes(answer, has_devices=True)
    assert (layer.verdict, layer.words) == (STUCK, answer["message"])
    assert waiting.nodes({"outcome": "fits", "fitting": 2}, True).text == "2 nodes take it now."


def test_the_first_that_is_stuck_is_the_reason() -> None:
    layers = [
        waiting.approval([Offer("h100", True, 1)]),
        waiting.quota("", [], OVER),
        waiting.classes(["b"], {}),
    ]
    stuck = waiting.first_stuck(layers)
    assert stuck is not None
    assert stuck.name == "Quota"
    assert waiting.first_stuck(layers[:1]) is None
