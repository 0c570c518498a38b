"""The same story by clicks: every page of it in a browser that forgives no complaint."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models import Q

from apps.catalog.models import Approval, PatternVersion
from apps.common import asks
from apps.common.models import Ask
from apps.deployments import surge
from apps.deployments.models import Deployment
from simulator import apiserver
from simulator.fleet.run import running
from simulator.fleet.scenario import load
from tests.browser.conftest import Opener, Tab, tab
from tests.story.test_story import Story, story, until
from workers.placement.service import Service

__all__ = ["story", "tab"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with apiserver.running(tmp_path_factory.mktemp("story")) as server:
        path = Path(server.kubeconfig)
        with running(path, load("small", speed=200)):
            yield path


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Answer, as the workers would, what the pages have asked so far."""
    monkeypatch.setattr(surge, "WAIT_MS", 0)
    monkeypatch.setattr(asks, "ANSWERERS", dict(asks.ANSWERERS))
    service = Service()
    service.register()

    def all_of_them() -> int:
        waiting = Ask.objects.filter(Q(state=Ask.State.WAITING))
        found = list(waiting.values_list("pk", flat=True))
        for pk in found:
            asks.answer(pk)
        return len(found)

    return all_of_them


def shows(found: Tab, text: str, answer: Any = None) -> None:
    """Wait until the page says so, answering its questions meanwhile."""

    def there() -> bool:
        if answer is not None:
            answer()
        found.page.wait_for_timeout(50)
        return text in found.page.inner_text("body")

    until(there, f"{text!r} on {found.page.url}")


def test_by_clicks(
    story: Story, tab: Opener, answer: Any, alice: Any, admin: Any, approver: Any
) -> None:
    with tab(admin) as at:
        _propose_class(story, at, answer)
    with tab(approver) as at:
        _approve(at)
    story.settle()
    with tab(admin) as at:
        _propose_pattern(story, at, answer)
    with tab(approver) as at:
        _approve(at)
    with tab(admin) as at:
        _give(story, at)
    story.settle()
    with tab(alice) as at:
        _deploy(story, at, answer)
        _watch_it_serve(story, at)
        _scale_and_retire(story, at)


def _propose_class(story: Story, at: Tab, answer: Any) -> None:
    at.open("/catalog/classes/")
    at.page.click("text=Propose a class")
    at.page.fill("[name=name]", story.device_class)
    at.page.check("input[value=lab]")
    at.page.fill("[name=selectors]", "device.driver ==")
    shows(at, "Syntax error")
    selector = 'device.attributes["gpu.nvidia.com"].?type.orValue("") == "gpu"'
    at.page.fill("[name=selectors]", f'device.driver == "gpu.nvidia.com" && {selector}')
    shows(at, "devices now", answer)
    at.page.click("text=Submit for approval")
    shows(at, "waits for an approver")


def _approve(at: Tab) -> None:
    waiting = Approval.objects.get(state="pending")
    at.open("/catalog/approvals/")
    at.page.click(f"main a:has-text('{waiting.version}')")
    at.page.click("button:has-text('Approve')")
    shows(at, "is approved")


def _propose_pattern(story: Story, at: Tab, answer: Any) -> None:
    at.open("/catalog/patterns/new/")
    at.page.fill("[name=slug]", "cards")
    at.page.fill("[name=name]", "Cards")
    at.page.select_option("[name=device_class]", story.device_class)
    shows(at, "devices now", answer)
    at.page.click("text=Submit for approval")
    shows(at, "waits for an approver")
    assert PatternVersion.objects.get().state == "in-review"


def _give(story: Story, at: Tab) -> None:
    at.open("/tenants/vision/")
    at.page.click("text=Give a cluster")
    at.page.select_option("[name=cluster]", "lab")
    at.page.fill("[name=namespace]", story.namespace)
    at.page.click("button:has-text('Give the cluster')")
    at.page.fill(f"[name='{story.device_class}']", "2")
    at.page.click("button:has-text('Save')")
    shows(at, "0 of 2")


def _deploy(story: Story, at: Tab, answer: Any) -> None:
    at.open("/t/vision/deployments/")
    at.page.click("text=Deploy a model")
    at.page.check("input[value=cards]")
    at.page.click("button:has-text('Next')")
    at.page.fill("[name=name]", "llama")
    at.page.fill("[name=model]", "tiny/llama-1B")
    at.page.fill("[name=cpu]", "1")
    at.page.fill("[name=memory]", "1Gi")
    at.page.click("button:has-text('Next')")
    at.page.fill("[name=replicas]", "2")
    at.page.click("text=Check and review")
    shows(at, "Fits", answer)
    assert "kind: ResourceClaimTemplate" in at.page.inner_text("main")
    at.page.click("button:has-text('Submit')")
    shows(at, "llama is on its way")


def _watch_it_serve(story: Story, at: Tab) -> None:
    until(lambda: story.word() == "Ready", "two replicas serve")
    shows(at, "Every replica answers")  # the open page comes up to date by itself
    at.page.click("a:has-text('Log') >> nth=0")
    shows(at, "Log of")
    at.open("/t/vision/deployments/llama/")


def _scale_and_retire(story: Story, at: Tab) -> None:
    at.page.fill("[name=replicas]", "3")
    at.page.click("button:has-text('Scale')")
    shows(at, "asked for 1, 0 of 2 left")
    at.page.click("button:has-text('Retire')")
    at.page.click("dialog[open] button:has-text('Retire')")
    shows(at, "is being taken out of the cluster")
    until(lambda: story.word() == "Retired", "the deployment is retired")
    assert Deployment.objects.get().retired_at is not None
