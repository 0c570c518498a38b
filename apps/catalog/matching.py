""" "Matches 18 of 64 devices now, 6 free": questions to the placement worker."""

from typing import Any

from apps.catalog import selectors
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster
from domain import patterns

KIND = "placement.match"


def ask_class(user: Any, cluster: Cluster, expressions: list[str]) -> Ask:
    """How many devices of a cluster these class selectors match."""
    question = {"class_selectors": expressions, "request_selectors": []}
    return asks.put(KIND, question, asked_by=user, cluster_id=cluster.pk)


def ask_pattern(
    user: Any, cluster: Cluster, pattern: patterns.Pattern, values: patterns.Values
) -> Ask:
    """How many devices the first request of a pattern matches with these values."""
    request = pattern.requests[0]
    held = selectors.class_selectors([request.device_class])
    question = {
        "class_selectors": held.get(request.device_class, []),
        "request_selectors": patterns.request_selectors(request, values),
    }
    return asks.put(KIND, question, asked_by=user, cluster_id=cluster.pk)
