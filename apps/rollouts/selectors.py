"""Reading migrations."""

from typing import Any

from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from apps.deployments.models import AllocationPath, Deployment, ModelPool
from apps.rollouts.models import Decision, GateSample, Migration, Study, Workload
from apps.tenancy.models import PlatformRole, Role, Tenant
from apps.tenancy.selectors import role_in, tenants_of
from domain.rollout.words import MOVE_ENDS, Phase


def migrations_of(user: Any) -> QuerySet[Migration]:
    """What a person may see: platform people all, others those of their own tenants."""
    rows = Migration.objects.select_related("cluster", "tenant")
    if user.is_platform:
        return rows
    return rows.filter(tenant__in=tenants_of(user))


def migration_for(user: Any, migration_id: int) -> Migration:
    """The migration, or 404 for whoever may not see it."""
    return get_object_or_404(migrations_of(user), pk=migration_id)


def may_steer(user: Any, migration: Migration) -> str:
    """Why `user` may not act on it; "" when they may."""
    if user.has_platform_role(PlatformRole.ADMIN):
        return ""
    if migration.tenant is None:
        return "This needs the role platform admin."
    held = role_in(user, migration.tenant)
    if held is None or held < Role.EDITOR:
        return f"This needs the role platform admin, or editor in {migration.tenant.name}."
    return ""


def may_convert(user: Any) -> str:
    """Why `user` may not convert nodes, which others use too; "" when they may."""
    if user.has_platform_role(PlatformRole.ADMIN):
        return ""
    return "This needs the role platform admin: others use the nodes too."


def under_way() -> QuerySet[Migration]:
    return Migration.objects.filter(started_at__isnull=False, ended_at=None)


def due() -> list[int]:
    """Keys of those that nobody looks at just now, longest waiting first."""
    idle = Q(lease_until=None) | Q(lease_until__lt=Now())
    rows = under_way().filter(idle).order_by("decided_at")
    return list(rows.values_list("pk", flat=True)[:1000])


def open_move_of(deployment: Deployment, *, besides: Migration | None = None) -> Workload | None:
    """The move of a migration under way (another one than `besides`) that holds the deployment."""
    rows = Workload.objects.filter(
        deployment=deployment, migration__ended_at=None, migration__started_at__isnull=False
    )
    return (
        (rows.exclude(migration=besides) if besides else rows)
        .exclude(phase__in=[one.value for one in MOVE_ENDS])
        .select_related("migration")
        .first()
    )


def movable(tenant: Tenant | None = None) -> QuerySet[Deployment]:
    """Deployments with a pool on the device-plugin path and none yet on the other."""
    rows = Deployment.objects.filter(
        retired_at=None, retiring_at=None, pools__path=AllocationPath.DEVICE_PLUGIN
    ).select_related("tenant", "cluster")
    return rows.filter(tenant=tenant) if tenant else rows


def old_pool_of(deployment: Deployment) -> ModelPool | None:
    return (
        deployment.pools.filter(path=AllocationPath.DEVICE_PLUGIN, retiring_at=None)
        .select_related("pattern_version__pattern")
        .first()
    )


def newest_study(migration: Migration, kind: str) -> Study | None:
    return migration.studies.filter(kind=kind).order_by("-id").first()


def revision_of(migration: Migration) -> str:
    """A text that changes when anything on its page does."""
    found = Migration.objects.filter(pk=migration.pk).values_list(
        "updated_at", "state", "stage", "waiting_for", "reason", "generation"
    )
    newest = Decision.objects.filter(migration=migration).aggregate(Max("last_at"), Max("id"))
    sampled = GateSample.objects.filter(migration=migration).aggregate(Max("id"))
    moved = Workload.objects.filter(migration=migration).aggregate(Max("updated_at"))
    pools = ModelPool.objects.filter(deployment__moves__migration=migration)
    return f"{list(found)} {newest} {sampled} {moved} {pools.aggregate(Max('updated_at'))}"


def list_revision(user: Any) -> str:
    rows = migrations_of(user).order_by()
    return str(rows.aggregate(Max("decided_at"), Max("updated_at"), Max("id")))


def moves_of(migration: Migration) -> list[Workload]:
    return list(
        migration.workloads.select_related(
            "deployment__tenant", "deployment__cluster", "wave", "pattern_version__pattern"
        ).prefetch_related("deployment__pools")
    )


def progress_of(migration: Migration) -> tuple[int, int]:
    """How many moves stand on the new path, of how many that can."""
    phases = list(
        migration.workloads.exclude(phase=Phase.UNSUPPORTED).values_list("phase", flat=True)
    )
    there = (Phase.MOVED, Phase.RETIRING, Phase.RETIRED)
    return sum(1 for phase in phases if phase in there), len(phases)
