"""Scenario files: what they may say and how a mistake is answered."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator.fleet.scenario import FOLDER, load, names, parse
from simulator.fleet.settings import BadScenario, seconds

NODE = {"name": "n", "model": "h100-sxm", "cards": 2, "allocation": "dra"}


def test_the_example_of_the_readme_is_a_scenario() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    assert len(parse(yaml.safe_load(example), "readme").faults) == 7


@pytest.mark.parametrize("name", names())
def test_every_scenario_loads(name: str) -> None:
    assert load(name).nodes


def test_the_demo_shows_every_way_to_offer_devices() -> None:
    nodes = load("demo").nodes
    assert len(nodes) == 12
    assert {node.allocation for node in nodes} == {"dra", "device-plugin", "both"}
    assert {node.mig for node in nodes} == {"none", "partitions", "mixed"}
    assert any(node.replicas == 4 for node in nodes)
    assert any(node.sick for node in nodes)


def test_seed_and_speed_can_be_given_instead() -> None:
    scenario = load("small", seed=99, speed=3)
    assert (scenario.seed, scenario.speed) == (99, 3)


def test_a_count_makes_numbered_nodes() -> None:
    scenario = parse({"nodes": [NODE | {"name": "a-{n}", "count": 3}]}, "s")
    assert [node.name for node in scenario.nodes] == ["a-1", "a-2", "a-3"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": "h1000"}, r"s.nodes\[0\].model: 'h1000' is not one of h100-sxm"),
        ({"cards": 0}, r"s.nodes\[0\].cards: expected a whole number ≥ 1, found 0"),
        ({"cards": True}, "expected a whole number"),
        ({"colour": "red"}, r"s.nodes\[0\]: unknown key colour"),
        ({"count": 2}, "needs {n}"),
        ({"model": "l40s", "mig": "mixed"}, "NVIDIA L40S has no MIG"),
        ({"mig": "mixed", "layout": [["1g.10gb"]]}, "one list of profiles for each card"),
        ({"mig": "mixed", "layout": [["9g.1gb"], []]}, r"layout\[0\]: '9g.1gb' is not one of"),
        ({"layout": [[], ["1g.10gb"]]}, "only with mig mixed or single"),
        ({"sick": [{"card": 2}]}, "the node has cards 0 to 1"),
        ({"labels": ["a"]}, "expected a table, found a list"),
    ],
)
def test_a_wrong_node_is_refused_with_its_place(change: dict[str, Any], says: str) -> None:
    with pytest.raises(BadScenario, match=says):
        parse({"nodes": [NODE | change]}, "s")


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (None, "s: expected a table, found nothing"),
        ({"nodes": 3}, "s.nodes: expected a list"),
        ({"nodes": [{}]}, r"s.nodes\[0\]: name is missing"),
        ({"nodes": [NODE, NODE]}, "two nodes are called n"),
        ({"faults": [{"at": "soon", "kind": "api"}]}, "'soon' is no duration; write 90"),
        ({"faults": [{"at": 1, "kind": "card-sick", "node": "x"}]}, "there is no node x"),
        ({"faults": [{"at": 1, "kind": "fire"}]}, "'fire' is not one of card-sick"),
        ({"manifests": [{"kind": "Pod"}]}, "needs apiVersion, kind and metadata"),
        ({"traffic": [{"rate": -1}]}, "expected a number"),
        ({"weather": "fine"}, "s: unknown key weather"),
    ],
)
def test_a_wrong_document_is_refused_with_its_place(document: object, says: str) -> None:
    with pytest.raises(BadScenario, match=says):
        parse(document, "s")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BadScenario, match=r"no scenario .nope.; there are: .*demo"):
        load("nope")


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("nodes: [", encoding="utf-8")
    with pytest.raises(BadScenario, match=r"broken\.yaml"):
        load(str(path))


def test_a_speed_of_nothing_is_refused() -> None:
    with pytest.raises(BadScenario, match="speed must be above 0"):
        load("small", speed=0)


@pytest.mark.parametrize(
    ("text", "value"), [(90, 90), ("1.5s", 1.5), ("2m30s", 150), ("250ms", 0.25), ("1d", 86400)]
)
def test_durations(text: object, value: float) -> None:
    assert seconds(text, "x") == value


@pytest.mark.parametrize("text", ["", "1", "5 minutes", "-3s", True, None])
def test_what_is_no_duration(text: object) -> None:
    with pytest.raises(BadScenario):
        seconds(text, "x")
