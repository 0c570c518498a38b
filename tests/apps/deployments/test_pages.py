"""The deployment pages: who sees what, the wizard to the end, and what may be done."""

from typing import Any

import pytest
from django.test import Client

from apps.common.models import Ask
from apps.deployments import services
from apps.deployments.models import Deployment
from tests.apps.deployments.conftest import asked, pools

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ready")]
ALL = "/t/vision/deployments/"
ONE = f"{ALL}llama/"
PART = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def nobody_answers(settings: Any) -> None:
    settings.ASK_WAIT_MS = 0


@pytest.fixture
def deployment(alice: Any, tenant: Any) -> Deployment:
    return services.create_deployment(actor=alice, tenant=tenant, asked=asked())


@pytest.fixture
def mine(client: Client, alice: Any) -> Client:
    client.force_login(alice)
    return client


def test_the_list_names_state_model_and_pattern(mine: Client, deployment: Deployment) -> None:
    page = mine.get(ALL)
    assert page.status_code == 200
    for text in ("llama", "meta-llama/Llama-3.1-8B", "H100 cards", "Deploy a model"):
        assert text in page.text
    assert "<h1>" not in mine.get(f"{ALL}?q=lla", headers=PART).text


def test_strangers_find_nothing(client: Client, mallory: Any, deployment: Deployment) -> None:
    client.force_login(mallory)
    for path in (ALL, ONE, f"{ONE}objects/", f"{ALL}+new/", f"{ALL}+yaml/", f"{ONE}edit/"):
        assert client.get(path).status_code == 404
    assert client.post(f"{ONE}retire/").status_code == 404


def test_viewers_look_but_change_nothing(client: Client, bob: Any, deployment: Deployment) -> None:
    client.force_login(bob)
    page = client.get(ONE)
    assert page.status_code == 200
    assert "This needs the role editor" in page.text
    for path in (f"{ONE}restart/", f"{ONE}retire/", f"{ONE}pools/main/scale/"):
        assert client.post(path, {"replicas": 2, "generation": 1}).status_code == 403
    assert client.get(f"{ALL}+new/").status_code == 403


def test_detail_shows_conditions_endpoint_and_answers_304(
    mine: Client, deployment: Deployment
) -> None:
    page = mine.get(ONE)
    for text in ("Accepted", "Allocated", "Loaded", "curl http://llama.tenant-vision.svc:8000"):
        assert text in page.text
    part = mine.get(ONE, headers=PART)
    assert "<h1" not in part.text and "Allocated" in part.text
    again = mine.get(ONE, headers=PART | {"If-None-Match": part["ETag"]})
    assert again.status_code == 304


def test_a_pods_log_is_asked_for_and_only_of_its_own_pods(
    mine: Client, deployment: Deployment
) -> None:
    pool = deployment.pools.get()
    pool.pods = [{"name": "llama-main-1", "state": "Ready", "message": "", "node": "n1"}]
    pool.save()
    assert mine.get(f"{ONE}pods/llama-main-1/log/").status_code == 200
    ask = Ask.objects.get(kind="deployments.logs")
    assert ask.question["namespace"] == "tenant-vision"
    assert mine.get(f"{ONE}pods/other/log/").status_code == 404


def test_scaling_over_quota_says_why(mine: Client, deployment: Deployment) -> None:
    page = mine.post(f"{ONE}pools/main/scale/", {"replicas": 9, "generation": 1}, follow=True)
    assert "h100: asked for 8, 3 of 4 left" in page.text


def test_retire_from_an_old_page_is_refused(mine: Client, deployment: Deployment) -> None:
    mine.post(f"{ONE}restart/", {"generation": 1})
    page = mine.post(f"{ONE}retire/", {"generation": 1}, follow=True)
    assert "has been changed since this page was made" in page.text
    mine.post(f"{ONE}retire/", {"generation": 2})
    deployment.refresh_from_db()
    assert deployment.is_retiring


def steps() -> dict[str, dict[str, Any]]:
    return {
        "pattern": {"cluster": "lab", "pattern": "h100-cards", "path": "dra"},
        "model": {
            "name": "mistral",
            "runtime": "vllm",
            "model": "mistralai/Mistral-7B",
            "image": "docker.io/vllm/vllm-openai:v0.33.0",
            "args": "--max-model-len=8k",
            "env": "HF_TOKEN=secret:hub/token\nLEVEL=info",
            "cpu": "4",
            "memory": "16Gi",
            "startup_minutes": 20,
        },
        "size": {"replicas": 2, "param-count": 2, "param-memory": "40Gi"},
    }


def test_the_wizard_goes_step_by_step_to_a_deployment(mine: Client, tenant: Any) -> None:
    new, answers = f"{ALL}+new/", steps()
    assert "H100 cards" in mine.get(new).text
    held: dict[str, Any] = {}
    for step, next_text in (("pattern", "Runtime"), ("model", "Replicas")):
        held |= answers[step]
        page = mine.post(new, held | {"at": step})
        assert page.status_code == 200 and next_text in page.text
    review = mine.post(new, held | answers["size"] | {"at": "size"})
    for text in ("Quota", "Placement of one replica now", "kind: ResourceClaimTemplate"):
        assert text in review.text
    (line,) = review.context["lines"]
    assert (line.used, line.after, line.limit) == (0, 4, 4)
    assert not Deployment.objects.exists()
    assert Ask.objects.filter(kind="placement.check").count() == 1

    page = mine.post(f"{ALL}+submit/", {"yaml": review.context["yaml"]}, follow=True)
    assert "mistral is on its way" in page.text
    made = Deployment.objects.get()
    assert made.env == [
        {"name": "HF_TOKEN", "value": "", "secret": "hub", "key": "token"},
        {"name": "LEVEL", "value": "info", "secret": "", "key": ""},
    ]
    assert made.pools.get().replicas == 2


def test_a_bad_step_stays_and_says_what(mine: Client) -> None:
    held = steps()["pattern"] | steps()["model"] | {"env": "nonsense"}
    page = mine.post(f"{ALL}+new/", held | steps()["size"] | {"at": "size"})
    assert page.status_code == 422
    assert "is not NAME=value" in page.text


def test_going_back_keeps_what_was_typed(mine: Client) -> None:
    held = steps()["pattern"] | steps()["model"]
    page = mine.post(f"{ALL}+new/", held | {"at": "size", "back": "1"})
    assert "mistralai/Mistral-7B" in page.text


def test_over_quota_cannot_be_submitted_from_the_review(mine: Client) -> None:
    held = steps()["pattern"] | steps()["model"] | steps()["size"] | {"replicas": 3}
    review = mine.post(f"{ALL}+new/", held | {"at": "size"})
    assert "h100: asked for 6, 4 of 4 left" in review.text
    page = mine.post(f"{ALL}+submit/", {"yaml": review.context["yaml"]})
    assert page.status_code == 422 and "Over quota" in page.text
    assert not Deployment.objects.exists()


def test_yaml_is_reviewed_and_its_errors_are_named(mine: Client) -> None:
    assert "pattern: h100-cards" in mine.get(f"{ALL}+yaml/").text
    page = mine.post(f"{ALL}+yaml/", {"yaml": "name: [x"})
    assert page.status_code == 422 and "not YAML" in page.text
    page = mine.post(f"{ALL}+yaml/", {"yaml": "name: x\nimagee: y"})
    assert page.status_code == 422


def test_a_change_is_reviewed_as_a_diff(mine: Client, deployment: Deployment) -> None:
    page = mine.get(f"{ONE}edit/")
    text = page.context["form"].initial["yaml"].replace("replicas: 1", "replicas: 2")
    review = mine.post(f"{ONE}edit/", {"yaml": text})
    assert "What changes" in review.text
    mine.post(
        f"{ALL}+submit/", {"yaml": text, "deployment": "llama", "generation": "1"}, follow=True
    )
    assert deployment.pools.get().replicas == 2


def test_objects_show_the_manifests(mine: Client, deployment: Deployment) -> None:
    assert "PodDisruptionBudget" in mine.get(f"{ONE}objects/").text


def test_the_overview_card_counts(mine: Client, deployment: Deployment) -> None:
    text = mine.get("/deployments/summary/").text
    assert "llama" in text and "Applying" in text


def test_hostile_names_are_text(mine: Client, alice: Any, tenant: Any) -> None:
    made = services.create_deployment(
        actor=alice, tenant=tenant, asked=asked(model='"><script>alert(1)</script>')
    )
    page = mine.get(f"{ALL}{made.name}/")
    assert "<script>alert" not in page.text


def test_two_pools_are_both_shown(mine: Client, alice: Any, tenant: Any) -> None:
    two = [pools(1)[0], {"name": "plugin", "path": "device-plugin", **pools(1)[0]}]
    services.create_deployment(actor=alice, tenant=tenant, asked=asked(pools=two))
    page = mine.get(ONE)
    assert "Pool main" in page.text and "Pool plugin" in page.text
