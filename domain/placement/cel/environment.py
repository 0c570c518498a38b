"""Which CEL environment an expression is compiled in.

Kubernetes has two. The scheduler compiles *stored* expressions with everything
that its binary knows, whatever the feature gates say. The API server compiles
*new* expressions with what the previous minor release knew and with what the
gates allow, and refuses those whose estimated cost is above the limit.
"""

from __future__ import annotations

from dataclasses import dataclass

COST_LIMIT = 1_000_000
LENGTH_LIMIT = 10 * 1024


@dataclass(frozen=True, slots=True)
class Environment:
    admission: bool = False
    consumable_capacity: bool = True
    list_attributes: bool = False

    @property
    def lists(self) -> bool:
        """Whether attributes may be lists, so that macros may walk them."""
        return self.list_attributes or not self.admission

    @property
    def multiple_allocations(self) -> bool:
        return self.consumable_capacity or not self.admission


SCHEDULER = Environment()
ADMISSION = Environment(admission=True)
