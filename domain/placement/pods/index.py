"""Pods by name and by the node whose room they take."""

from dataclasses import dataclass, field

from domain.placement.pods.reading import Pod

Key = tuple[str, str]


@dataclass(slots=True)
class PodIndex:
    """Changed only while a fleet is being made; afterwards it is shared and left alone."""

    by_name: dict[Key, Pod] = field(default_factory=dict)
    by_node: dict[str, tuple[Pod, ...]] = field(default_factory=dict)

    def copy(self) -> "PodIndex":
        return PodIndex(dict(self.by_name), dict(self.by_node))

    def get(self, key: Key) -> Pod | None:
        return self.by_name.get(key)

    def on_node(self, name: str) -> tuple[Pod, ...]:
        return self.by_node.get(name, ())

    def put(self, key: Key, pod: Pod | None) -> None:
        """None takes the pod away."""
        before = self.by_name.pop(key, None)
        if before is not None and before.occupies:
            kept = tuple(one for one in self.by_node[before.occupies] if one is not before)
            self.by_node[before.occupies] = kept
        if pod is None:
            return
        self.by_name[key] = pod
        if pod.occupies:
            self.by_node[pod.occupies] = (*self.by_node.get(pod.occupies, ()), pod)
