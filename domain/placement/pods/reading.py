"""Pods as the scheduler's filters need them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.placement.amounts import Amount
from domain.placement.claims import Toleration
from domain.placement.nodeselectors import NodeSelector, Term
from domain.placement.published import read_node_selector, read_term
from domain.placement.reading import (
    Raw,
    amount,
    each,
    flag,
    named,
    number,
    required,
    rows,
    table,
    text,
)

Amounts = Mapping[str, int]
"""Resource name to nanos."""

POD_LEVEL = ("cpu", "memory")
ASSUMED = {"cpu": Amount(100_000_000), "memory": Amount(200 * 1024 * 1024 * 10**9)}
"""What scoring assumes of a container that requests nothing: 100m and 200 MB."""


@dataclass(frozen=True, slots=True)
class HostPort:
    ip: str
    protocol: str
    port: int

    def collides_with(self, other: "HostPort") -> bool:
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return "0.0.0.0" in (self.ip, other.ip) or self.ip == other.ip  # noqa: S104  a wildcard


@dataclass(frozen=True, slots=True)
class Container:
    name: str
    requests: Amounts
    is_init: bool = False
    is_sidecar: bool = False


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """An entry of spec.resourceClaims; `generated` is the name that its template got."""

    name: str
    claim: str = ""
    template: str = ""
    generated: str | None = None


@dataclass(frozen=True, slots=True)
class Pod:
    """`requests` is what the pod occupies on a node, `weighed` what scoring counts."""

    namespace: str
    name: str
    uid: str
    node_name: str = ""
    is_over: bool = False
    requests: Amounts = field(default_factory=dict)
    weighed: Amounts = field(default_factory=dict)
    containers: tuple[Container, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_labels: Mapping[str, str] = field(default_factory=dict)
    affinity: NodeSelector | None = None
    preferred: tuple[tuple[int, Term], ...] = ()
    claims: tuple[ClaimReference, ...] = ()
    gates: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def occupies(self) -> str:
        """The node on which it takes room, or nothing."""
        return "" if self.is_over else self.node_name


def read_pod(raw: Raw) -> Pod:
    """Raises Malformed."""
    namespace, name = named(raw)
    spec, status = table(raw.get("spec"), "spec"), table(raw.get("status"), "status")
    affinity = table(
        table(spec.get("affinity"), "spec.affinity").get("nodeAffinity"), "spec.affinity"
    )
    containers = _containers(spec)
    return Pod(
        namespace=namespace,
        name=name,
        uid=text(table(raw["metadata"], "metadata").get("uid"), "metadata.uid"),
        node_name=text(spec.get("nodeName"), "spec.nodeName"),
        is_over=status.get("phase") in ("Succeeded", "Failed"),
        requests=_occupied(containers, spec),
        weighed=_occupied([_weighed(one) for one in containers], spec),
        containers=containers,
        host_ports=_host_ports(spec),
        tolerations=each(spec.get("tolerations"), "spec.tolerations", _toleration),
        node_labels=dict(table(spec.get("nodeSelector"), "spec.nodeSelector")),
        affinity=read_node_selector(
            affinity.get("requiredDuringSchedulingIgnoredDuringExecution"), "spec.affinity"
        ),
        preferred=each(
            affinity.get("preferredDuringSchedulingIgnoredDuringExecution"),
            "spec.affinity",
            _preferred,
        ),
        claims=_claims(spec, status),
        gates=each(spec.get("schedulingGates"), "spec.schedulingGates", _name),
        not_modelled=_not_modelled(spec),
        raw=raw,
    )


def _containers(spec: Raw) -> tuple[Container, ...]:
    def first(raw: Raw, path: str) -> Container:
        sidecar = raw.get("restartPolicy") == "Always"
        return Container(_name(raw, path), _requests(raw, path), is_init=True, is_sidecar=sidecar)

    def main(raw: Raw, path: str) -> Container:
        return Container(_name(raw, path), _requests(raw, path))

    return (
        *each(spec.get("initContainers"), "spec.initContainers", first),
        *each(spec.get("containers"), "spec.containers", main),
    )


def _requests(raw: Raw, path: str) -> dict[str, int]:
    """A limit without a request counts as the request, as the API server fills it in."""
    resources = table(raw.get("resources"), f"{path}.resources")
    return _amounts(resources.get("limits"), path) | _amounts(resources.get("requests"), path)


def _amounts(raw: object, path: str) -> dict[str, int]:
    return {name: amount(value, f"{path}.{name}").nanos for name, value in table(raw, path).items()}


def _weighed(one: Container) -> Container:
    assumed = {name: amount.nanos for name, amount in ASSUMED.items()}
    return Container(one.name, assumed | dict(one.requests), one.is_init, one.is_sidecar)


def _occupied(containers: Any, spec: Raw) -> dict[str, int]:
    """Init containers run before the others, sidecars beside all that follow (KEP-753)."""
    running: dict[str, int] = {}
    beside: dict[str, int] = {}
    peak: dict[str, int] = {}
    for one in containers:
        if not one.is_init:
            _add(running, one.requests)
        elif one.is_sidecar:
            _add(beside, one.requests)
            _raise(peak, beside)
        else:
            here = dict(beside)
            _add(here, one.requests)
            _raise(peak, here)
    _add(running, beside)
    _raise(running, peak)
    level = table(table(spec.get("resources"), "spec.resources").get("requests"), "spec.resources")
    pod_level = _amounts(
        {
            name: value
            for name, value in level.items()
            if name in POD_LEVEL or name.startswith("hugepages-")
        },
        "spec.resources.requests",
    )
    running |= pod_level
    _add(running, _amounts(spec.get("overhead"), "spec.overhead"))
    return running


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, nanos in more.items():
        total[name] = total.get(name, 0) + nanos


def _raise(total: dict[str, int], floor: Amounts) -> None:
    for name, nanos in floor.items():
        total[name] = max(total.get(name, 0), nanos)


def _host_ports(spec: Raw) -> tuple[HostPort, ...]:
    """Only of containers and sidecars: others have stopped when the pod runs."""
    containers = [
        *rows(spec.get("containers"), "spec.containers"),
        *(one for one in rows(spec.get("initContainers"), "spec.initContainers")),
    ]
    found = []
    for one in containers:
        for raw in rows(one.get("ports"), "ports"):
            port = number(raw.get("hostPort"), "hostPort")
            if port > 0:
                found.append(
                    HostPort(raw.get("hostIP") or "0.0.0.0", raw.get("protocol") or "TCP", port)  # noqa: S104
                )
    return tuple(found)


def _toleration(raw: Raw, path: str) -> Toleration:
    return Toleration(
        key=text(raw.get("key"), f"{path}.key"),
        operator=text(raw.get("operator"), f"{path}.operator"),
        value=text(raw.get("value"), f"{path}.value"),
        effect=text(raw.get("effect"), f"{path}.effect"),
    )


def _preferred(raw: Raw, path: str) -> tuple[int, Term]:
    return number(raw.get("weight"), f"{path}.weight"), read_term(
        table(raw.get("preference"), f"{path}.preference"), f"{path}.preference"
    )


def _claims(spec: Raw, status: Raw) -> tuple[ClaimReference, ...]:
    generated = {
        entry.get("name"): entry.get("resourceClaimName")
        for entry in rows(status.get("resourceClaimStatuses"), "status.resourceClaimStatuses")
    }
    known = set(generated)

    def one(raw: Raw, path: str) -> ClaimReference:
        name = required(raw, "name", path)
        made = generated.get(name)
        return ClaimReference(
            name=name,
            claim=text(raw.get("resourceClaimName"), f"{path}.resourceClaimName"),
            template=text(raw.get("resourceClaimTemplateName"), path),
            generated=(made or "") if name in known else None,
        )

    return each(spec.get("resourceClaims"), "spec.resourceClaims", one)


def _name(raw: Raw, path: str) -> str:
    return text(raw.get("name"), f"{path}.name")


def _not_modelled(spec: Raw) -> tuple[str, ...]:
    """What kube-scheduler would look at and this package does not."""
    affinity = table(spec.get("affinity"), "spec.affinity")
    asked = {
        "topology spread": spec.get("topologySpreadConstraints"),
        "inter-pod affinity": affinity.get("podAffinity"),
        "inter-pod anti-affinity": affinity.get("podAntiAffinity"),
        "volumes": any(
            one.get("persistentVolumeClaim") or one.get("ephemeral")
            for one in rows(spec.get("volumes"), "spec.volumes")
        ),
        "another scheduler": spec.get("schedulerName") not in (None, "", "default-scheduler"),
        "user namespaces": flag(spec.get("hostUsers"), "spec.hostUsers") is False,
    }
    return tuple(name for name, present in asked.items() if present)
