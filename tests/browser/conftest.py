"""A live server with some of everything in it, and a browser whose complaints are noted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from apps.catalog import services as catalog
from apps.claims.models import Claim
from apps.deployments import services as deployments
from apps.inventory.models import Cluster, Device, Node
from apps.quotas import services as quotas
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from domain.asked import asked_from
from tests.apps.conftest import CLASS, PATTERN, approve, make_cluster, make_user

SIZES = {"wide": {"width": 1360, "height": 860}, "phone": {"width": 390, "height": 844}}


@dataclass(slots=True)
class World:
    admin: User
    approver: User
    alice: User
    tenant: Tenant
    cluster: Cluster


@pytest.fixture
def world(transactional_db: None) -> World:
    """A cluster with nodes, devices and claims, a catalog, a tenant, and a deployment of theirs."""
    admin = make_user("admin", PlatformRole.ADMIN, PlatformRole.AUDITOR)
    approver = make_user("approver", PlatformRole.APPROVER)
    alice = make_user("alice")
    tenant = Tenant.objects.create(slug="vision", name="Vision")
    Member.objects.create(tenant=tenant, user=alice, role=Role.OWNER)
    cluster = make_cluster()
    cluster.heard_at = timezone.now()
    cluster.version = "v1.37.0"
    cluster.save()
    _fill_inventory(cluster)
    _fill_catalog(admin, approver, cluster)
    quotas.give_cluster(
        actor=admin, tenant=tenant, cluster=cluster, namespace="tenant-vision", adopt=False
    )
    quotas.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits={"h100": 4})
    asked = {
        "name": "llama",
        "cluster": "lab",
        "image": "vllm/vllm-openai:v0.11.0",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "pools": [{"pattern": "h100-cards", "replicas": 2}],
    }
    deployments.create_deployment(actor=alice, tenant=tenant, asked=asked_from(asked))
    return World(admin, approver, alice, tenant, cluster)


def _fill_catalog(admin: User, approver: User, cluster: Cluster) -> None:
    version = catalog.create_class(actor=admin, name="h100", content=CLASS, clusters=[cluster])
    approve(approver, version, admin)
    pattern = catalog.create_pattern(
        actor=admin, slug="h100-cards", name="H100 cards", content=PATTERN
    )
    approve(approver, pattern, admin)
    waiting = catalog.create_class(actor=admin, name="a100", content=CLASS, clusters=[cluster])
    catalog.submit(actor=admin, version=waiting)


def _fill_inventory(cluster: Cluster) -> None:
    hostile = 'node-<b onclick="alert(1)">x</b>'
    for at, name in enumerate(["gpu-a", "gpu-b", hostile]):
        Node.objects.create(
            cluster=cluster,
            name=name,
            uid=name,
            is_ready=at != 1,
            path="dra",
            has_cards=True,
            physical=4,
            free=2,
            in_dra=2,
            in_plugin=0,
            unhealthy=0,
            unknown=0,
            product="NVIDIA H100 80GB HBM3",
        )
        for card in range(4):
            Device.objects.create(
                cluster=cluster,
                node_name=name,
                driver="gpu.nvidia.com",
                pool=name,
                name=f"gpu-{card}",
                card=f"gpu-{card}",
                card_state="free" if card > 1 else "dra",
                path="dra",
                mode="whole",
                state="free" if card > 1 else "dra",
                uuid=f"GPU-{at}-{card}",
                product="NVIDIA H100 80GB HBM3",
                memory_mib=81559,
            )
    for state in Claim.State.values:
        Claim.objects.create(
            cluster=cluster,
            uid=state,
            namespace="tenant-vision",
            name=f"llama-{state}",
            state=state,
            tenant="vision",
            device_class="h100",
            devices=1,
            created_at=timezone.now() - timedelta(minutes=5),
        )


_SETTLED = """() => !document.querySelector(".part-waiting, .htmx-request") &&
    [...document.querySelectorAll(".chart-note")].every((note) => note.textContent !== "Loading …")
"""


@dataclass
class Tab:
    """A browser's page, and what it complained of."""

    page: Any
    url: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go there, and wait until its parts and charts have come."""
        self.page.goto(self.url + path)
        if not self.wait_until(_SETTLED):
            self.note("a part or a chart did not come")

    def wait_until(self, script: str, *, milliseconds: int = 20_000) -> bool:
        """Playwright's own waiting evaluates text within the page, which our policy refuses."""
        for _ in range(milliseconds // 20):
            if self.page.evaluate(script):
                return True
            self.page.wait_for_timeout(20)
        return False

    def note_answer(self, answer: Any) -> None:
        if answer.status >= 400:
            self.note(f"{answer.status} {answer.url}")

    def note(self, text: str) -> None:
        self.complaints.append(f"{self.page.url.removeprefix(self.url)}: {text}")


Opener = Callable[..., Any]


@pytest.fixture
def tab(browser: Any, live_server: Any) -> Opener:
    """`with tab(user, theme="dark", size="phone") as found:`; complaints fail the test."""

    @contextmanager
    def open_tab(
        user: User | None = None,
        *,
        theme: str = "light",
        size: str = "wide",
        bypass_csp: bool = False,
        quiet: bool = True,
    ) -> Iterator[Tab]:
        context = browser.new_context(
            color_scheme=theme,
            viewport=SIZES[size],
            bypass_csp=bypass_csp,
            reduced_motion="reduce",  # else a colour is measured while it changes
        )
        if user is not None:
            client = Client()
            client.force_login(user)
            cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
            name = settings.SESSION_COOKIE_NAME
            context.add_cookies([{"name": name, "value": cookie, "url": live_server.url}])
        page = context.new_page()
        found = Tab(page, live_server.url)
        page.on("console", lambda message: found.note(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: found.note(f"script failed: {error}"))
        page.on("response", found.note_answer)
        try:
            yield found
        finally:
            context.close()
        if quiet:
            assert not found.complaints, "\n".join(found.complaints)

    return open_tab
