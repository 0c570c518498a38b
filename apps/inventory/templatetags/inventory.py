from typing import Any

from django import template

from apps.inventory import checks

register = template.Library()


@register.filter
def tried_out(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of a try-out as its template shows it."""
    missing = answer.get("missing", [])
    return {
        "features": checks.shown_features(answer.get("features", {})),
        "missing": [
            (level, checks.missing_by_feature(missing, level)) for level in checks.EVERY_LEVEL
        ],
    }
