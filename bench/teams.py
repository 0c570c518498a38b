"""The people's half of a large portal: 500 tenants with members, quotas and deployments.

Rows are written in bulk, as the benchmark is of reading them.
"""

from datetime import timedelta
from typing import Any

TENANTS = 500
CLASSES = 12
PEOPLE = 200
OF_EACH = 4  # deployments
OF_THE_LARGEST = 300  # deployments of tenant-0


def fill(cluster_id: int) -> tuple[str, str]:
    """Everything, and an admin: the key of their session, and their API token."""
    from apps.api import services as tokens
    from apps.tenancy.models import PlatformRole, User

    roles = [PlatformRole.ADMIN, PlatformRole.AUDITOR]
    admin = User.objects.create_user("admin", platform_roles=roles)
    tenants = _tenants(admin)
    pattern = _catalog(admin, cluster_id, tenants)
    _deployments(cluster_id, tenants, pattern)
    _, secret = tokens.create_token(
        actor=admin,
        name="bench",
        can_write=False,
        expires_at=_now() + timedelta(days=1),
        platform_roles=[PlatformRole.ADMIN],
    )
    return _session(admin), secret


def _now() -> Any:
    from django.utils import timezone

    return timezone.now()


def _session(user: Any) -> str:
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def _tenants(admin: Any) -> list[Any]:
    """Made by the service, so that there is an audit to read; two members each."""
    from apps.tenancy import services
    from apps.tenancy.models import Member, Role, User

    tenants = [
        services.create_tenant(actor=admin, slug=f"tenant-{number}", name=f"Tenant {number}")
        for number in range(TENANTS)
    ]
    people = User.objects.bulk_create(
        User(username=f"person-{number}", full_name=f"Person {number}") for number in range(PEOPLE)
    )
    Member.objects.bulk_create(
        Member(tenant=tenant, user=people[(number + offset) % PEOPLE], role=Role.EDITOR)
        for number, tenant in enumerate(tenants)
        for offset in range(2)
    )
    return tenants


def _catalog(admin: Any, cluster_id: int, tenants: list[Any]) -> Any:
    """Approved classes and patterns, and two quotas for each tenant; returns one pattern."""
    from apps.catalog.models import (
        Approval,
        ClaimPattern,
        ClassInCluster,
        ClassVersion,
        DeviceClass,
        PatternVersion,
        VersionState,
    )

    approved = {
        "number": 1,
        "state": VersionState.APPROVED,
        "content_hash": "0" * 64,
        "author": admin,
        "approved_at": _now(),
    }
    classes = DeviceClass.objects.bulk_create(
        DeviceClass(name=f"class-{number}.example.com") for number in range(CLASSES)
    )
    versions = ClassVersion.objects.bulk_create(
        ClassVersion(device_class=one, content={"selectors": []}, **approved) for one in classes
    )
    ClassInCluster.objects.bulk_create(
        ClassInCluster(device_class=one, cluster_id=cluster_id, observed_generation=1)
        for one in classes
    )
    patterns = ClaimPattern.objects.bulk_create(
        ClaimPattern(slug=f"pattern-{number}", name=f"Pattern {number}") for number in range(60)
    )
    content: dict[str, Any] = {"requests": [], "parameters": []}
    forms = PatternVersion.objects.bulk_create(
        PatternVersion(pattern=one, content=content, **approved) for one in patterns
    )
    asked = {"content_hash": "0" * 64, "requested_by": admin, "expires_at": _now()}
    Approval.objects.bulk_create(
        [Approval(class_version=one, state="canceled", **asked) for one in versions]
        + [Approval(pattern_version=one, state="canceled", **asked) for one in forms]
    )
    _quotas(cluster_id, tenants, classes)
    return forms[0]


def _quotas(cluster_id: int, tenants: list[Any], classes: list[Any]) -> None:
    from apps.quotas.models import Quota, TenantNamespace

    TenantNamespace.objects.bulk_create(
        TenantNamespace(tenant=one, cluster_id=cluster_id, namespace=one.slug) for one in tenants
    )
    Quota.objects.bulk_create(
        Quota(tenant=one, cluster_id=cluster_id, device_class=classes[at % CLASSES], limit=8)
        for number, one in enumerate(tenants)
        for at in (number, number + 1)
    )


def _deployments(cluster_id: int, tenants: list[Any], pattern: Any) -> None:
    from apps.deployments.models import Deployment, ModelPool
    from apps.quotas.models import Charge

    rows = Deployment.objects.bulk_create(
        Deployment(
            tenant=tenant,
            cluster_id=cluster_id,
            name=f"model-{number}",
            namespace=tenant.slug,
            image="registry.example/vllm:1",
            model="org/model",
            observed_generation=1,
        )
        for tenant in tenants
        for number in range(OF_THE_LARGEST if tenant is tenants[0] else OF_EACH)
    )
    pools = ModelPool.objects.bulk_create(
        ModelPool(deployment=one, pattern_version=pattern, charge={}, observed_generation=1)
        for one in rows
    )
    Charge.objects.bulk_create(
        Charge(
            tenant=pool.deployment.tenant,
            cluster_id=cluster_id,
            class_name=f"class-{pool.deployment.tenant_id % CLASSES}.example.com",
            holder=f"pool:{pool.pk}",
            amount=1,
        )
        for pool in pools
    )
