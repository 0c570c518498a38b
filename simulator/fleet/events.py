"""Kubernetes Events, counted up instead of repeated, and written by one task in order."""

import asyncio
import logging
import uuid
from dataclasses import dataclass
from typing import Any

from simulator.fleet.api import EVENTS, Api, ApiError
from simulator.fleet.clock import Clock

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_REMEMBERED = 2000
# A repeated event is written again at most this often; its count still counts every time.
_REPEAT_SECONDS = 2.0


@dataclass(slots=True)
class _Series:
    namespace: str
    name: str
    body: Json
    count: int = 1
    written: int = 0
    written_at: float = 0.0
    waiting: bool = False


class Recorder:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._series: dict[tuple[str, ...], _Series] = {}
        self._line: asyncio.Queue[_Series] = asyncio.Queue()

    def record(
        self,
        subject: Json,
        reason: str,
        message: str,
        *,
        component: str,
        host: str = "",
        warning: bool = False,
    ) -> None:
        meta = subject["metadata"]
        key = (str(meta.get("uid", meta["name"])), component, reason, message)
        series = self._series.get(key)
        if series is None:
            series = self._new(subject, reason, message, component, host, warning)
            self._series[key] = series
            if len(self._series) > _REMEMBERED:
                del self._series[next(iter(self._series))]
        else:
            series.count += 1
        if not series.waiting:
            series.waiting = True
            self._line.put_nowait(series)

    @staticmethod
    def _new(
        subject: Json, reason: str, message: str, component: str, host: str, warning: bool
    ) -> _Series:
        meta = subject["metadata"]
        namespace = meta.get("namespace") or "default"
        name = f"{meta['name'][:200]}.{uuid.uuid4().hex[:16]}"
        reference = {
            "apiVersion": subject.get("apiVersion", "v1"),
            "kind": subject.get("kind", "Pod"),
            "name": meta["name"],
            "uid": meta.get("uid", ""),
        }
        if meta.get("namespace"):
            reference["namespace"] = meta["namespace"]
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": reference,
            "reason": reason,
            "message": message[:1024],
            "type": "Warning" if warning else "Normal",
            "source": {"component": component} | ({"host": host} if host else {}),
            "reportingComponent": component,
            "reportingInstance": host,
            "firstTimestamp": Clock.stamp(),
        }
        return _Series(namespace, name, body)

    async def run(self) -> None:
        while True:
            series = await self._line.get()
            pause = series.written_at + _REPEAT_SECONDS - Clock.monotonic()
            if series.written and pause > 0:
                asyncio.get_running_loop().call_later(pause, self._line.put_nowait, series)
                continue
            series.waiting = False
            try:
                await self._write(series)
            except ApiError as error:
                # Events are best effort everywhere: a namespace that goes refuses them.
                log.debug("event %s: %s", series.name, error)

    async def _write(self, series: _Series) -> None:
        count, repeated = series.count, series.written > 0
        series.written, series.written_at = count, Clock.monotonic()
        changed = {"count": count, "lastTimestamp": Clock.stamp()}
        if repeated:
            await self._api.merge(EVENTS, series.namespace, series.name, changed)
        else:
            await self._api.create(EVENTS, series.body | changed)
