"""Gates: what a figure must be, by itself and beside the current pool, for a step to count."""

from domain.gates.verdicts import Verdict

__all__ = ["Verdict"]
