"""GET at an address beside the cluster's API server: the Prometheus that a cluster is watched by.

No redirects, an answer of limited size, errors as kinds. The address is a platform admin's.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlencode

import urllib3

from kube.errors import BadCredentials, Permanent, Unreachable

CONNECT_SECONDS, READ_SECONDS = 3.0, 20.0


class Outside:
    """One address. Safe to use from several threads."""

    def __init__(self, pool: urllib3.PoolManager, url: str, headers: Mapping[str, str]) -> None:
        self._pool = pool
        self._url = url.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "claimyard", **headers}

    def get(self, path: str, query: Mapping[str, str], *, limit_bytes: int) -> tuple[int, bytes]:
        """Status and body; raises Unreachable, or Permanent for an answer that is too large."""
        url = self._url + path + (f"?{urlencode(query)}" if query else "")
        try:
            response = self._pool.request(
                "GET", url, headers=self._headers, redirect=False, preload_content=False
            )
            try:
                body = response.read(limit_bytes + 1, decode_content=True)
            finally:
                response.close()
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"it does not answer: {_plain(error)}") from None
        if len(body) > limit_bytes:
            raise Permanent(f"the answer is larger than {limit_bytes} bytes; ask for less")
        return response.status, body


@contextmanager
def opened(
    url: str, *, token: str = "", ca: str = "", headers: Mapping[str, str] | None = None
) -> Iterator[Outside]:
    """Closed in the end. Raises BadCredentials for a CA that is no certificate."""
    try:
        context = ssl.create_default_context(cadata=ca or None)
    except (ssl.SSLError, ValueError):
        raise BadCredentials("bad_ca", "The CA is no certificate in PEM form.") from None
    pool = urllib3.PoolManager(
        ssl_context=context,
        retries=False,
        timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
    )
    own = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        yield Outside(pool, url, {**own, **(headers or {})})
    finally:
        for key in list(pool.pools.keys()):
            held = pool.pools.get(key)
            if held is not None:
                held.close()
        pool.clear()


def _plain(error: Exception) -> str:
    """What went wrong, without addresses of objects."""
    reason = getattr(error, "reason", None) or error
    return str(reason).rpartition(">")[2].strip(": ")[:200] or type(error).__name__
