"""What a deployment's manifests are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Path = Literal["dra", "device-plugin"]


@dataclass(frozen=True, slots=True)
class Env:
    """A variable with a value, or one that refers to a key of a Secret in the namespace."""

    name: str
    value: str = ""
    secret: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    path: str
    period_seconds: int
    failures: int


@dataclass(frozen=True, slots=True)
class Drain:
    """`wait_seconds` before the stop signal, so that routers drop the pod; then `finish_seconds`
    for requests under way, and a rest to tear down."""

    wait_seconds: int = 15
    finish_seconds: int = 45
    rest_seconds: int = 15

    @property
    def grace_seconds(self) -> int:
        return self.wait_seconds + self.finish_seconds + self.rest_seconds


@dataclass(frozen=True, slots=True)
class Server:
    """One model server: its container, its probes, its drain."""

    image: str
    port: int
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[Env, ...] = ()
    cpu: str = ""
    memory: str = ""
    startup: Probe = Probe("/health", 10, 180)
    readiness: Probe = Probe("/health", 5, 3)
    liveness: Probe = Probe("/health", 10, 3)
    drain: Drain = Drain()
    metrics_path: str = "/metrics"

    @property
    def startup_seconds(self) -> int:
        return self.startup.period_seconds * self.startup.failures


@dataclass(frozen=True, slots=True)
class Pool:
    """Identical model servers on one allocation path.

    `claim` is a ResourceClaim's spec on the path dra; `limits` and `requirements` (of node labels)
    belong to the path device-plugin. `weight` is its percentage of the requests. `extra_args`
    follow the server's own. Without `surge` a rollout replaces pods one by one, since a pod that
    has no device to surge onto would wait for ever.
    """

    name: str
    path: Path
    replicas: int
    claim: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    requirements: tuple[Mapping[str, Any], ...] = ()
    extra_args: tuple[str, ...] = ()
    surge: bool = False
    weight: int = 100
    restarted_at: str = ""


@dataclass(frozen=True, slots=True)
class Routing:
    """The Gateway that carries a deployment's requests, and the picker of each pool.

    Without `owns_route` the HTTPRoute is somebody else's, of which one rule was handed over.
    """

    gateway_namespace: str
    gateway_name: str
    hostname: str
    picker_image: str
    failure_mode: str = "FailClose"
    section: str = ""
    owns_route: bool = True


@dataclass(frozen=True, slots=True)
class Serving:
    """A deployment as a whole; `routing` None is one Service for all pools."""

    tenant: str
    namespace: str
    name: str
    server: Server
    pools: tuple[Pool, ...]
    service_account: str
    routing: Routing | None = None
