"""How to reach a cluster and prove who we are, from a kubeconfig or from its three parts.

A kubeconfig is a program in disguise: it can run commands (`exec`), read files of this server and
send traffic elsewhere (`proxy-url`). Those are refused by name, each with what to do instead. What
is kept is plain data: address, CA, and a token or a client certificate.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import ipaddress
import re
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import msgspec
import orjson

from domain import plainyaml
from kube.errors import BadCredentials

LARGEST_KUBECONFIG = 512 * 1024
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?")
INSTEAD = "Use a ServiceAccount token: this page shows the manifest and the command for one."

_REFUSED_USER = {
    "exec": "it runs a command on this server",
    "auth-provider": "it needs a login plug-in, which Kubernetes has removed",
    "client-certificate": "it names a file, which this server does not have",
    "client-key": "it names a file, which this server does not have",
    "tokenFile": "it names a file, which this server does not have",
    "username": "API servers no longer accept passwords",
    "password": "API servers no longer accept passwords",
    "as": "it impersonates somebody else",
    "as-uid": "it impersonates somebody else",
    "as-groups": "it impersonates somebody else",
    "as-user-extra": "it impersonates somebody else",
}
_REFUSED_CLUSTER = {
    "certificate-authority": (
        "it names a file, which this server does not have. Put the certificate itself into "
        "certificate-authority-data: kubectl config view --raw --flatten --minify prints it so."
    ),
    "insecure-skip-tls-verify": (
        "it turns off the check of who answers. Give the cluster's CA certificate instead."
    ),
    "proxy-url": (
        "it sends the traffic through a proxy of the file's choice. Give an address that this "
        "server can reach directly."
    ),
}


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """Everything a connection needs. Never printed: `repr` shows the address alone."""

    server: str
    ca: str = ""
    token: str = ""
    client_certificate: str = ""
    client_key: str = ""
    tls_server_name: str = ""

    def __repr__(self) -> str:
        return f"Credentials({self.server}, ...)"

    def dump(self) -> bytes:
        """Plain bytes with the secrets in them: encrypt before keeping."""
        return msgspec.json.encode(self)

    @property
    def token_expires_at(self) -> datetime | None:
        """When the token says that it ends; None for a certificate or a token without an end."""
        try:
            payload = self.token.split(".")[1]
            claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            return datetime.fromtimestamp(int(claims["exp"]), UTC)
        except (IndexError, KeyError, TypeError, ValueError, OverflowError):
            return None

    @property
    def user(self) -> str:
        """Who the token says it is, for people; "" when it does not say."""
        try:
            payload = self.token.split(".")[1]
            claims = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            return str(claims["sub"])
        except (IndexError, KeyError, TypeError, ValueError):
            return ""


def load(dumped: bytes) -> Credentials:
    """The inverse of `Credentials.dump`."""
    return msgspec.json.decode(dumped, type=Credentials)


def from_parts(*, server: str, token: str, ca: str = "") -> Credentials:
    """Credentials from an address, a CA certificate (PEM or base64 of it) and a bearer token."""
    return Credentials(
        server=_server(server), ca=_certificate(ca, "CA certificate"), token=_token(token)
    )


def from_kubeconfig(text: str, *, context: str = "") -> Credentials:
    """Read the current (or named) context of a kubeconfig; raises BadCredentials."""
    config = _config(text)
    wanted = context or _text(config, "current-context")
    if not wanted:
        raise BadCredentials(
            "no_context", "The kubeconfig has no current-context; name the context to use."
        )
    chosen = _named(config, "contexts", "context", wanted)
    cluster = _named(config, "clusters", "cluster", _text(chosen, "cluster"))
    user = _named(config, "users", "user", _text(chosen, "user"))
    _refuse(cluster, user)
    return _credentials(cluster, user)


def _config(text: str) -> dict[str, Any]:
    if len(text) > LARGEST_KUBECONFIG:
        raise BadCredentials("too_large", "This is larger than any kubeconfig (512 KiB).")
    try:
        config = plainyaml.read(text)
    except plainyaml.NotPlain as error:
        raise BadCredentials("not_yaml", f"{error} So it cannot be a kubeconfig.") from None
    if not isinstance(config, dict) or "clusters" not in config or "users" not in config:
        raise BadCredentials(
            "not_a_kubeconfig",
            "This is not a kubeconfig: it has no clusters and users. "
            "kubectl config view --raw --flatten --minify prints one.",
        )
    return config


def _named(config: dict[str, Any], section: str, key: str, name: str) -> dict[str, Any]:
    entries = config.get(section)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            value = entry.get(key)
            return value if isinstance(value, dict) else {}
    raise BadCredentials(
        "dangling_name", f"The kubeconfig has no entry {name[:100]!r} under {section}."
    )


def _refuse(cluster: dict[str, Any], user: dict[str, Any]) -> None:
    for key, why in _REFUSED_CLUSTER.items():
        if cluster.get(key):
            raise BadCredentials(f"refused_{key}", f"The cluster entry uses {key}: {why}")
    for key, why in _REFUSED_USER.items():
        if user.get(key):
            raise BadCredentials(f"refused_{key}", f"The user entry uses {key}: {why}. {INSTEAD}")


def _credentials(cluster: dict[str, Any], user: dict[str, Any]) -> Credentials:
    token = _text(user, "token")
    certificate = _decoded(user, "client-certificate-data")
    key = _decoded(user, "client-key-data")
    if not token and not (certificate and key):
        raise BadCredentials(
            "no_credentials",
            f"The user entry holds neither a token nor a client certificate. {INSTEAD}",
        )
    return Credentials(
        server=_server(_text(cluster, "server")),
        ca=_certificate(
            _decoded(cluster, "certificate-authority-data"),
            "certificate-authority-data",
        ),
        token=_token(token) if token else "",
        client_certificate="" if token else certificate,
        client_key="" if token else key,
        tls_server_name=_text(cluster, "tls-server-name"),
    )


def _server(url: str) -> str:
    url = url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "https" and _is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        usable = False
    if not usable or len(url) > 500 or not url.isascii() or not url.isprintable() or " " in url:
        raise BadCredentials(
            "bad_server", "The server must be an address such as https://api.example.org:6443."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadCredentials(
            "bad_server", "The server's address must not hold a user, a query or a fragment."
        )
    return url


def _is_host(host: str) -> bool:
    """A name of one label or several, or an address; IPv6 comes without its brackets."""
    if ":" in host:
        with contextlib.suppress(ValueError):
            return bool(ipaddress.IPv6Address(host))
        return False
    return _HOST.fullmatch(host) is not None


def _token(token: str) -> str:
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise BadCredentials("bad_token", "The token is empty or holds characters no token has.")
    return token


def _certificate(text: str, what: str) -> str:
    """PEM text as it is, base64 of PEM decoded; anything that OpenSSL cannot read is refused."""
    text = text.strip()
    if not text:
        return ""
    try:
        if "-----BEGIN" not in text:
            text = base64.b64decode(text, validate=True).decode()
        ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError):
        raise BadCredentials("bad_certificate", f"The {what} is not a PEM certificate.") from None
    return text


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise BadCredentials("not_text", f"{key} must be text; put it in quotes.")
    return value or ""


def _decoded(entry: dict[str, Any], key: str) -> str:
    try:
        return base64.b64decode(_text(entry, key), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise BadCredentials("bad_base64", f"{key} is not base64 of PEM text.") from None
