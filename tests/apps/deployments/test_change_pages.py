"""Drafts of the wizard, and the form by which a deployment is changed."""

from typing import Any

import pytest
from django.test import Client

from apps.deployments import services
from apps.deployments.models import Deployment
from tests.apps.deployments.conftest import asked, pools

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ready")]
ALL = "/t/vision/deployments/"
CHANGE = f"{ALL}llama/change/"


@pytest.fixture(autouse=True)
def nobody_answers(settings: Any) -> None:
    settings.ASK_WAIT_MS = 0


@pytest.fixture
def mine(client: Client, alice: Any) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def deployment(alice: Any, tenant: Any) -> Deployment:
    env = [{"name": "HF_HOME", "value": "/models"}, {"name": "T", "secret": "hub", "key": "token"}]
    content = asked(env=env, args=["--max-model-len", "8192"])
    return services.create_deployment(actor=alice, tenant=tenant, asked=content)


def filled(page: Any) -> dict[str, Any]:
    """What a browser would send of the form as it is shown."""
    change = page.context["change"]
    return {
        form.add_prefix(name): bound.value() if bound.value() is not None else ""
        for form in change.forms
        for name, bound in ((name, form[name]) for name in form.fields)
    }


# --- Drafts
def test_a_wizard_that_was_left_goes_on_where_it_was(mine: Client, tenant: Any) -> None:
    assert "You had begun this" not in mine.get(f"{ALL}+new/").text
    chosen = {"at": "pattern", "cluster": "lab", "pattern": "h100-cards", "path": "dra"}
    model = {"at": "model", "name": "Not A Name!", "runtime": "vllm", "image": ""}
    assert mine.post(f"{ALL}+new/", chosen).context["step"] == "model"
    assert mine.post(f"{ALL}+new/", chosen | model).status_code == 422
    page = mine.get(f"{ALL}+new/")
    assert page.context["step"] == "model" and "You had begun this" in page.text
    assert "Not A Name!" in page.text and ("pattern", "h100-cards") in page.context["kept"]


def test_begin_anew_forgets_the_draft(mine: Client) -> None:
    mine.post(f"{ALL}+new/", {"at": "pattern", "cluster": "lab", "pattern": "h100-cards"})
    page = mine.post(f"{ALL}+new/", {"forget": "1"}, follow=True)
    assert page.context["step"] == "pattern" and "You had begun this" not in page.text


def test_a_draft_is_gone_once_it_is_submitted(mine: Client) -> None:
    mine.post(f"{ALL}+new/", {"at": "pattern", "cluster": "lab", "pattern": "h100-cards"})
    text = "name: mini\ncluster: lab\nimage: x\nmodel: a/b\npools:\n- pattern: h100-cards\n"
    answer = mine.post(f"{ALL}+submit/", {"yaml": f"{text}  params: {{count: 1}}\n"})
    assert answer.status_code == 302
    assert "You had begun this" not in mine.get(f"{ALL}+new/").text


# --- Changing
def test_the_form_shows_what_is(mine: Client, deployment: Deployment) -> None:
    page = mine.get(CHANGE)
    for text in ("--max-model-len", "HF_HOME=/models", "T=secret:hub/token", "v1, as now"):
        assert text in page.text
    assert 'name="main-replicas" value="1"' in page.text and 'name="name"' not in page.text


def test_a_form_that_is_sent_as_it_was_changes_nothing(
    mine: Client, deployment: Deployment
) -> None:
    review = mine.post(CHANGE, filled(mine.get(CHANGE)))
    assert review.status_code == 200 and review.context["diff"] == ""


def test_a_change_is_reviewed_and_carried_out(mine: Client, deployment: Deployment) -> None:
    sent = filled(mine.get(CHANGE)) | {"main-replicas": 2, "model": "other/model"}
    review = mine.post(CHANGE, sent)
    assert "What changes" in review.text and "other/model" in review.context["diff"]
    back = mine.post(CHANGE, dict(review.context["kept"]) | {"back": "1"})
    assert 'name="main-replicas" value="2"' in back.text
    mine.post(
        f"{ALL}+submit/",
        {"yaml": review.context["yaml"], "deployment": "llama", "generation": "1"},
    )
    deployment.refresh_from_db()
    assert deployment.model == "other/model" and deployment.pools.get().replicas == 2


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"main-replicas": -1}, "greater than or equal to 0"),
        ({"main-version": 9}, "not one of the available choices"),
        ({"env": "no equals sign"}, "is not NAME=value"),
        ({"image": ""}, "This field is required"),
        ({"memory": "much"}, "memory"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(
    mine: Client, deployment: Deployment, sent: dict[str, Any], said: str
) -> None:
    page = mine.post(CHANGE, filled(mine.get(CHANGE)) | sent)
    assert page.status_code == 422 and said in page.text


def test_each_pool_has_its_fields_and_the_rest_of_it_stays(
    mine: Client, alice: Any, tenant: Any
) -> None:
    two = [pools(1)[0], {"name": "plugin", "path": "device-plugin", **pools(1)[0]}]
    made = services.create_deployment(actor=alice, tenant=tenant, asked=asked(pools=two))
    page = mine.get(CHANGE)
    assert "Model pool main" in page.text and "Model pool plugin" in page.text
    review = mine.post(CHANGE, filled(page) | {"plugin-replicas": 0})
    assert "path: device-plugin" in review.context["yaml"]
    mine.post(f"{ALL}+submit/", {"yaml": review.context["yaml"], "deployment": "llama"})
    assert dict(made.pools.values_list("name", "replicas")) == {"main": 1, "plugin": 0}


def test_values_that_fields_cannot_hold_are_changed_as_yaml(
    mine: Client, alice: Any, tenant: Any
) -> None:
    odd = asked(env=[{"name": "A", "value": "secret:not-one"}])
    services.create_deployment(actor=alice, tenant=tenant, asked=odd)
    page = mine.get(CHANGE, follow=True)
    assert page.request["PATH_INFO"].endswith("/edit/") and "changed as YAML" in page.text


def test_strangers_and_viewers_change_nothing(
    client: Client, mallory: Any, bob: Any, deployment: Deployment
) -> None:
    client.force_login(mallory)
    assert client.get(CHANGE).status_code == 404
    client.force_login(bob)
    assert client.get(CHANGE).status_code == 403
