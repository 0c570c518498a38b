"""Every page, in both themes and at phone width: no message, nothing refused, no findings."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client

from apps.tenancy.models import User
from tests.browser.conftest import SIZES, Opener, Tab, World
from tests.browser.crawl import pages_of

# One test looks at all pages of a person, which takes minutes on a busy machine.
pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]
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


# The elements that reach over the right edge, outermost first, if the page can be scrolled there.
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? "" :
    [...document.querySelectorAll("body *")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
        .slice(0, 4).map((one) => `${one.tagName}.${one.getAttribute("class")}`).join(" ")
"""


def pages_for(user: User) -> dict[str, str]:
    client = Client()
    client.force_login(user)
    return pages_of(client)


def test_the_crawl_finds_every_kind_of_page(world: World) -> None:
    assert EXPECTED - set(pages_for(world.admin)) == set()
    assert {"deployments:list", "deployments:detail"} <= set(pages_for(world.alice))


@pytest.mark.parametrize("who", ["admin", "alice"])
def test_pages_load_without_a_complaint(world: World, tab: Opener, who: str) -> None:
    """In the light theme, then in the dark one, then at the width of a phone."""
    user = getattr(world, who)
    with tab(user) as found:
        for address in pages_for(user).values():
            found.open(address)
            for theme in ("dark", "light"):
                found.page.emulate_media(color_scheme=theme)
                if not found.wait_until(f"document.documentElement.dataset.bsTheme == '{theme}'"):
                    found.note(f"not shown in the {theme} theme")
            found.page.set_viewport_size(SIZES["phone"])
            found.wait_until(f"innerWidth == {SIZES['phone']['width']}")
            if not found.wait_until(f"!({TOO_WIDE})()", milliseconds=2000):
                found.note(f"wider than a phone: {found.page.evaluate(TOO_WIDE)}")
            found.page.set_viewport_size(SIZES["wide"])


@pytest.mark.parametrize("who", ["admin", "alice"])
def test_pages_are_accessible(world: World, tab: Opener, who: str) -> None:
    """All rules in the light theme, contrast in the dark one too. Alice sees what admins do not."""
    user = getattr(world, who)
    pages = pages_for(user)
    if who == "alice":
        pages = {name: at for name, at in pages.items() if name not in pages_for(world.admin)}
    axe = Axe()
    with tab(user, bypass_csp=True) as found:
        # Colours on their way from one theme to the other have the contrast of neither.
        found.page.emulate_media(reduced_motion="reduce")
        for address in pages.values():
            found.open(address)
            _inspect(axe, found)
            found.page.emulate_media(color_scheme="dark")
            found.wait_until("document.documentElement.dataset.bsTheme == 'dark'")
            _inspect(axe, found, {"runOnly": ["color-contrast"]})
            found.page.emulate_media(color_scheme="light")


def _inspect(axe: Axe, found: Tab, options: dict[str, Any] | None = None) -> None:
    """Note what is wrong, if it still is a moment later: a part may just have been swapped."""
    if _findings(axe, found, options):
        found.page.wait_for_timeout(500)
        for finding in _findings(axe, found, options):
            found.note(finding)


def _findings(axe: Axe, found: Tab, options: dict[str, Any] | None) -> list[str]:
    answer = axe.run(found.page, options={"resultTypes": ["violations"], **(options or {})})
    bad = [one for one in answer.response["violations"] if one["impact"] in ("serious", "critical")]
    return [_told(one) for one in bad]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_login_is_accessible(world: World, tab: Opener, theme: str) -> None:
    with tab(theme=theme, bypass_csp=True) as found:
        found.open("/login/")
        _inspect(Axe(), found)


def _told(finding: dict[str, Any]) -> str:
    places = [str(node["target"]) + " " + node["html"][:160] for node in finding["nodes"][:3]]
    return f"{finding['impact']} {finding['id']}: {finding['help']}; {' | '.join(places)}"
