"""Kubeconfigs and tokens: what is taken, what is refused by name, and what is never shown."""

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from kube import credentials
from kube.errors import BadCredentials

CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIBADAKBggqhkjOPQQDAjAjMSEwHwYDVQQDDBhrM3Mtc2Vy
dmVyLWNhQDE2MDAwMDAwMDAwHhcNMjAwMTAxMDAwMDAwWhcNMzAwMTAxMDAwMDAw
-----END CERTIFICATE-----"""


def kubeconfig(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [
                {"name": "c", "cluster": {"server": "https://api:6443", **(cluster or {})}}
            ],
            "users": [{"name": "u", "user": {"token": "s3cret"} if user is None else user}],
        }
    )


def test_a_token_and_an_address_are_enough() -> None:
    found = credentials.from_kubeconfig(kubeconfig())
    assert (found.server, found.token, found.ca) == ("https://api:6443", "s3cret", "")


def test_nothing_prints_a_secret() -> None:
    found = credentials.from_kubeconfig(kubeconfig())
    assert "s3cret" not in f"{found} {found!r} {[found]} {vars}"
    assert b"s3cret" in found.dump() and credentials.load(found.dump()) == found


@pytest.mark.parametrize(
    "user",
    [
        {"exec": {"command": "aws"}},
        {"auth-provider": {"name": "gcp"}},
        {"client-certificate": "/etc/x.crt", "client-key": "/etc/x.key"},
        {"tokenFile": "/var/run/token"},
        {"token": "t", "as": "admin"},
        {"username": "root", "password": "x"},
    ],
)
def test_what_a_user_entry_may_not_use_is_named(user: dict[str, Any]) -> None:
    with pytest.raises(BadCredentials) as refused:
        credentials.from_kubeconfig(kubeconfig(user))
    named = refused.value.code.removeprefix("refused_")
    assert named in user and named in refused.value.message
    assert "ServiceAccount token" in refused.value.message


@pytest.mark.parametrize(
    "cluster",
    [
        {"insecure-skip-tls-verify": True},
        {"proxy-url": "http://proxy:3128"},
        {"certificate-authority": "/etc/ca.crt"},
    ],
)
def test_what_a_cluster_entry_may_not_use_is_named(cluster: dict[str, Any]) -> None:
    with pytest.raises(BadCredentials, match=next(iter(cluster))):
        credentials.from_kubeconfig(kubeconfig(cluster=cluster))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not_a_kubeconfig"),
        ("just words", "not_a_kubeconfig"),
        ("- a\n- list", "not_a_kubeconfig"),
        ("{", "not_yaml"),
        ("a: !!python/object/apply:os.system ['id']", "not_yaml"),
        ("x" * 600_000, "too_large"),
        ("\x00\x7fELF\x02\x01\xff" * 40, "not_yaml"),
        ("a: &a [x, x]\nclusters: [*a, *a]\nusers: []", "not_yaml"),
        ("clusters: !!bool maybe\nusers: []", "not_yaml"),
        ("clusters: " + "[" * 5_000, "not_yaml"),
        ("clusters: [" + "a," * 11_000 + "]", "not_yaml"),
        ("clusters: 1\nusers: 2\ncurrent-context: x", "dangling_name"),
        ("clusters: []\nusers: []\ncurrent-context: [x]", "not_text"),
        (kubeconfig(cluster={"server": 6443}), "not_text"),
        (kubeconfig(cluster={"server": "https://" + "x" * 100_000}), "bad_server"),
        (kubeconfig({"token": ["t"]}), "not_text"),
        (kubeconfig({"client-certificate-data": 1, "client-key-data": 2}), "not_text"),
        (kubeconfig().replace("current-context: here", "current-context: ''"), "no_context"),
        (kubeconfig().replace("current-context: here", "current-context: x"), "dangling_name"),
        (kubeconfig({}), "no_credentials"),
        (kubeconfig({"token": "two words"}), "bad_token"),
        (kubeconfig(cluster={"server": "http://api"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://user:pw@api"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://[::"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://two words:6443"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://-api"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://ap\ni:6443"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://\u0430pi.example"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://api:99999"}), "bad_server"),
        (kubeconfig(cluster={"server": "https://api?x=1"}), "bad_server"),
        (kubeconfig(cluster={"certificate-authority-data": "%%%"}), "bad_base64"),
        (
            kubeconfig(
                cluster={"certificate-authority-data": base64.b64encode(b"no pem").decode()}
            ),
            "bad_certificate",
        ),
    ],
)
def test_what_is_no_kubeconfig_is_refused_with_a_code(text: str, code: str) -> None:
    with pytest.raises(BadCredentials) as refused:
        credentials.from_kubeconfig(text)
    assert refused.value.code == code and len(refused.value.message) < 400


@pytest.mark.parametrize(
    "server",
    [
        "https://kube-api:6443",
        "https://localhost",
        "https://10.0.0.1:6443",
        "https://[fd00::1]:6443",
        "https://api.lab.internal.",
        "https://rancher.example.org/k8s/clusters/c-m-x1",
        "https://api_server:443",
    ],
)
def test_any_host_that_a_kubeconfig_may_carry_is_taken(server: str) -> None:
    assert credentials.from_kubeconfig(kubeconfig(cluster={"server": server})).server == server


def test_a_broken_certificate_is_no_certificate() -> None:
    with pytest.raises(BadCredentials, match="not a PEM certificate"):
        credentials.from_parts(server="https://api", token="t", ca=CERTIFICATE)


def test_a_token_says_when_it_ends_and_whose_it_is() -> None:
    subject = "system:serviceaccount:claimyard:claimyard"
    claims = orjson.dumps({"exp": 1_800_000_000, "sub": subject})
    body = base64.urlsafe_b64encode(claims).decode().rstrip("=")
    found = credentials.from_parts(server="https://api", token=f"x.{body}.y")
    assert found.token_expires_at == datetime.fromtimestamp(1_800_000_000, UTC)
    assert found.user == subject


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "a.e30.c", "..", "a.bnVsbA.c"])
def test_a_token_that_does_not_say_is_no_error(token: str) -> None:
    found = credentials.from_parts(server="https://api", token=token)
    assert found.token_expires_at is None and found.user == ""


def test_a_real_kubeconfig_of_the_simulated_cluster_works(simulated: Any) -> None:
    found = credentials.from_kubeconfig(Path(simulated.kubeconfig).read_text())
    assert found.server == simulated.url and "BEGIN CERTIFICATE" in found.ca
