"""Whatever a cluster says is only text: from its objects through rows to pages and files."""

import csv
import html
import io
import json
import re
from typing import Any

import pytest
from django.test import Client

from apps.claims.models import Claim
from apps.inventory.models import Device, Node, Revision
from apps.tenancy.models import User
from tests.apps.inventory.conftest import Told
from tests.workers import fleet

pytestmark = pytest.mark.django_db

#: Text that is no name either: it comes in labels, attributes and messages alone.
NO_NAMES = {
    "html": "<script>alert(1)</script>\"><img src=x onerror='alert(2)'>",
    "shell": "$(touch /etc/x); `id` | rm -rf / & ../../etc/passwd",
    "unicode": "e\u0301\u202egnp.\0\ud7ff\U0001f642\u2028\ufeff\x1b[31m\r\nX-Evil: 1",
    "long": "x" * 10_000,
}
#: Text that an API server without rules of its own could take for a name.
NAMES = {
    "markup": "<script>alert(1)<img src=x onerror='alert(2)'>",
    "template": "{{ settings.SECRET_KEY }}${{7*7}}?a=b&c#d",
    "cel": '" || true || device.driver == "',
    "sql": "'; DROP TABLE inventory_node; --",
    "formula": '=HYPERLINK("http:x","y")+@SUM(1)',
    "wide formula": "\uff1d1+1",
    "controls": "\t=1\r\n\x1b[31m\u202e",
}
TEXTS = NO_NAMES | NAMES
LISTS = ("/nodes/", "/devices/", "/claims/")


def _told(told: Told, text: str) -> None:
    """One of everything, with the text wherever text can be."""
    name = text if text in NAMES.values() else "good"
    labels = {"nvidia.com/gpu.product": text, "topology.kubernetes.io/zone": text}
    node = fleet.node(name, **labels)
    node["spec"] = {"taints": [{"key": text, "value": text, "effect": "NoSchedule"}]}
    node["status"]["nodeInfo"] = {"kubeletVersion": text, "kernelVersion": text}
    pod = fleet.pod(name, name, name, **{"nvidia.com/gpu": "1"})
    pod["status"] |= {"message": text, "reason": text}
    labels = {"claimyard.dev/tenant": text}
    namespace = {"apiVersion": "v1", "kind": "Namespace"}
    told.listed(
        nodes=[node],
        resourceslices=[_slice(name, text)],
        resourceclaims=[_claim(name, text)],
        pods=[pod],
        deviceclasses=[fleet.device_class() | {"metadata": {"name": name}}],
        namespaces=[namespace | {"metadata": {"name": name, "labels": labels}}],
    )


def _slice(name: str, text: str) -> Any:
    part = fleet.resource_slice(name, cards=2)
    part["spec"]["driver"] = name
    part["spec"]["pool"]["name"] = name
    for device in part["spec"]["devices"]:
        device["name"] += name
        device["attributes"] |= {"productName": {"string": text}, "uuid": {"string": text}}
        device["attributes"][text] = {"string": text}
        device["taints"] = [{"key": text, "value": text, "effect": "NoExecute"}]
    return part


def _claim(name: str, text: str) -> Any:
    claim = fleet.claim(name, name, **{"claimyard.dev/tenant": text, text: text})
    (request,) = claim["spec"]["devices"]["requests"]
    request["name"] = name
    selectors = [{"cel": {"expression": text}}]
    request["exactly"] |= {"deviceClassName": name, "selectors": selectors}
    status = fleet.allocation(name, f"gpu-0{name}")
    status["allocation"]["devices"]["results"][0] |= {
        "driver": name,
        "pool": name,
        "request": name,
    }
    status["reservedFor"][0]["name"] = text
    return claim | {"status": status}


def _links(page: str) -> set[str]:
    found = re.findall(r'(?:href|hx-get)="(/(?:nodes|devices|claims|parts)/[^"]*)"', page)
    return {html.unescape(one) for one in found if "?" not in html.unescape(one)}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text_is_shown_as_text(client: Client, admin: User, told: Told, text: str) -> None:
    _told(told, text)
    assert Node.objects.count() == 1 and Device.objects.count() == 2 and Claim.objects.count() == 1
    assert not [row.malformed for row in Revision.objects.all() if row.malformed]
    client.force_login(admin)
    pages = {path: client.get(path).text for path in ("/", "/clusters/lab/", *LISTS)}
    for link in sorted(set().union(*map(_links, pages.values()))):
        answer = client.get(link, follow=True)
        assert answer.status_code == 200, link
        pages[link] = answer.text
    assert len(pages) >= 8  # the node, the devices and the claim were reached from the lists
    for path, page in pages.items():
        assert "<script>alert" not in page and "<img src=x" not in page, path
        assert "\0" not in page, path
        assert len(page) < 400_000, path


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text_is_text_in_a_file(client: Client, admin: User, told: Told, text: str) -> None:
    _told(told, text)
    client.force_login(admin)
    for path in LISTS:
        answer: Any = client.get(f"{path}?export=csv")
        file = io.StringIO(b"".join(answer.streaming_content).decode(), newline="")
        rows = list(csv.reader(file))
        assert len(rows) >= 2 and len({len(row) for row in rows}) == 1
        formulas = re.compile(r"\s*[=+@\uff1d\uff0b\uff20-]")
        assert not [cell for row in rows for cell in row if formulas.match(cell)]
        answer = client.get(f"{path}?export=json")
        assert json.loads(b"".join(answer.streaming_content))


@pytest.mark.parametrize(
    "name", [NO_NAMES["html"], NO_NAMES["shell"], NO_NAMES["long"], "..", "a/b", "%2e"]
)
def test_what_no_name_may_hold_is_malformed_and_named(
    client: Client, admin: User, told: Told, name: str
) -> None:
    _told(told, "fine")
    away = fleet.resource_slice("good", cards=1)
    away["metadata"]["name"] = "elsewhere"
    away["spec"] |= {"nodeName": name, "pool": away["spec"]["pool"] | {"name": "elsewhere"}}
    told.changed("nodes", fleet.node(name))
    told.changed("resourceslices", away)
    told.changed("pods", fleet.pod("p", name, **{"nvidia.com/gpu": "1"}))
    held = fleet.claim("held") | {"status": fleet.allocation(name, "gpu-0")}
    told.changed("resourceclaims", held)
    assert [row.name for row in Node.objects.all()] == ["good"]
    client.force_login(admin)
    page = client.get("/clusters/lab/")
    assert page.status_code == 200 and "elsewhere" in page.text
    assert len(page.text) < 100_000 and "<script>alert" not in page.text
    told.deleted("nodes", fleet.node(name))
    told.listed()
    assert not Node.objects.exists()


def test_a_malformed_value_may_hold_anything(told: Told) -> None:
    broken = fleet.resource_slice("n1")
    broken["spec"]["devices"][0]["capacity"] = {"memory": {"value": "a\0lot" * 3000}}
    told.listed(nodes=[fleet.node("n1")], resourceslices=[broken])
    (why,) = Revision.objects.get(kind="resourceslices").malformed
    assert why.startswith("n1-") and "a\ufffdlota" in why and len(why) <= 500


def test_a_huge_half_published_slice_of_an_unknown_driver_is_unknown_until_whole(
    client: Client, admin: User, told: Told
) -> None:
    halves = [fleet.resource_slice("n1", cards=128) for _ in range(2)]
    for number, half in enumerate(halves):
        half["metadata"]["name"] = f"half-{number}"
        half["spec"]["driver"] = "npu.example.org"
        half["spec"]["pool"]["resourceSliceCount"] = 2
        for device in half["spec"]["devices"]:
            device["name"] = f"npu-{number}-{device['name']}"
            device["attributes"] = {"strange": {"int": 1}}
    told.listed(nodes=[fleet.node("n1")], resourceslices=halves[:1])
    node = Node.objects.get()
    assert (node.physical, node.unknown, node.free) == (128, 128, 0)
    told.changed("resourceslices", halves[1])
    node = Node.objects.get()
    assert (node.physical, node.unknown, node.free) == (256, 0, 256)
    client.force_login(admin)
    page = client.get("/nodes/lab/n1/cards/")
    assert page.status_code == 200 and len(page.text) < 1_000_000


@pytest.mark.parametrize(
    "status",
    [
        {"allocation": "all of them"},
        {"allocation": {"devices": {"results": {"gpu": 1}}}},
        {"allocation": {"devices": {"results": [{"request": "gpu", "driver": "d", "pool": "n1"}]}}},
        {"allocation": {"devices": {"results": [None]}}},
        {"reservedFor": [7]},
        "allocated",
    ],
)
def test_a_malformed_claim_is_named_and_keeps_what_was_known(told: Told, status: object) -> None:
    held = fleet.claim("one") | {"status": fleet.allocation("n1", "gpu-0")}
    nodes, slices = [fleet.node("n1")], [fleet.resource_slice("n1")]
    told.listed(nodes=nodes, resourceslices=slices, resourceclaims=[held, fleet.claim("two")])
    told.changed("resourceclaims", fleet.claim("one") | {"status": status})
    (why,) = Revision.objects.get(kind="resourceclaims").malformed
    assert why.startswith("default/one")
    assert Claim.objects.get(name="one").state == "reserved" and Claim.objects.count() == 2
    assert Node.objects.get().in_dra == 1


def test_a_huge_claim_on_an_unknown_driver_and_a_vanished_pool_is_counted(told: Told) -> None:
    names = [f"npu-{number}" for number in range(128)]
    held = fleet.claim("huge") | {"status": fleet.allocation("n1", *names)}
    for result in held["status"]["allocation"]["devices"]["results"]:
        result["driver"] = "npu.example.org"
    told.listed(nodes=[fleet.node("n1")], resourceclaims=[held])
    node = Node.objects.get()
    assert (node.physical, node.in_dra, node.fault_count) == (128, 128, 128)
    assert Claim.objects.get().devices == 128
