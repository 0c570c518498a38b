"""A certificate authority, a serving certificate and tokens, so that kubeconfigs look real."""

import base64
import hashlib
import hmac
import ipaddress
import os
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ADMIN = "kubernetes-admin"
LIFETIME = timedelta(days=3650)


class Credentials:
    """Made once in `directory` and found again afterwards."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.ca_file = directory / "ca.crt"
        self.certificate_file = directory / "apiserver.crt"
        self.key_file = directory / "apiserver.key"
        self._token_file = directory / "token"
        self._signing_file = directory / "sa.key"
        if not self._token_file.exists():
            self._make()
        self.token = self._token_file.read_text().strip()
        self._signing_key = self._signing_file.read_bytes()

    def _make(self) -> None:
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca_name = _name("simulated-cluster-ca")
        ca = _certificate(ca_name, ca_name, ca_key, ca_key, is_ca=True)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(_name("kube-apiserver"), ca_name, key, ca_key, is_ca=False)
        _write(self.ca_file, ca.public_bytes(serialization.Encoding.PEM))
        _write(self.certificate_file, certificate.public_bytes(serialization.Encoding.PEM))
        _write(
            self.key_file,
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
        _write(self._signing_file, secrets.token_bytes(32))
        _write(self._token_file, secrets.token_urlsafe(32).encode())

    @property
    def ca(self) -> str:
        return self.ca_file.read_text()

    def kubeconfig(self, url: str) -> str:
        ca = base64.b64encode(self.ca_file.read_bytes()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "simulated",
                    "cluster": {"server": url, "certificate-authority-data": ca},
                }
            ],
            "users": [{"name": ADMIN, "user": {"token": self.token}}],
            "contexts": [{"name": "simulated", "context": {"cluster": "simulated", "user": ADMIN}}],
            "current-context": "simulated",
        }
        text: str = yaml.safe_dump(document, sort_keys=False)
        return text

    def account_token(self, namespace: str, account: dict[str, Any], expires: datetime) -> str:
        """A signed token of a ServiceAccount, in the form of a JWT."""
        claims = {
            "iss": "https://kubernetes.default.svc.cluster.local",
            "sub": f"system:serviceaccount:{namespace}:{account['name']}",
            "aud": ["https://kubernetes.default.svc.cluster.local"],
            "exp": int(expires.timestamp()),
            "kubernetes.io": {
                "namespace": namespace,
                "serviceaccount": {"name": account["name"], "uid": account["uid"]},
            },
        }
        head = _base64(orjson.dumps({"alg": "HS256", "typ": "JWT"}))
        body = f"{head}.{_base64(orjson.dumps(claims))}"
        return f"{body}.{_base64(self._signature(body))}"

    def _signature(self, body: str) -> bytes:
        return hmac.digest(self._signing_key, body.encode(), hashlib.sha256)

    def claims_of(self, token: str, now: datetime) -> dict[str, Any] | None:
        """What a ServiceAccount's token says, or None where it is not ours or has expired."""
        body, _, signature = token.rpartition(".")
        if body.count(".") != 1 or not hmac.compare_digest(
            _base64(self._signature(body)), signature
        ):
            return None
        claims: dict[str, Any] = orjson.loads(_unbase64(body.split(".")[1]))
        return claims if claims["exp"] > now.timestamp() else None


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(data)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    *,
    is_ca: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(_key_usage(is_ca), critical=True)
    )
    if not is_ca:
        names: list[x509.GeneralName] = [
            x509.DNSName("localhost"),
            x509.DNSName("kubernetes.default.svc"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
    return builder.sign(signer, hashes.SHA256())


def _key_usage(is_ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_ca,
        crl_sign=is_ca,
        encipher_only=False,
        decipher_only=False,
    )


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unbase64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
