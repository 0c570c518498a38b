"""Hours of devices, charged by their part of a card; the same from days and from uses."""

import io
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client

from apps.claims.models import Claim, Use
from apps.inventory.models import Cluster, Mirrored, Node
from apps.telemetry import parts, sheets, usage
from apps.telemetry.models import Part, UsageDay
from apps.telemetry.usage import Asked

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def use(cluster: Cluster, start: datetime, hours: float | None, **given: Any) -> Use:
    values = {
        "kind": "claim",
        "uid": f"u{Use.objects.count()}",
        "namespace": "ns",
        "name": "c",
        "driver": "gpu.example.com",
        "pool": "n1",
        "device": "gpu-0",
        "device_class": "gpu",
        "tenant": "vision",
        "deployment": "llama",
    }
    end = None if hours is None else start + timedelta(hours=hours)
    return Use.objects.create(
        cluster=cluster, created_at=start, allocated_at=start, ended_at=end, **values | given
    )


def ask(days: float = 30, **given: Any) -> Asked:
    return Asked(MONDAY - timedelta(days=days), MONDAY, **given)


def hours(asked: Asked) -> dict[str, float]:
    return {one.name: round(one.card_hours, 6) for one in usage.amounts(asked, MONDAY)}


def test_hours_are_of_the_time_asked_for_alone(cluster: Cluster) -> None:
    use(cluster, MONDAY - 3 * HOUR, 2)
    use(cluster, MONDAY - timedelta(days=40), 24 * 40 - 1, tenant="audio")
    use(cluster, MONDAY - HOUR, None, tenant="text", amount=4)
    use(cluster, MONDAY - timedelta(days=60), 24, tenant="gone")
    assert hours(ask()) == {"vision": 2, "audio": 30 * 24 - 1, "text": 4}


def test_days_that_are_summed_up_say_the_same_as_the_uses(cluster: Cluster) -> None:
    for number in range(30):
        start = MONDAY - timedelta(hours=37 * number + 5)
        use(
            cluster,
            start,
            3.5 * number + 0.25,
            tenant=f"t{number % 4}",
            device_class=f"c{number % 3}",
        )
    questions = [
        ask(),
        ask(2.3),
        ask(by="class"),
        ask(by="deployment"),
        ask(by="cluster"),
        ask(tenants=("t1",)),
        ask(device_class="c1", cluster="east"),
    ]
    before = [hours(one) for one in questions]
    steps = usage.steps(ask(), MONDAY)
    assert usage.sum_up(MONDAY) > 10 and UsageDay.objects.exists()
    while usage.sum_up(MONDAY):
        pass
    assert [hours(one) for one in questions] == before
    again = usage.steps(ask(), MONDAY)
    assert [(one.at, one.name) for one in again] == [(one.at, one.name) for one in steps]
    assert sum(s.card_hours for s in again) == pytest.approx(sum(s.card_hours for s in steps))


def test_what_is_heard_of_later_goes_into_its_days(cluster: Cluster) -> None:
    use(cluster, MONDAY - timedelta(days=5), 1)
    usage.sum_up(MONDAY)
    use(cluster, MONDAY - timedelta(days=3), 2, tenant="late")
    usage.sum_up(MONDAY)
    assert hours(ask()) == {"late": 2, "vision": 1}


def test_hours_a_step_add_up_to_the_whole(cluster: Cluster) -> None:
    use(cluster, MONDAY - timedelta(hours=30, minutes=20), 20.75)
    for grain in ("hour", "day", "week", "month"):
        steps = usage.steps(ask(3, grain=grain), MONDAY)
        assert sum(one.card_hours for one in steps) == pytest.approx(20.75), grain


SLICE = {
    "driver": "gpu.example.com",
    "pool": {"name": "n1"},
    "sharedCounters": [
        {"name": "gpu-0", "counters": {"memory": {"value": "80Gi"}, "slices": {"value": "7"}}}
    ],
    "devices": [
        {
            "name": name,
            "consumesCounters": [
                {
                    "counterSet": "gpu-0",
                    "counters": {"memory": {"value": memory}, "slices": {"value": slices}},
                }
            ],
        }
        for name, memory, slices in (
            ("whole", "80Gi", "7"),
            ("small", "10Gi", "1"),
            ("half", "40Gi", "3"),
        )
    ]
    + [
        {
            "name": "shared",
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": "40Gi"}},
        }
    ],
}


def test_partitions_shares_and_replicas_count_as_their_part(cluster: Cluster) -> None:
    Mirrored.objects.create(
        cluster=cluster,
        kind="resourceslices",
        uid="s",
        name="s",
        resource_version="1",
        revision=1,
        body={"spec": SLICE},
    )
    result = {"driver": "gpu.example.com", "pool": "n1", "device": "shared", "share_id": "s1"}
    Claim.objects.create(
        cluster=cluster,
        uid="c",
        namespace="ns",
        name="c",
        state="reserved",
        results=[result | {"consumed": {"memory": "10Gi"}}],
    )
    units = [{"name": "nvidia.com/gpu", "total": 8}, {"name": "nvidia.com/mig-3g.40gb", "total": 2}]
    Node.objects.create(cluster=cluster, name="n2", path="plugin", physical=2, units=units)
    parts.note(cluster)
    assert parts.note(cluster) == Part.objects.count() == 5
    for device, share in (("whole", ""), ("small", ""), ("half", ""), ("shared", "s1")):
        use(cluster, MONDAY - 8 * HOUR, 7, device=device, share_id=share, tenant=device)
    for resource in ("nvidia.com/gpu", "nvidia.com/mig-3g.40gb"):
        use(
            cluster,
            MONDAY - 8 * HOUR,
            7,
            kind="pod",
            driver="",
            pool="",
            device="",
            node_name="n2",
            device_class=resource,
            tenant=resource,
        )
    assert hours(ask()) == {
        "whole": 7,
        "half": 3.5,
        "small": 1,
        "shared": 1.75,
        "nvidia.com/gpu": 1.75,
        "nvidia.com/mig-3g.40gb": 3,
    }


@pytest.fixture
def mine(client: Client, alice: Any, cluster: Cluster) -> Client:
    now = datetime.now(UTC)
    use(cluster, now - 5 * HOUR, 2)
    use(cluster, now - 5 * HOUR, 2, tenant="other")
    client.force_login(alice)
    return client


def test_people_see_their_own_tenants_usage_alone(mine: Client) -> None:
    text = mine.get("/usage/").text
    assert "vision" in text and ">other<" not in text
    assert mine.get("/usage/?tenant=other").status_code == 404
    assert [one["name"] for one in mine.get("/usage/bars/").json()["data"]] == ["vision"]


def test_the_export_holds_the_table(mine: Client) -> None:
    lines = mine.get("/usage/export/?form=csv").text.splitlines()
    assert lines[0] == "name,card hours,device hours,uses" and lines[1].startswith("vision,2.0")
    book = zipfile.ZipFile(io.BytesIO(mine.get("/usage/export/?form=xlsx").content))
    sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert "vision" in sheet and "<v>2.0</v>" in sheet


@pytest.mark.parametrize("query", ["by=colour", "grain=year", "range=9y", "grain=hour&range=30d"])
def test_what_cannot_be_asked_is_told(mine: Client, query: str) -> None:
    for path in ("/usage/", "/usage/bars/", "/usage/export/"):
        assert mine.get(f"{path}?{query}").status_code == 400
    assert mine.get(f"/api/v1/usage/?{query}").status_code == 400


def test_the_api_answers_as_the_page_does(mine: Client) -> None:
    found = mine.get("/api/v1/usage/?range=24h").json()
    assert found["amounts"][0]["name"] == "vision"
    assert found["amounts"][0]["card_hours"] == pytest.approx(2)
    assert sum(one["card_hours"] for one in found["steps"]) == pytest.approx(2)


@pytest.mark.parametrize("text", ["=1+1", '<&">', "\x00\x0b", "\ud800", "\ufffe", "é\n", ""])
def test_any_text_makes_a_workbook_that_opens(text: str) -> None:
    book = zipfile.ZipFile(io.BytesIO(sheets.workbook([(text, [(text, 1.5, None)])])))
    rows = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))[0]
    assert [len(row) for row in rows] == [3]
    ElementTree.fromstring(book.read("xl/workbook.xml"))
