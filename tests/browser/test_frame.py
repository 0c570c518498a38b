"""What the scripts do: themes, keys, menus, search, refreshing, sessions that end."""

import re

import pytest
from django.contrib.sessions.models import Session
from django.db import transaction
from playwright.sync_api import Dialog

from apps.audit import services as audit
from tests.apps.conftest import PASSWORD
from tests.browser.conftest import Opener, World

pytestmark = pytest.mark.browser


def test_a_person_logs_in_and_out(world: World, tab: Opener) -> None:
    with tab() as found:
        found.open("/audit/")
        found.page.get_by_label("Username").fill("alice")
        found.page.get_by_label("Password").fill(PASSWORD)
        found.page.get_by_role("button", name="Log in", exact=True).click()
        found.page.get_by_role("heading", name="Audit", level=1).wait_for()
        found.page.locator("summary", has_text="alice").click()
        found.page.get_by_role("button", name="Log out").click()
        found.page.get_by_role("heading", name="Log in").wait_for()


def test_a_theme_is_kept(world: World, tab: Opener) -> None:
    with tab(world.alice) as found:
        found.open("/")
        found.page.get_by_label("Theme").click()
        found.page.get_by_role("button", name="Dark").click()
        found.open("/audit/")
        theme = "document.documentElement.dataset.bsTheme"
        assert found.page.evaluate(theme) == "dark"
        found.page.get_by_label("Theme").click()
        found.page.get_by_role("button", name="As the system").click()
        assert found.page.evaluate(theme) == "light"


def test_keys_find_go_and_explain(world: World, tab: Opener) -> None:
    with tab(world.admin) as found:
        found.open("/audit/")
        found.page.keyboard.press("/")
        assert found.page.evaluate("document.activeElement.id") == "find"
        found.page.keyboard.type("g")  # typing is not going
        found.page.keyboard.press("Escape")
        found.page.keyboard.press("?")
        assert found.page.get_by_role("dialog").is_visible()
        found.page.keyboard.press("Escape")
        found.page.keyboard.press("g")
        found.page.keyboard.press("o")
        found.page.get_by_role("heading", name="Overview", level=1).wait_for()


def test_search_narrows_as_one_types_and_stays_in_the_address(world: World, tab: Opener) -> None:
    with tab(world.admin) as found:
        found.open("/audit/")
        found.page.get_by_label("Find").press_sequentially("a100")
        found.page.wait_for_url(re.compile(r"/audit/\?q=a100$"))
        found.page.locator(".filter-chips", has_text="“a100”").wait_for()
        # A refresh keeps the search, since the rows name their own address.
        with found.page.expect_response(re.compile("q=a100")) as answer:
            found.page.evaluate("document.body.dispatchEvent(new Event('refresh'))")
        assert answer.value.status == 304
        assert found.page.get_by_label("Find").input_value() == "a100"


def test_a_change_shows_up_by_itself(world: World, tab: Opener) -> None:
    with tab(world.admin) as found:
        found.open("/audit/")
        with transaction.atomic():
            audit.record(actor=world.alice, verb="whispered", subject=world.tenant)
        found.page.get_by_text("whispered").wait_for()


def test_sorting_and_filters_are_in_the_address_and_go_back(world: World, tab: Opener) -> None:
    with tab(world.admin) as found:
        found.open("/audit/?actor=admin")
        found.page.get_by_role("link", name="When").click()
        found.page.wait_for_url(re.compile(r"actor=admin&sort=at"))
        found.page.locator("th[aria-sort=ascending]", has_text="When").wait_for()
        found.page.go_back()
        found.page.wait_for_url(re.compile(r"/audit/\?actor=admin$"))
        # The address is there before the list is: what is clicked in between is swapped away.
        found.page.locator("th[aria-sort=descending]", has_text="When").wait_for()
        found.page.locator(".filter-chips a", has_text="Who: admin").click()
        found.page.wait_for_url(re.compile(r"/audit/$"))


def test_the_scope_is_chosen_in_a_menu_and_carried_along(world: World, tab: Opener) -> None:
    with tab(world.admin) as found:
        found.open("/audit/")
        found.page.locator(".scope summary", has_text="Tenant").click()
        found.page.get_by_role("link", name="vision", exact=True).click()
        found.page.wait_for_url(re.compile(r"tenant=vision"))
        found.page.get_by_role("link", name="Overview").click()
        found.page.wait_for_url(re.compile(r"/\?tenant=vision$"))


def test_navigation_opens_on_a_phone(world: World, tab: Opener) -> None:
    with tab(world.admin, size="phone") as found:
        found.open("/")
        assert not found.page.get_by_role("link", name="Audit").is_visible()
        found.page.get_by_label("Navigation").click()
        found.page.get_by_role("link", name="Audit").click()
        found.page.get_by_role("heading", name="Audit", level=1).wait_for()


def test_a_session_that_ended_leads_to_the_login(world: World, tab: Opener) -> None:
    with tab(world.admin) as found:
        found.open("/audit/")
        Session.objects.all().delete()
        found.page.get_by_role("heading", name="Log in").wait_for()
        assert "next=%2Faudit%2F" in found.page.url or "next=/audit/" in found.page.url


def test_a_portal_that_is_away_is_told_and_the_rows_stay(world: World, tab: Opener) -> None:
    with tab(world.admin, quiet=False) as found:
        found.open("/audit/")
        found.page.route("**/audit/", lambda route: route.abort())
        found.page.evaluate("document.body.dispatchEvent(new Event('refresh'))")
        found.page.locator("#connection").wait_for(state="visible")
        assert found.page.locator("#list tbody tr").count() > 1
        found.page.unroute("**/audit/")
        found.page.get_by_role("button", name="Try again").click()
        found.page.locator("#connection").wait_for(state="hidden")


def test_a_token_is_made_and_shown_once(world: World, tab: Opener) -> None:
    with tab(world.alice) as found:
        found.open("/account/")
        found.page.get_by_label("Name").fill("ci")
        found.page.get_by_role("button", name="Make the token").click()
        secret = found.page.locator("#code-secret").inner_text()
        assert secret.startswith("cyd_")
        found.open("/account/")
        assert secret not in found.page.content()
        found.page.get_by_role("button", name="Revoke").first.click()
        found.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        found.page.get_by_text("it stopped working").wait_for()


def test_what_was_typed_and_not_sent_is_not_lost_without_a_question(
    world: World, tab: Opener
) -> None:
    with tab(world.alice, quiet=False) as found:  # what is sent is refused
        asked: list[str] = []

        def stay(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.dismiss()

        found.page.on("dialog", stay)
        found.open("/t/vision/deployments/+yaml/")
        found.page.get_by_label("Deployment (YAML)").press_sequentially("x")
        found.page.get_by_role("link", name="Overview").click()
        found.page.wait_for_timeout(300)
        assert asked == ["beforeunload"]
        assert found.page.url.endswith("/+yaml/")
        found.page.get_by_role("button", name="Check and review").click()
        found.page.wait_for_load_state()
        assert asked == ["beforeunload"]  # sending it is no leaving
