"""Where pod logs and pod proxies come from: the fleet fills them in."""

from typing import Protocol

from simulator.apiserver.problems import Refused


class PodBackend(Protocol):
    """What stands behind a pod.

    Both raise Refused where the pod cannot answer. `log` gives the whole log as text, or its last
    `tail` lines; `proxy` gives status, content type and body.
    """

    async def log(
        self, pod: dict[str, object], container: str, *, tail: int | None, previous: bool
    ) -> str: ...

    async def proxy(
        self, pod: dict[str, object], port: int, method: str, path: str, body: bytes
    ) -> tuple[int, str, bytes]: ...


class NoBackend:
    """Nothing runs: no logs, and no pod answers."""

    async def log(
        self, pod: dict[str, object], container: str, *, tail: int | None, previous: bool
    ) -> str:
        return ""

    async def proxy(
        self, pod: dict[str, object], port: int, method: str, path: str, body: bytes
    ) -> tuple[int, str, bytes]:
        raise Refused(503, f"error trying to reach service: dial tcp: port {port}: refused")
