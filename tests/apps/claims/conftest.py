"""The fixtures of the room below."""

from tests.apps.inventory.conftest import cluster, fleet_told, told

__all__ = ["cluster", "fleet_told", "told"]
