"""Trying out a cluster: can it be reached, what does it serve, which rights are missing."""

from dataclasses import asdict
from typing import Any

from apps.inventory.models import Mode
from kube import features, rights
from kube.client import Cluster
from kube.credentials import Credentials

EVERY_LEVEL = ("observe", "manage", "metrics", "migrate")


def try_out(connection: Cluster, credentials: Credentials) -> dict[str, Any]:
    """Everything a person wants to see before registering; raises ClusterError."""
    version = connection.version()
    served = connection.resources()
    allowed = connection.review_access(rights.to_ask(EVERY_LEVEL))
    missing = rights.missing(allowed, EVERY_LEVEL, served)
    expires = credentials.token_expires_at
    return {
        "server": credentials.server,
        "version": version,
        "user": connection.whoami() or credentials.user,
        "served": len(served),
        "features": features.found(served),
        "missing": [asdict(one) for one in missing],
        "expires_at": expires.isoformat() if expires else None,
    }


def shown_features(found: dict[str, bool]) -> list[dict[str, Any]]:
    """Each feature with what the cluster lacks without it, for pages."""
    return [
        {"name": one.name, "has": found.get(one.code, False), "without": one.without}
        for one in features.FEATURES
    ]


def missing_by_feature(missing: list[dict[str, str]], level: str) -> list[dict[str, Any]]:
    """The missing rights of one level, gathered by what goes without them."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in missing:
        if one["level"] == level:
            found.setdefault((one["feature"], one["why"]), []).append(one["access"])
    return [
        {"feature": feature, "why": why, "accesses": accesses}
        for (feature, why), accesses in found.items()
    ]


def lacks_rights(mode: str, missing: list[dict[str, str]]) -> list[dict[str, str]]:
    """What the mode needs and the cluster does not grant."""
    needed = rights.levels_of(Mode(mode).value)
    return [one for one in missing if one["level"] in needed]
