"""Which kinds are mirrored, and what of each is kept."""

from collections.abc import Callable
from dataclasses import dataclass

from kube import kinds, parse
from kube.client import Json
from kube.kinds import Kind


@dataclass(frozen=True, slots=True)
class Watched:
    """`keep` makes the JSON to keep; None keeps nothing. `wanted` leaves objects out altogether.

    `counts` marks the kinds that counting cards needs: before all of them have been listed once,
    nothing is counted.
    """

    kind: Kind
    keep: Callable[[Json], Json] | None
    wanted: Callable[[Json], bool] | None = None
    counts: bool = False

    @property
    def name(self) -> str:
        return self.kind.plural


def _whole(kind: Kind) -> Callable[[Json], Json]:
    return lambda raw: parse.body(raw, kind.api_version, kind.kind)


WATCHED: tuple[Watched, ...] = (
    Watched(kinds.NODES, parse.compact_node, counts=True),
    Watched(kinds.NAMESPACES, _whole(kinds.NAMESPACES)),
    Watched(kinds.SLICES, _whole(kinds.SLICES), counts=True),
    Watched(kinds.CLASSES, _whole(kinds.CLASSES)),
    Watched(kinds.TAINT_RULES, _whole(kinds.TAINT_RULES), counts=True),
    Watched(kinds.TEMPLATES, _whole(kinds.TEMPLATES)),
    Watched(kinds.CLAIMS, _whole(kinds.CLAIMS), counts=True),
    Watched(kinds.PODS, parse.compact_pod, counts=True),
    Watched(kinds.DEPLOYMENTS, _whole(kinds.DEPLOYMENTS), parse.uses_devices),
    Watched(kinds.STATEFUL_SETS, _whole(kinds.STATEFUL_SETS), parse.uses_devices),
    Watched(kinds.JOBS, _whole(kinds.JOBS), parse.uses_devices),
    Watched(kinds.GATEWAYS, _whole(kinds.GATEWAYS)),
    Watched(kinds.HTTP_ROUTES, _whole(kinds.HTTP_ROUTES)),
    Watched(kinds.INFERENCE_POOLS, _whole(kinds.INFERENCE_POOLS)),
    Watched(kinds.EVENTS, None),
)
