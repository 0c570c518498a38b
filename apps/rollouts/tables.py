from django.urls import reverse
from django.utils.text import Truncator

from apps.common.tables import Column, Table
from apps.rollouts.filters import MigrationFilters
from apps.rollouts.models import Migration, State
from apps.rollouts.selectors import progress_of


def migration_url(migration: Migration) -> str:
    return reverse("rollouts:detail", args=[migration.pk])


def state_word(migration: Migration) -> str:
    return State(migration.state).label.lower()


def _moved(migration: Migration) -> str:
    there, total = progress_of(migration)
    return f"{there} of {total}"


def _why(migration: Migration) -> str:
    return Truncator(migration.cause or migration.reason).words(30)


MIGRATIONS = Table(
    name="migrations",
    noun=("migration", "migrations"),
    default_sort="-id",
    search=("name",),
    search_hint="Find by name",
    filters=MigrationFilters,
    status="state",
    statuses=State.choices,
    columns=(
        Column(key="name", title="Migration", sort="name", fixed=True, link=migration_url),
        Column(key="state", title="State", sort="state", kind="state", value=state_word),
        Column(key="stage", title="Stage", value=lambda row: row.get_stage_display()),
        Column(key="moved", title="Moved", value=_moved, hint="Deployments on the new path"),
        Column(key="why", title="Why", value=_why),
        Column(key="owner", title="Who can go on", value="owner"),
        Column(key="cluster", title="Cluster", value="cluster__slug"),
        Column(key="tenant", title="Tenant", value="tenant__slug"),
        Column(key="started_at", title="Started", kind="ago"),
        Column(key="ended_at", title="Ended", kind="ago", shown=False),
    ),
    none_yet=(
        "A migration moves deployments from the device plugin to claims, in stages that take "
        "themselves back.",
        "rollouts:new",
        "Draw up a migration",
    ),
)
