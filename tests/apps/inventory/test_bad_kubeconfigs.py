"""A kubeconfig that is none gets a sentence; nothing of it is stored, shown again or logged."""

from typing import Any

import pytest
from django.test import Client

from apps.audit.models import Entry
from apps.common.models import Ask
from apps.inventory.models import Cluster
from apps.tenancy.models import User
from tests.kube.test_credentials import kubeconfig

pytestmark = pytest.mark.django_db
SECRET = "s3cret-of-the-tests"
GOOD = kubeconfig({"token": SECRET})
BAD = {
    "binary": "\x7fELF\x02\x01\x01\x00\x00" * 200 + SECRET,
    "control characters": f"\x01\x02{SECRET}\x03",
    "aliases": f"a: &a [{SECRET}, x]\nb: &b [*a, *a]\nclusters: [*b, *b]\nusers: [*b]\n",
    "merges": f"a: &a {{token: {SECRET}}}\nclusters: [{{<<: [*a, *a]}}]\nusers: []\n",
    "tags": f"clusters: !!bool {SECRET}\nusers: []\n",
    "nested": "clusters: " + "[" * 5000 + SECRET,
    "huge": f"# {SECRET}\n" + "x" * 600_000,
    "not text": GOOD.replace("https://api:6443", "6443"),
    "program": kubeconfig({"exec": {"command": "sh", "args": ["-c", SECRET]}, "token": SECRET}),
    "plug-in": kubeconfig({"auth-provider": {"name": "gcp"}, "token": SECRET}),
    "file": kubeconfig({"tokenFile": "/etc/passwd", "token": SECRET}),
    "proxy": kubeconfig({"token": SECRET}, {"proxy-url": f"http://u:{SECRET}@proxy"}),
    "no check": kubeconfig({"token": SECRET}, {"insecure-skip-tls-verify": True}),
    "shell": kubeconfig({"token": f"{SECRET} $(id)"}),
    "html": kubeconfig({"token": SECRET}).replace("user: u", "user: <script>alert(1)</script>"),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_bad_kubeconfig_is_refused_and_forgotten(
    client: Client, admin: User, caplog: Any, capfd: Any, text: str
) -> None:
    client.force_login(admin)
    caplog.clear()
    body = {"slug": "x", "name": "X", "kubeconfig": text}
    page = client.post("/clusters/new/", body)
    assert page.status_code == 422
    assert 'class="invalid-feedback' in page.text or "alert" in page.text
    answer = client.post("/api/v1/clusters/", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["code"] and len(answer.text) < 2000
    printed = capfd.readouterr()
    for said in (page.text, answer.text, caplog.text, printed.out, printed.err):
        assert SECRET not in said and "Traceback" not in said
    assert "<script>alert" not in page.text  # the API's JSON may hold it: it is not HTML
    assert not (Ask.objects.exists() or Cluster.objects.exists() or Entry.objects.exists())
