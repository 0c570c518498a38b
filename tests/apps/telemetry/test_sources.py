"""Where metrics come from: said by an admin, kept sealed, tried by a worker, told to the API."""

from typing import Any

import pytest
from django.test import Client

from apps.audit.models import Entry
from apps.common import asks, secrets
from apps.common.models import Ask
from apps.inventory.models import Cluster
from apps.telemetry import services, tasks, trying
from apps.telemetry.models import MetricsSource
from domain.errors import InvalidValue

pytestmark = pytest.mark.django_db
PAGE = "/clusters/east/metrics/"
API = "/api/v1/clusters/east/metrics-source/"


def form(**given: Any) -> dict[str, Any]:
    return {"kind": "prometheus", "url": "https://prometheus.example.org", **given}


def test_an_admin_says_where_and_the_token_is_never_shown(
    client: Client, admin: Any, cluster: Cluster
) -> None:
    client.force_login(admin)
    assert client.post(PAGE, form(token="sesame")).status_code == 302
    source = MetricsSource.objects.get()
    assert secrets.unseal(bytes(source.token)) == b"sesame"
    text = client.get(PAGE).text
    assert "https://prometheus.example.org" in text and "sesame" not in text
    assert "sesame" not in str(list(Entry.objects.values()))
    # Saved again without a token, the stored one stays; asked to, it goes.
    client.post(PAGE, form())
    assert MetricsSource.objects.get().token
    client.post(PAGE, form(forget_token="on"))
    assert not MetricsSource.objects.get().token


@pytest.mark.parametrize(
    "given",
    [
        {"url": ""},
        {"url": "file:///etc/passwd"},
        {"kind": "service"},
        {"ca": "no certificate"},
        {"tenant_header": "X-Scope-OrgID"},
        {"tenant_header": "X\r\nY", "tenant_value": "x"},
        {"kind": "carrier pigeon"},
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(
    client: Client, admin: Any, cluster: Cluster, given: dict[str, str]
) -> None:
    client.force_login(admin)
    assert client.post(PAGE, form(**given)).status_code == 422
    assert not MetricsSource.objects.exists()


def test_others_may_look_or_not_even_that(
    client: Client, alice: Any, auditor: Any, cluster: Cluster
) -> None:
    client.force_login(auditor)
    assert client.get(PAGE).status_code == 200
    assert client.post(PAGE, form()).status_code == 403
    client.force_login(alice)
    assert client.get(PAGE).status_code == 404
    assert client.get(API).status_code == 404


def test_the_api_does_what_the_page_does(client: Client, admin: Any, cluster: Cluster) -> None:
    client.force_login(admin)
    assert client.get(API).json()["kind"] == "pods"
    given = {"kind": "service", "service_namespace": "monitoring", "service_name": "prometheus"}
    refused = client.put(API, given, content_type="application/json")
    assert refused.status_code == 400 and "service_port" in refused.text
    found = client.put(
        API, given | {"service_port": "9090", "token": "sesame"}, content_type="application/json"
    )
    assert found.status_code == 200 and found.json()["has_token"] and "sesame" not in found.text
    assert "services/proxy" in client.get(PAGE).text


def test_a_trial_says_what_it_found(admin: Any, cluster: Cluster) -> None:
    source = services.set_source(
        actor=admin, cluster=cluster, kind="prometheus", url="http://127.0.0.1:9"
    )
    ask = trying.ask_try(admin, source)
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert "does not answer" in (ask.answer or {})["problem"]
    source.refresh_from_db()
    assert source.checked_at and "does not answer" in source.problem


def test_a_service_that_does_not_know_the_kind_is_refused(admin: Any, cluster: Cluster) -> None:
    with pytest.raises(InvalidValue):
        services.set_source(actor=admin, cluster=cluster, kind="pigeon")


def test_only_clusters_that_the_portal_reads_itself_are_read(cluster: Cluster, sent: Any) -> None:
    tasks.sweep_servers()
    assert sent.messages == [("read_servers", (cluster.pk,))]
    MetricsSource.objects.create(cluster=cluster, kind="prometheus", url="http://127.0.0.1:9")
    tasks.sweep_servers()
    assert len(sent.messages) == 1


def test_pages_ask_a_worker_and_never_a_prometheus(
    client: Client, admin: Any, cluster: Cluster, settings: Any
) -> None:
    settings.ASK_WAIT_MS = 0
    MetricsSource.objects.create(cluster=cluster, kind="prometheus", url="http://127.0.0.1:9")
    client.force_login(admin)
    path = "/observability/chart/?metric=tokens&cluster=east"
    assert client.get(path).json()["note"] == "Asking Prometheus …"
    assert client.get("/api/v1/series/?metric=tokens&cluster=east").status_code == 202
    for ask in Ask.objects.filter(kind="telemetry.series"):
        asks.answer(ask.pk)
    note = client.get(path).json()["note"]
    assert note.startswith("Error") and "does not answer" in note


def test_the_series_of_the_api_have_their_state(
    client: Client, alice: Any, cluster: Cluster
) -> None:
    client.force_login(alice)
    found = client.get("/api/v1/series/?metric=tokens&range=1h").json()
    assert (found["state"], found["lines"], len(found["times"])) == ("not-configured", [], 60)
    assert client.get("/api/v1/series/?metric=tokens&tenant=other").status_code == 404
    assert client.get("/api/v1/series/?metric=nonsense").status_code == 400
    figures = client.get("/api/v1/figures/").json()
    assert len(figures) == 18 and all(one["state"] for one in figures)
