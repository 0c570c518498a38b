"""What each stage looks at before anything moves; kept as studies, taken again until nothing stands
in the way any more."""

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from apps.rollouts import evidence, planning, preflight, shadow
from apps.rollouts.models import Migration, Study
from apps.rollouts.selectors import newest_study
from domain.rollout.words import Stage

#: What stood in the way may be gone by now.
AGAIN = timedelta(seconds=30)


def _classes(migration: Migration) -> Study:
    """The preflight looks at the plan's rows, which may have changed with the catalog."""
    planning.take_inventory(migration)
    return preflight.check_now(migration)


_LOOKS: dict[Stage, tuple[str, Callable[[Migration], object]]] = {
    Stage.INVENTORY: (Study.Kind.PLAN, planning.take_inventory),
    Stage.CLASSES: (Study.Kind.PREFLIGHT, _classes),
    Stage.SHADOW: (Study.Kind.SHADOW, shadow.advance),
}


def advance(migration: Migration) -> None:
    """Begin or go on with the study of the present stage. Repeatable, never waits for long."""
    found = _LOOKS.get(Stage(migration.stage))
    if found is None:
        return
    kind, look = found
    newest = newest_study(migration, kind)
    if newest is None or _is_due(newest):
        look(migration)


def _is_due(study: Study) -> bool:
    if study.state in (Study.State.WAITING, Study.State.RUNNING):
        return True
    is_open = study.state == Study.State.FAILED or bool(study.body.get("blockers"))
    return is_open and timezone.now() - study.updated_at >= AGAIN


def report(migration: Migration) -> None:
    """The evidence of an ended migration."""
    evidence.build(migration)
