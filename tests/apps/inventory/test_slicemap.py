"""The picture of a node: which blocks, where, and in words too."""

import re

import pytest

from apps.inventory.models import Device, Node
from apps.inventory.selectors import devices_on, natural
from apps.inventory.slicemap import PLOT_LEFT, PLOT_WIDTH, slicemap
from tests.apps.inventory.conftest import Told
from tests.domain.inventory import fleets
from tests.workers import fleet

pytestmark = pytest.mark.django_db
SLOT = PLOT_WIDTH / 8


def blocks(picture: str) -> list[tuple[str, int, int]]:
    """(kind, first memory slice, number of slices) of every block drawn."""
    pattern = r'class="slicemap-block fill-([a-z]+)" x="([0-9.]+)" y="[0-9]+" width="([0-9.]+)"'
    return [
        (kind, round((float(x) - PLOT_LEFT - 1) / SLOT), round((float(width) + 2) / SLOT))
        for kind, x, width in re.findall(pattern, picture)
    ]


def published(device: object) -> dict:
    """A domain device as its driver would publish it."""
    from domain.devices import Device as Published

    assert isinstance(device, Published)
    told = {
        "type": device.type,
        "uuid": device.uuid,
        "parentUUID": device.parent,
        "profile": device.profile,
        "resource.kubernetes.io/pciBusID": device.pci_bus_id,
    }
    return {
        "name": device.name,
        "attributes": {name: {"string": value} for name, value in told.items() if value},
        "consumesCounters": [
            {
                "counterSet": use.counter_set,
                "counters": {name: {"value": str(amount)} for name, amount in use.counters},
            }
            for use in device.consumes
        ],
    }


@pytest.fixture
def cut(told: Told) -> Told:
    """One H100 that may be cut up, with a 1g and a 3g partition taken."""
    counters, devices = fleets.cuttable()
    part = fleet.resource_slice("n1", cards=0)
    part["spec"]["devices"] = [published(one) for one in devices]
    part["spec"]["sharedCounters"] = [
        {"name": counters.name, "counters": {n: {"value": str(v)} for n, v in counters.counters}}
    ]
    taken = ["gpu-0-mig-1g10gb-19-1", "gpu-0-mig-3g40gb-9-4"]
    held = fleet.claim("c") | {"status": fleet.allocation("n1", *taken)}
    told.listed(nodes=[fleet.node("n1")], resourceslices=[part], resourceclaims=[held])
    return told


def test_partitions_lie_where_their_names_say(cut: Told) -> None:
    picture = slicemap(devices_on(cut.cluster, "n1"))
    assert picture.count('class="slicemap-card"') == 1
    assert blocks(picture) == [("dra", 1, 1), ("dra", 4, 4)]


def test_what_no_longer_fits_is_blocked_and_counted_apart(cut: Told) -> None:
    states = dict(Device.objects.values_list("name", "state"))
    assert states["gpu-0"] == "blocked" and states["gpu-0-mig-3g40gb-9-0"] == "blocked"
    assert states["gpu-0-mig-1g10gb-19-0"] == "free"
    further = {unit["name"]: unit["further"] for unit in Node.objects.get().units}
    assert further["3g.40gb"] == 0 and further["1g.10gb"] == 3


def labels(picture: str, kind: str) -> list[str]:
    return re.findall(rf'class="slicemap-{kind}"[^>]*>([^<]*)</text>', picture)


def test_a_card_of_partitions_bears_its_own_name_and_its_parts_their_sizes(told: Told) -> None:
    part = fleet.resource_slice("n1", cards=0)
    layout = [("1g.10gb", 0), ("1g.10gb", 1), ("2g.20gb", 2), ("3g.40gb", 4)]
    part["spec"]["devices"] = [published(fleets.mig(0, *one)) for one in layout]
    told.listed(nodes=[fleet.node("n1")], resourceslices=[part])
    picture = slicemap(devices_on(told.cluster, "n1"))
    assert labels(picture, "name") == ["gpu-0"]
    assert labels(picture, "label") == ["1g", "1g", "2g.20gb", "3g.40gb"]
    assert 'aria-label="1 card: gpu-0 free"' in picture


def test_a_card_of_four_memory_slices_is_drawn_in_quarters(told: Told) -> None:
    part = fleet.resource_slice("n1", cards=0)
    layout = [("1g.6gb", 0), ("1g.6gb", 1), ("2g.12gb", 2)]
    devices = [published(fleets.mig(0, *one)) for one in layout]
    for device in devices:
        device["attributes"]["productName"] = {"string": "NVIDIA A30"}
    part["spec"]["devices"] = devices
    told.listed(nodes=[fleet.node("n1")], resourceslices=[part])
    picture = slicemap(devices_on(told.cluster, "n1"))
    assert blocks(picture) == [("free", 0, 2), ("free", 2, 2), ("free", 4, 4)]
    assert picture.count('class="slicemap-slot"') == 4


def test_whole_cards_fill_their_place(fleet_told: Told) -> None:
    picture = slicemap(devices_on(fleet_told.cluster, "n1"))
    assert blocks(picture) == [("dra", 0, 8), *[("free", 0, 8)] * 7]


def test_a_plugins_cards_are_drawn_by_their_numbers(fleet_told: Told) -> None:
    picture = slicemap(devices_on(fleet_told.cluster, "n2"))
    assert [kind for kind, _, _ in blocks(picture)] == ["plugin", "plugin", "free", "free"]


def test_hostile_words_are_escaped(fleet_told: Told) -> None:
    Device.objects.filter(name="gpu-0").update(holder='a"><script>/x', product="<b>")
    picture = slicemap(devices_on(fleet_told.cluster, "n1"))
    assert "<script>" not in picture and "<b>" not in picture


def test_nothing_is_drawn_of_nothing() -> None:
    assert slicemap([]) == ""


def test_names_sort_as_people_count() -> None:
    assert sorted(["gpu-10", "gpu-9", "gpu-1", "a"], key=natural) == [
        "a",
        "gpu-1",
        "gpu-9",
        "gpu-10",
    ]
