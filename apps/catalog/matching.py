""" "Matches 18 of 64 devices now, 6 free": questions to the placement worker.

Where a version was approved before, the question is what the new one would change.
"""

from typing import Any

from apps.catalog import selectors
from apps.catalog.models import ClassVersion, DeviceClass, PatternVersion
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster
from domain import deviceclasses, patterns

KIND = "placement.match"


def cluster_of(slug: str) -> Cluster | None:
    """A cluster that can be asked."""
    return next((one for one in selectors.clusters() if one.slug == slug), None)


def ask_class(
    user: Any, cluster: Cluster, expressions: list[str], before: ClassVersion | None = None
) -> Ask:
    """How many devices of a cluster these class selectors match."""
    kind = KIND
    question: dict[str, Any] = {"class_selectors": expressions, "request_selectors": []}
    if before is not None:
        held = deviceclasses.class_from(before.content)
        name = before.device_class.name
        kind = "placement.compare-class"
        question = {"class": name, "before": list(held.selectors), "after": expressions}
    return asks.put(kind, question, asked_by=user, cluster_id=cluster.pk)


def ask_pattern(
    user: Any, cluster: Cluster, pattern: patterns.Pattern, before: PatternVersion | None = None
) -> Ask:
    """How many devices the first request of a pattern matches with its defaults."""
    request = pattern.requests[0]
    earlier = None if before is None else selectors.pattern_of(before)
    names = {one.device_class for one in pattern.requests}
    if earlier is not None:
        names |= {one.device_class for one in earlier.requests}
    held = selectors.class_selectors(sorted(names))
    kind = KIND
    question: dict[str, Any] = {
        "class_selectors": held.get(request.device_class, []),
        "request_selectors": patterns.request_selectors(request, patterns.defaults(pattern)),
    }
    if earlier is not None:
        kind = "placement.compare-pattern"
        question = {
            "before": patterns.content_of(earlier),
            "after": patterns.content_of(pattern),
            "class_selectors": held,
        }
    return asks.put(kind, question, asked_by=user, cluster_id=cluster.pk)


def ask_version(user: Any, cluster: Cluster, version: ClassVersion | PatternVersion) -> Ask:
    """What a version that waits for approval would change, or match if it is the first."""
    earlier = selectors.previous_approved(version)
    if isinstance(version, ClassVersion):
        found = deviceclasses.class_from(version.content)
        before = earlier if isinstance(earlier, ClassVersion) else None
        return ask_class(user, cluster, list(found.selectors), before)
    pattern = selectors.pattern_of(version)
    return ask_pattern(
        user, cluster, pattern, earlier if isinstance(earlier, PatternVersion) else None
    )


def approved_class(name: str) -> ClassVersion | None:
    found = DeviceClass.objects.filter(name=name).first() if name else None
    return None if found is None else selectors.approved_class_version(found)
