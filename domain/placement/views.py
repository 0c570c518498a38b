"""What nodes see, gathered once and shared with the fleets before and after."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from domain.placement.pools import View

MOST_OWN = 256


@dataclass(slots=True, eq=False)
class Views:
    """`shared` holds for every fleet that shares it, but for the nodes that are `stale` here."""

    shared: dict[str, View] = field(default_factory=dict)
    stale: frozenset[str] = frozenset()
    own: dict[str, View] = field(default_factory=dict)

    def get(self, node: str) -> View | None:
        return self.own.get(node) if node in self.stale else self.shared.get(node)

    def put(self, node: str, view: View) -> None:
        (self.own if node in self.stale else self.shared)[node] = view

    def without(self, nodes: AbstractSet[str]) -> "Views":
        """For the fleet after a change that concerns these nodes."""
        stale = self.stale | nodes
        own = {name: view for name, view in self.own.items() if name not in nodes}
        if len(stale) <= MOST_OWN:
            return Views(self.shared, stale, own)
        kept = {name: view for name, view in self.shared.items() if name not in stale}
        return Views(kept | own)
