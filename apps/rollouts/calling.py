"""POST to an address that a tenant gave, without becoming its way into our network.

The name is resolved once, every address it has must be public, and the connection goes to the very
address that was checked, so that a name that changes in between gains nothing. No redirects, no
proxy, https only.
"""

import http.client
import ipaddress
import socket
import ssl
from urllib.parse import urlsplit

from django.conf import settings

TIMEOUT_SECONDS = 10
LARGEST_ANSWER = 8192


class NotCalled(Exception):
    """It could not be called, or may not be; the text is for people."""


class _Pinned(http.client.HTTPSConnection):
    """TLS for `host`, over a connection to `address`."""

    def __init__(self, host: str, port: int, address: str, context: ssl.SSLContext) -> None:
        super().__init__(host, port, timeout=TIMEOUT_SECONDS, context=context)
        self._address, self._tls = address, context

    def connect(self) -> None:
        plain = socket.create_connection((self._address, self.port), TIMEOUT_SECONDS)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    """Status and the beginning of the answer; raise NotCalled."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" or not host or parts.username or parts.password:
        raise NotCalled("only https addresses without a user name are called")
    try:
        port = parts.port or 443
    except ValueError:
        raise NotCalled("its port is no number") from None
    address = _checked(host, port)
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    connection = _Pinned(host, port, address, ssl.create_default_context())
    try:
        connection.request("POST", target, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(LARGEST_ANSWER).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise NotCalled(f"{host} did not answer: {error}") from None
    finally:
        connection.close()


def _checked(host: str, port: int) -> str:
    """An address of `host`, once all of them are allowed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotCalled(f"{host} has no address: {error}") from None
    addresses = [str(one[4][0]) for one in found]
    if host not in settings.WEBHOOK_INTERNAL_HOSTS:
        for text in addresses:
            if not ipaddress.ip_address(text.partition("%")[0]).is_global:
                raise NotCalled(
                    f"{host} is at {text}, inside our own network; "
                    "CLAIMYARD_WEBHOOK_INTERNAL_HOSTS names the hosts there that may be called"
                )
    return addresses[0]
