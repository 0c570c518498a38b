"""Figures for decisions: what cannot be had is a figure that says so, whatever went wrong.

A mistake in reading figures must never keep a rollback from happening.
"""

from collections.abc import Callable

import structlog

from domain.figures import Figure, State

log = structlog.get_logger(__name__)


def figure(ask: Callable[[], Figure]) -> Figure:
    try:
        return ask()
    except Exception:
        # Judged as an error, which holds and then takes back; the log gets the traceback.
        log.exception("figure not read")
        return Figure(None, State.ERROR, "it failed inside the portal; see its log")


def figures(ask: Callable[[], dict[str, Figure]]) -> dict[str, Figure]:
    """The same for several, by name; none of them when it failed."""
    try:
        return ask()
    except Exception:
        # The whole, asked for besides, tells that it failed.
        log.exception("figures not read")
        return {}
