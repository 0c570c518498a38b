"""Asking a Prometheus: by its URL, or through the API server's service proxy."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from apps.common import secrets
from apps.inventory import connections
from apps.telemetry.models import MetricsSource
from kube import outside
from kube.errors import ClusterError

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
    try:
        token = secrets.unseal(bytes(source.token)).decode() if source.token else ""
    except secrets.Undecryptable as error:
        raise Unanswered(f"The stored token cannot be opened: {error}") from None
    headers = {source.tenant_header: source.tenant_value} if source.tenant_header else {}
    try:
        with outside.opened(source.url, token=token, ca=source.ca, headers=headers) as address:
            yield Prometheus(_direct(address))
    except ClusterError as error:
        raise Unanswered(f"Prometheus: {error.message}"[:300]) from None


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


def _direct(address: outside.Outside) -> Asker:
    def ask(path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        return address.get(path, query, limit_bytes=LARGEST_ANSWER)

    return ask
