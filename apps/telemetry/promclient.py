"""Asking a Prometheus: by its URL, or through the API server's service proxy."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode

import orjson
import urllib3

from apps.common import secrets
from apps.inventory import connections
from apps.telemetry.models import MetricsSource
from kube.errors import ClusterError

CONNECT_SECONDS, READ_SECONDS = 3.0, 20.0
LARGEST_ANSWER = 32 * 2**20
QUERY, RANGE, BUILD = "/api/v1/query", "/api/v1/query_range", "/api/v1/status/buildinfo"


class Unanswered(Exception):
    """No usable answer; the message is for people and holds no secret."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer: labels, and values as (unix seconds, value)."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        return self.points[-1][1]


class Asker(Protocol):
    def __call__(self, path: str, query: Mapping[str, str]) -> tuple[int, bytes]: ...


class Prometheus:
    """One Prometheus; every method raises Unanswered."""

    def __init__(self, ask: Asker) -> None:
        self._ask = ask

    def query(self, query: str, at: float) -> list[Series]:
        return self._series(QUERY, {"query": query, "time": f"{at:.3f}"})

    def query_range(self, query: str, start: float, end: float, step: int) -> list[Series]:
        wanted = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": str(step)}
        return self._series(RANGE, wanted)

    def version(self) -> str:
        found = self._json(BUILD, {})
        return str(found.get("version") or "unknown version") if isinstance(found, dict) else ""

    def _series(self, path: str, wanted: Mapping[str, str]) -> list[Series]:
        found = self._json(path, wanted)
        try:
            return [_one(row, found["resultType"]) for row in _rows(found)]
        except (KeyError, TypeError, ValueError, IndexError):
            raise Unanswered("The answer is not Prometheus' own; is the address right?") from None

    def _json(self, path: str, wanted: Mapping[str, str]) -> Any:
        status, body = self._ask(path, wanted)
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        if status in {401, 403}:
            raise Unanswered(f"Prometheus refused the token ({status}).", refused=True)
        if not isinstance(answer, dict) or "status" not in answer:
            raise Unanswered(f"HTTP {status}, and no answer in Prometheus' form.")
        if answer["status"] != "success":
            said = f"{answer.get('errorType', 'error')}: {answer.get('error', '')}"
            raise Unanswered(f"Prometheus answered {said[:300]}")
        return answer.get("data")


def _rows(found: Any) -> list[Any]:
    if found["resultType"] == "scalar":
        return [{"metric": {}, "value": found["result"]}]
    rows = found["result"]
    if not isinstance(rows, list):
        raise TypeError(rows)
    return rows


def _one(row: Any, kind: str) -> Series:
    pairs = row["values"] if kind == "matrix" else [row["value"]]
    return Series(row["metric"], tuple((float(at), float(value)) for at, value in pairs))


@contextmanager
def opened(source: MetricsSource) -> Iterator[Prometheus]:
    """A connection to the source's Prometheus, closed in the end. Raises Unanswered when used."""
    if source.kind == MetricsSource.Kind.SERVICE:
        try:
            with connections.opened(source.cluster) as connection:
                yield Prometheus(_through(connection, source))
        except ClusterError as error:
            refused = error.status in {401, 403}
            raise Unanswered(f"{error.reason}: {error.message}"[:300], refused=refused) from None
        return
    with _pool(source) as pool:
        yield Prometheus(_direct(pool, source))


def _through(connection: Any, source: MetricsSource) -> Asker:
    scheme = "https:" if source.service_tls else ""
    service = f"{scheme}{source.service_name}:{source.service_port}"

    def ask(path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        where = source.service_path.rstrip("/") + path
        body = connection.service_get(
            source.service_namespace, service, where, query=dict(query), limit_bytes=LARGEST_ANSWER
        )
        return 200, body

    return ask


@contextmanager
def _pool(source: MetricsSource) -> Iterator[urllib3.PoolManager]:
    try:
        context = ssl.create_default_context(cadata=source.ca or None)
    except ssl.SSLError:
        raise Unanswered("The CA is no certificate in PEM form.") from None
    pool = urllib3.PoolManager(
        ssl_context=context,
        retries=False,
        timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
    )
    try:
        yield pool
    finally:
        for key in list(pool.pools.keys()):
            held = pool.pools.get(key)
            if held is not None:
                held.close()
        pool.clear()


def _direct(pool: urllib3.PoolManager, source: MetricsSource) -> Asker:
    headers = {"Accept": "application/json", "User-Agent": "claimyard"}
    if source.token:
        try:
            headers["Authorization"] = f"Bearer {secrets.unseal(bytes(source.token)).decode()}"
        except secrets.Undecryptable as error:
            raise Unanswered(f"The stored token cannot be opened: {error}") from None
    if source.tenant_header:
        headers[source.tenant_header] = source.tenant_value

    def ask(path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        url = source.url.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        try:
            response = pool.request(
                "GET", url, headers=headers, redirect=False, preload_content=False
            )
            try:
                body = response.read(LARGEST_ANSWER + 1, decode_content=True)
            finally:
                response.close()
        except urllib3.exceptions.HTTPError as error:
            raise Unanswered(f"Prometheus does not answer: {_plain(error)}") from None
        if len(body) > LARGEST_ANSWER:
            raise Unanswered("The answer is larger than 32 MiB; ask for less.")
        return response.status, body

    return ask


def _plain(error: Exception) -> str:
    """What went wrong, without addresses of objects."""
    reason = getattr(error, "reason", None) or error
    return str(reason).rpartition(">")[2].strip(": ")[:200] or type(error).__name__
