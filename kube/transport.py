"""HTTPS to one API server: TLS from memory, time limits, and errors as kinds."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import orjson
import urllib3
from urllib3.exceptions import (
    HTTPError,
    MaxRetryError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
    TimeoutError,
)
from urllib3.response import BaseHTTPResponse

from kube.credentials import Credentials
from kube.errors import (
    BadCredentials,
    ClusterError,
    Cut,
    Unreachable,
    Untrusted,
    of_status,
)

CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
LARGEST_ANSWER = 256 * 1024 * 1024
JSON = "application/json"


class Transport:
    """One connection pool. Safe to use from several threads."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        user_agent: str,
        connections: int = 32,
        acting_as: str = "",
    ) -> None:
        self.server = credentials.server
        self._lock = threading.Lock()
        self._streams: set[BaseHTTPResponse] = set()
        self._headers = {"Accept": JSON, "User-Agent": user_agent}
        if credentials.token:
            self._headers["Authorization"] = f"Bearer {credentials.token}"
        if acting_as:
            self._headers["Impersonate-User"] = acting_as
        extra: dict[str, Any] = {}
        if credentials.tls_server_name:
            extra = {"server_hostname": credentials.tls_server_name}
        self._pool = urllib3.PoolManager(
            maxsize=connections,
            block=False,
            ssl_context=_tls(credentials),
            retries=False,
            **extra,
        )

    def close(self) -> None:
        """Also ends the streams that other threads are reading."""
        with self._lock:
            streams, self._streams = list(self._streams), set()
        for response in streams:
            with contextlib.suppress(OSError, ValueError):
                response.shutdown()
        # Clearing alone leaves the connections to the garbage collector.
        for key in list(self._pool.pools.keys()):
            pool = self._pool.pools.get(key)
            if pool is not None:
                pool.close()
        self._pool.clear()

    def json(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        """One request and its decoded answer."""
        return decoded(self.raw(method, path, query=query, body=body, content_type=content_type))

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        accept: str = JSON,
        limit: int = LARGEST_ANSWER,
    ) -> bytes:
        """One request and its whole answer, at most `limit` bytes of it."""
        with self._open(method, path, query, body, content_type, accept, READ_SECONDS) as response:
            return _read(response, limit, f"{method} {path}")

    @contextlib.contextmanager
    def stream(
        self, path: str, *, query: dict[str, str], silence: float
    ) -> Iterator[Iterator[bytes]]:
        """An endless GET, as chunks; Unreachable after `silence` seconds without one."""
        with self._open("GET", path, query, None, JSON, JSON, silence) as response:
            with self._lock:
                self._streams.add(response)
            try:
                yield _chunks(response, path)
            finally:
                with self._lock:
                    self._streams.discard(response)

    @contextlib.contextmanager
    def _open(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None,
        body: object,
        content_type: str,
        accept: str,
        read_seconds: float,
    ) -> Iterator[BaseHTTPResponse]:
        url = self.server + path + (f"?{urlencode(query)}" if query else "")
        headers = dict(self._headers, Accept=accept)
        if body is not None:
            headers["Content-Type"] = content_type
        what = f"{method} {path}"
        with _as_kinds(what, self.server):
            response = self._pool.request(
                method,
                url,
                headers=headers,
                body=None if body is None else orjson.dumps(body),
                preload_content=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
            )
        try:
            if response.status >= 300:
                raise _refusal(response, what)
            yield response
        finally:
            # A connection whose answer was left half-read cannot carry another request.
            if not response.closed:
                response.close()
            response.release_conn()


def without_nul(answer: bytes) -> bytes:
    """JSON with U+FFFD for each NUL in its strings: PostgreSQL can neither keep nor compare one.

    Drivers, containers and whoever may edit an object can put one there.
    """
    return answer.replace(b"\\u0000", b"\\ufffd") if b"\\u0000" in answer else answer


def decoded(answer: bytes) -> dict[str, Any]:
    """A JSON object, or Cut: what is not JSON was cut short, or is no API server."""
    try:
        found = orjson.loads(without_nul(answer))
    except orjson.JSONDecodeError:
        raise Cut("the answer is not JSON: is this the address of an API server?") from None
    if not isinstance(found, dict):
        raise Cut("the answer is not a JSON object: is this the address of an API server?")
    return found


def _read(response: BaseHTTPResponse, limit: int, what: str) -> bytes:
    with _as_kinds(what, ""):
        found = response.read(limit)
    if len(found) >= limit and limit == LARGEST_ANSWER:
        raise Cut(f"{what}: the answer is larger than {limit} bytes")
    return found


def _chunks(response: BaseHTTPResponse, path: str) -> Iterator[bytes]:
    stream = (
        response.stream(65536) if getattr(response, "chunked", False) else _as_they_come(response)
    )
    while True:
        with _as_kinds(f"GET {path}", ""):
            chunk = next(stream, None)
        if chunk is None:
            return
        if chunk:
            yield chunk


def _as_they_come(response: BaseHTTPResponse) -> Iterator[bytes]:
    while chunk := response.read1(65536):
        yield chunk


def _refusal(response: BaseHTTPResponse, what: str) -> ClusterError:
    try:
        body = orjson.loads(without_nul(response.read(65536)))
    except (orjson.JSONDecodeError, HTTPError):
        body = {}
    if 300 <= response.status < 400:
        return Unreachable(
            f"{what}: the server sends us elsewhere ({response.status}): "
            "is this the address of an API server?",
            status=response.status,
        )
    return of_status(
        response.status,
        body if isinstance(body, dict) else {},
        what=what,
        retry_after=_seconds(response.headers.get("Retry-After")),
    )


def _seconds(header: str | None) -> float | None:
    try:
        return min(max(float(header), 0.0), 300.0) if header else None
    except ValueError:
        return None


@contextlib.contextmanager
def _as_kinds(what: str, server: str) -> Iterator[None]:
    """Turn what urllib3 raises into our kinds. Its messages hold no headers, so no token."""
    where = f" at {server}" if server else ""
    try:
        yield
    except MaxRetryError as error:
        raise _kind(error.reason or error, what, where) from None
    except (HTTPError, OSError) as error:
        raise _kind(error, what, where) from None


def _kind(error: BaseException, what: str, where: str) -> ClusterError:
    if isinstance(error, SSLError):
        return Untrusted(
            f"{what}: the server{where} is not the one that the CA vouches for ({error})"
        )
    if isinstance(error, NewConnectionError):
        return Unreachable(f"{what}: nobody answers{where} ({_plain(error)})")
    if isinstance(error, ReadTimeoutError | TimeoutError):
        return Unreachable(f"{what}: no answer{where} in time")
    if isinstance(error, ProtocolError):
        return Cut(f"{what}: the connection broke")
    return Unreachable(f"{what}: nobody answers{where} ({_plain(error)})")


def _plain(error: BaseException) -> str:
    """Without the memory addresses that urllib3 prints."""
    return str(error).rpartition(": ")[2][:200]


def _tls(credentials: Credentials) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=credentials.ca or None)
    # Clusters sign with CAs that lack the extensions which Python 3.13 began to insist on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if credentials.client_certificate:
        with _as_file(credentials.client_certificate + "\n" + credentials.client_key) as path:
            try:
                context.load_cert_chain(path)
            except (ssl.SSLError, OSError):
                raise BadCredentials(
                    "bad_certificate", "The client certificate and its key do not fit together."
                ) from None
    return context


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[str]:
    """A path that OpenSSL can read; in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("client-certificate")
        try:
            os.write(handle, text.encode())
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
        return
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        yield file.name
