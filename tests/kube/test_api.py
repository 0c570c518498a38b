"""The HTTP client against a running API server, and what its failures are called."""

import base64
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import kube
from kube import Access, credentials, errors, features, kinds, rights
from kube.api import ApiCluster
from simulator.apiserver import Fault
from tests.workers import fleet


@pytest.fixture
def opened(simulated: Any) -> Iterator[credentials.Credentials]:
    simulated.faults.clear()
    yield credentials.from_kubeconfig(Path(simulated.kubeconfig).read_text())
    simulated.faults.clear()


@pytest.fixture
def cluster(opened: credentials.Credentials) -> Iterator[ApiCluster]:
    found = kube.connect(opened)
    yield found
    for raw in found.list_all(kinds.NODES):
        found.delete(kinds.NODES, None, raw["metadata"]["name"], missing_ok=True)
    found.close()


def test_a_cluster_tells_what_it_is_and_serves(cluster: ApiCluster) -> None:
    assert cluster.version().startswith("v1.")
    served = cluster.resources()
    assert "/v1/pods" in served and "resource.k8s.io/v1/resourceslices" in served
    assert features.found(served)["dra"] is True
    assert features.found(frozenset())["dra"] is False


def test_apply_is_repeatable_and_dry_run_leaves_nothing(cluster: ApiCluster) -> None:
    assert cluster.apply(fleet.node("n1"), dry_run=True)["metadata"]["name"] == "n1"
    with pytest.raises(errors.NotFound):
        cluster.get(kinds.NODES, None, "n1")
    first = cluster.apply(fleet.node("n1"))
    again = cluster.apply(fleet.node("n1"))
    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


def test_a_list_comes_in_pages_of_one_state(cluster: ApiCluster) -> None:
    for number in range(5):
        cluster.apply(fleet.node(f"n{number}"))
    pages = list(cluster.list_pages(kinds.NODES, limit=2))
    assert [len(page.items) for page in pages] == [2, 2, 1]
    assert pages[-1].more == "" and len({page.resource_version for page in pages}) == 1
    item = pages[0].items[0]
    assert item.name == "n0" and item.object()["metadata"]["uid"] == item.uid


def test_apply_names_the_fields_that_somebody_else_owns(cluster: ApiCluster) -> None:
    cluster.apply(fleet.node("n1", colour="red"), field_manager="other")
    with pytest.raises(errors.Conflict) as refused:
        cluster.apply(fleet.node("n1", colour="blue"))
    assert any("colour" in cause.field for cause in refused.value.causes)
    assert cluster.apply(fleet.node("n1", colour="blue"), force=True)


def test_delete_minds_the_uid(cluster: ApiCluster) -> None:
    made = cluster.apply(fleet.node("n1"))
    with pytest.raises(errors.Conflict):
        cluster.delete(kinds.NODES, None, "n1", uid="another")
    cluster.delete(kinds.NODES, None, "n1", uid=made["metadata"]["uid"])
    cluster.delete(kinds.NODES, None, "n1", missing_ok=True)
    with pytest.raises(errors.NotFound) as gone:
        cluster.delete(kinds.NODES, None, "n1")
    assert not gone.value.is_path


def test_a_json_patch_applies_only_to_the_state_that_was_seen(cluster: ApiCluster) -> None:
    cluster.apply(fleet.node("n1", colour="red"))
    test = {"op": "test", "path": "/metadata/labels/colour", "value": "green"}
    change = {"op": "replace", "path": "/metadata/labels/colour", "value": "blue"}
    with pytest.raises(errors.Permanent):
        cluster.patch_json(kinds.NODES, None, "n1", [test, change])
    changed = cluster.patch_json(kinds.NODES, None, "n1", [test | {"value": "red"}, change])
    assert changed["metadata"]["labels"]["colour"] == "blue"


def test_a_kind_that_is_not_served_is_a_missing_path(cluster: ApiCluster) -> None:
    with pytest.raises(errors.NotFound) as missing:
        cluster.kind_of({"apiVersion": "ray.io/v1", "kind": "RayService"})
    assert missing.value.is_path


def test_a_watch_ends_when_its_connection_is_closed(cluster: ApiCluster) -> None:
    seen: list[str] = []

    def follow() -> None:
        try:
            seen.extend(event.type for event in cluster.watch(kinds.NODES, "0"))
        except errors.ClusterError:
            seen.append("broken")

    thread = threading.Thread(target=follow)
    thread.start()
    while not seen:
        time.sleep(0.01)
    cluster.close()
    thread.join(10)
    assert not thread.is_alive() and seen[0] == "BOOKMARK"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("500", errors.ServerFault),
        ("429", errors.Busy),
        ("expired-token", errors.Unauthorized),
        ("away", errors.Transient),
        ("410", errors.Gone),
    ],
)
def test_each_failure_has_its_kind(
    simulated: Any, cluster: ApiCluster, kind: str, expected: type[errors.ClusterError]
) -> None:
    simulated.faults.add(Fault(kind, match="GET *", times=1, seconds=7))
    with pytest.raises(expected) as failed:
        cluster.get(kinds.NODES, None, "n1")
    assert failed.value.message and "Bearer" not in failed.value.message
    if kind == "429":
        assert failed.value.retry_after == 7


def test_a_wrong_token_is_unauthorized(opened: credentials.Credentials) -> None:
    wrong = credentials.from_parts(server=opened.server, ca=opened.ca, token="wrong-token")
    with closing(kube.connect(wrong)) as cluster, pytest.raises(errors.Unauthorized) as refused:
        cluster.list_all(kinds.NODES)
    assert "wrong-token" not in str(refused.value)


def test_a_server_of_another_ca_is_not_trusted(opened: credentials.Credentials) -> None:
    untrusting = credentials.Credentials(opened.server, token=opened.token)
    with closing(kube.connect(untrusting)) as cluster, pytest.raises(errors.Untrusted):
        cluster.version()


def test_nobody_at_the_address_is_unreachable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = credentials.Credentials(f"https://127.0.0.1:{port}", token="t")
    refused = pytest.raises(errors.Unreachable, match="nobody answers")
    with closing(kube.connect(nobody)) as cluster, refused:
        cluster.version()


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Any]:
    """An HTTPS server that is no API server: it says what a test wants, once for each call."""
    from bench.replay import certificate

    pem = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    listening = socket.create_server(("127.0.0.1", 0))
    answers: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            with context.wrap_socket(plain, server_side=True) as connection:
                connection.recv(65536)
                connection.sendall(answers.pop(0))

    threading.Thread(target=serve, daemon=True).start()
    ca = pem.read_text().partition("-----BEGIN PRIVATE")[0]
    port = listening.getsockname()[1]
    found = kube.connect(
        credentials.from_parts(server=f"https://127.0.0.1:{port}", token="t", ca=ca)
    )
    yield found, answers
    found.close()
    listening.close()


def whole(body: bytes, status: str = "200 OK", *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status.encode(), b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\nConnection: close\r\n\r\n" + body


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (whole(b"<html>hello</html>"), errors.Cut),
        (whole(b"[1, 2]"), errors.Cut),
        (whole(b"", "302 Found", b"Location: https://evil"), errors.Unreachable),
        (whole(b'{"gitVersion":"v1"}')[:-5], errors.Cut),
        (whole(b"not json", "503 Busy", b"Retry-After: soon"), errors.Busy),
    ],
)
def test_what_is_no_api_server_is_told_apart(
    stranger: Any, answer: bytes, expected: type[errors.ClusterError]
) -> None:
    cluster, answers = stranger
    answers.append(answer)
    with pytest.raises(expected):
        cluster.version()


def test_a_watch_line_that_is_cut_or_no_json_breaks_the_stream(stranger: Any) -> None:
    cluster, answers = stranger
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    good = b'{"type":"ADDED","object":{"metadata":{"name":"n","uid":"u","resourceVersion":"3"}}}\n'
    for tail in (b'{"type":"ADDED","obj', b"not json\n", b'{"type":"NEW","object":{}}\n'):
        body = good + tail
        answers.append(chunked + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        events = cluster.watch(kinds.NODES, "1")
        assert next(events).type == "BOOKMARK"
        assert next(events).item.resource_version == "3"
        with pytest.raises(errors.Cut):
            next(events)


def test_rights_are_asked_one_by_one_and_compared_with_the_table(cluster: ApiCluster) -> None:
    allowed = cluster.review_access(rights.to_ask(["observe", "manage"]))
    served = cluster.resources()
    assert rights.missing(allowed, ["observe", "manage"], served) == []
    allowed[Access("list", "", "nodes")] = False
    (lost,) = rights.missing(allowed, ["observe"], served)
    assert (lost.feature, lost.access) == ("Inventory", "list nodes")


def test_the_roles_to_install_grant_what_the_table_asks_for() -> None:
    levels = ("manage", "migrate")
    granted = {
        Access(verb, group, resource.partition("/")[0], name=name, subresource=sub)
        for level in levels
        for rule in rights.cluster_role(level)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for sub in [resource.partition("/")[2]]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
    assert granted == set(rights.to_ask(levels))
    everything = str(rights.manifests(mode="manage", metrics=True, migrate=True))
    assert "*" not in everything and "secrets" not in everything and "exec" not in everything


def test_a_client_certificate_from_memory_opens_the_door(tmp_path: Path) -> None:
    from bench.replay import certificate

    pem = certificate(tmp_path).read_text()
    cert, key = pem.partition("-----BEGIN PRIVATE")[0], pem[pem.index("-----BEGIN PRIVATE") :]
    encoded = [base64.b64encode(part.encode()).decode() for part in (cert, key)]
    text = f"""
current-context: x
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:1"}}}}]
users: [{{name: u, user: {{client-certificate-data: {encoded[0]}, client-key-data: {encoded[1]}}}}}]
"""
    found = credentials.from_kubeconfig(text)
    assert kube.connect(found).server == "https://127.0.0.1:1"
    broken = credentials.Credentials("https://x", client_certificate=cert, client_key=cert)
    with pytest.raises(errors.BadCredentials, match="do not fit"):
        kube.connect(broken)
