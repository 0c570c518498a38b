"""Signed calls to a real https server on this machine, which the tests say what to answer."""

import datetime
import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.utils import timezone

from apps.rollouts import calling, webhooks
from apps.rollouts.models import Delivery, Migration
from domain.rollout.settings import Hook, Settings


@dataclass
class Receiver:
    url: str = ""
    status: int = 200
    calls: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, private


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: Any, settings: Any) -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.calls.append((dict(self.headers), body))
            self.send_response(found.status)
            self.send_header("Location", "https://localhost:1/elsewhere")
            self.end_headers()
            self.wfile.write(b"heard")

        def log_message(self, *args: object) -> None:
            pass

    certificate, private = _certificate(tmp_path)
    server = HTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    settings.WEBHOOK_INTERNAL_HOSTS = ["localhost"]
    found.url = f"https://localhost:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def delivery_of(migration: Migration, url: str, point: str = "before") -> Delivery:
    hook = Hook(name="gatekeeper", point=point, url=url)  # type: ignore[arg-type]
    key = f"gatekeeper:{point}:1:0"
    return webhooks.put(migration, Settings(hooks=(hook,)), key, "step 1", timezone.now())


def test_a_call_is_signed_and_its_answer_kept(migration: Migration, receiver: Receiver) -> None:
    delivery = delivery_of(migration, receiver.url)
    webhooks.deliver(delivery.pk, timezone.now())
    delivery.refresh_from_db()
    assert (delivery.state, delivery.status, delivery.answer) == ("accepted", 200, "heard")
    [(headers, body)] = receiver.calls
    at, _, signature = headers["Claimyard-Signature"].removeprefix("t=").partition(",v1=")
    secret = webhooks.secret_of(migration).encode()
    wanted = hmac.new(secret, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(signature, wanted)
    assert json.loads(body)["migration"] == migration.name


def test_the_same_point_is_one_delivery_that_is_sent_once(
    migration: Migration, receiver: Receiver
) -> None:
    first, second = (delivery_of(migration, receiver.url) for _ in range(2))
    assert first.pk == second.pk
    webhooks.deliver(first.pk, timezone.now())
    webhooks.deliver(first.pk, timezone.now())
    assert len(receiver.calls) == 1


@pytest.mark.parametrize(
    ("status", "point", "state"),
    [
        (403, "before", "refused"),
        (403, "confirm", "waiting"),  # asked again until somebody agrees
        (503, "before", "waiting"),
        (429, "before", "waiting"),
        (302, "before", "waiting"),  # nobody is followed elsewhere
    ],
)
def test_what_an_answer_means(
    migration: Migration, receiver: Receiver, status: int, point: str, state: str
) -> None:
    receiver.status = status
    delivery = delivery_of(migration, receiver.url, point)
    webhooks.deliver(delivery.pk, timezone.now())
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, len(receiver.calls)) == (state, 1, 1)
    if state == "waiting":
        assert delivery.next_at > timezone.now()


def test_a_receiver_that_never_answers_is_given_up(
    migration: Migration, receiver: Receiver
) -> None:
    receiver.status = 500
    delivery = delivery_of(migration, receiver.url)
    for _ in range(webhooks.MOST_ATTEMPTS):
        Delivery.objects.update(next_at=timezone.now())
        webhooks.deliver(delivery.pk, timezone.now())
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("given-up", webhooks.MOST_ATTEMPTS)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1:1/",
        "https://[::1]:1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1/",
        "https://0.0.0.0/",
        "https://[::ffff:127.0.0.1]/",
        "http://example.com/",
        "https://user:secret@example.com/",
        "file:///etc/passwd",
    ],
)
def test_addresses_of_our_own_network_are_not_called(url: str, settings: Any) -> None:
    settings.WEBHOOK_INTERNAL_HOSTS = []
    with pytest.raises(calling.NotCalled):
        calling.post(url, b"{}", {})
