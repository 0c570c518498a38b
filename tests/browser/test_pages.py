"""Every page, in both themes and at phone width: no message, nothing refused, no findings."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client

from apps.tenancy.models import User
from tests.browser.conftest import Opener, World
from tests.browser.crawl import pages_of

pytestmark = pytest.mark.browser
# What any portal must have; the crawl finds the rest.
EXPECTED = {
    "home",
    "account",
    "api:docs",
    "audit:list",
    "audit:entry",
    "inventory:clusters",
    "inventory:nodes",
    "inventory:node",
    "inventory:devices",
    "claims:list",
    "claims:detail",
    "catalog:classes",
    "catalog:class",
    "catalog:patterns",
    "catalog:pattern",
    "catalog:approvals",
    "tenancy:list",
    "tenancy:detail",
}


def pages_for(user: User) -> dict[str, str]:
    client = Client()
    client.force_login(user)
    return pages_of(client)


def test_the_crawl_finds_every_kind_of_page(world: World) -> None:
    assert EXPECTED - set(pages_for(world.admin)) == set()
    assert {"deployments:list", "deployments:detail"} <= set(pages_for(world.alice))


@pytest.mark.parametrize(
    ("theme", "size"), [("light", "wide"), ("dark", "wide"), ("light", "phone")]
)
@pytest.mark.parametrize("who", ["admin", "alice"])
def test_pages_load_without_a_complaint(
    world: World, tab: Opener, who: str, theme: str, size: str
) -> None:
    user = getattr(world, who)
    with tab(user, theme=theme, size=size) as found:
        for address in pages_for(user).values():
            found.open(address)
            if found.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.note("wider than the screen")
            shown = found.page.evaluate("document.documentElement.dataset.bsTheme")
            if shown != theme:
                found.note(f"shown in {shown}")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("who", ["admin", "alice"])
def test_pages_are_accessible(world: World, tab: Opener, who: str, theme: str) -> None:
    user = getattr(world, who)
    axe = Axe()
    with tab(user, theme=theme, bypass_csp=True) as found:
        for address in pages_for(user).values():
            found.open(address)
            for finding in axe.run(found.page).response["violations"]:
                if finding["impact"] in ("serious", "critical"):
                    found.note(_told(finding))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_login_is_accessible(world: World, tab: Opener, theme: str) -> None:
    with tab(theme=theme, bypass_csp=True) as found:
        found.open("/login/")
        for finding in Axe().run(found.page).response["violations"]:
            found.note(_told(finding))


def _told(finding: dict[str, Any]) -> str:
    places = [str(node["target"]) + " " + node["html"][:160] for node in finding["nodes"][:3]]
    return f"{finding['impact']} {finding['id']}: {finding['help']}; {' | '.join(places)}"
