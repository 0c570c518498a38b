"""Where pod logs and pod proxies come from: whoever runs the pods answers.

A node that carries the annotation below names an HTTP address for its pods. It answers
`/containerLogs/NAMESPACE/POD/CONTAINER` as a kubelet does and `/pods/IP/PORT/PATH` as the pod does.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp

from simulator.apiserver.kinds import Kinds
from simulator.apiserver.problems import Refused
from simulator.apiserver.store import Store

GATEWAY = "simulator.claimyard.dev/gateway"
REFUSED = "X-Refused"
CONNECT_SECONDS = 5.0
_HOP = {"connection", "content-length", "host", "transfer-encoding", "authorization"}


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    chunks: AsyncIterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One request through a pod's proxy. `path` begins with a slash and carries the query."""

    method: str
    port: int
    path: str
    headers: Mapping[str, str]
    body: bytes


class PodBackend(Protocol):
    """What stands behind pods. Both calls raise Refused where nothing answers."""

    async def log(self, pod: dict[str, Any], container: str, query: Mapping[str, str]) -> Reply: ...

    async def proxy(self, pod: dict[str, Any], call: Call) -> Reply: ...

    async def close(self) -> None: ...


class Gateways:
    """Asks the address that the pod's node publishes."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store = store
        self._kinds = kinds
        self._session: aiohttp.ClientSession | None = None

    async def log(self, pod: dict[str, Any], container: str, query: Mapping[str, str]) -> Reply:
        meta = pod["metadata"]
        path = f"/containerLogs/{meta['namespace']}/{meta['name']}/{container}"
        return await self._ask("GET", self._address(pod) + path, query, {}, b"")

    async def proxy(self, pod: dict[str, Any], call: Call) -> Reply:
        address = pod.get("status", {}).get("podIP")
        if not address:
            raise Refused(400, "address not allowed")
        url = f"{self._address(pod)}/pods/{address}/{call.port}{call.path}"
        return await self._ask(call.method, url, {}, call.headers, call.body)

    def _address(self, pod: dict[str, Any]) -> str:
        name = pod.get("spec", {}).get("nodeName", "")
        if not name:
            raise Refused(400, f"pod {pod['metadata']['name']} does not have a host assigned")
        kind = self._kinds.find("", "v1", "nodes")
        node = self._store.get(kind, "", name) if kind else None
        annotations = node.parsed()["metadata"].get("annotations", {}) if node else {}
        if GATEWAY not in annotations:
            raise Refused(
                500, f'Get "https://{name}:10250/": dial tcp: lookup {name}: no such host'
            )
        found: str = annotations[GATEWAY]
        return found

    async def _ask(
        self,
        method: str,
        url: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> Reply:
        session = self._session
        if session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
            session = self._session = aiohttp.ClientSession(timeout=timeout)
        kept = {name: value for name, value in headers.items() if name.lower() not in _HOP}
        try:
            response = await session.request(method, url, params=query, headers=kept, data=body)
        except aiohttp.ClientError as failure:
            raise Refused(
                503, f"error trying to reach service: {failure}", reason="ServiceUnavailable"
            ) from None
        if REFUSED in response.headers:
            text = (await response.text()).strip()
            raise Refused(503, f"error trying to reach service: {text}")
        passed = {k: v for k, v in response.headers.items() if k.lower() not in _HOP}
        return Reply(response.status, _chunks(response), passed)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    async with response:
        async for chunk in response.content.iter_any():
            yield chunk
