"""People and things that most tests of the rooms need."""

from typing import Any

import pytest

from apps.catalog import services as catalog
from apps.catalog.models import Approval, ClassVersion, PatternVersion
from apps.common import secrets
from apps.inventory.models import Cluster, Mode
from apps.quotas import services as quotas
from apps.quotas.models import TenantNamespace
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from kube.credentials import from_kubeconfig

PASSWORD = "a password of the tests"


def make_user(username: str, *roles: PlatformRole) -> User:
    user = User(username=username, platform_roles=[role.value for role in roles])
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def tenant(db: None) -> Tenant:
    return Tenant.objects.create(slug="vision", name="Vision")


@pytest.fixture
def alice(tenant: Tenant) -> User:
    """Owner of the tenant."""
    user = make_user("alice")
    Member.objects.create(tenant=tenant, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def bob(tenant: Tenant) -> User:
    """Viewer of the tenant."""
    user = make_user("bob")
    Member.objects.create(tenant=tenant, user=user, role=Role.VIEWER)
    return user


@pytest.fixture
def mallory(db: None) -> User:
    """A stranger, who is owner of another tenant."""
    user = make_user("mallory")
    other = Tenant.objects.create(slug="other", name="Other")
    Member.objects.create(tenant=other, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def admin(db: None) -> User:
    return make_user("admin", PlatformRole.ADMIN)


@pytest.fixture
def approver(db: None) -> User:
    return make_user("approver", PlatformRole.APPROVER)


@pytest.fixture
def auditor(db: None) -> User:
    return make_user("auditor", PlatformRole.AUDITOR)


def make_cluster(slug: str = "lab", *, kubeconfig: str = "", mode: Mode = Mode.MANAGE) -> Cluster:
    """A cluster row; without a kubeconfig nothing answers at its address."""
    from kube.credentials import Credentials

    found = (
        from_kubeconfig(kubeconfig)
        if kubeconfig
        else Credentials(server="https://127.0.0.1:1", token="nobody")
    )
    return Cluster.objects.create(
        slug=slug,
        name=slug.title(),
        server=found.server,
        credentials=secrets.seal(found.dump()),
        mode=mode,
    )


@pytest.fixture
def cluster(db: None) -> Cluster:
    return make_cluster()


CLASS = {
    "selectors": [
        'device.driver == "gpu.nvidia.com" && '
        'device.attributes["gpu.nvidia.com"].?type.orValue("") == "gpu"'
    ]
}
PATTERN: dict[str, Any] = {
    "parameters": [
        {"name": "count", "kind": "count", "default": 1, "most": 4, "label": "Cards"},
        {"name": "memory", "kind": "memory", "default": "40Gi", "most": "80Gi", "label": "Memory"},
    ],
    "requests": [
        {
            "name": "gpus",
            "device_class": "h100",
            "count_parameter": "count",
            "terms": [{"op": "at-least", "key": "gpu.nvidia.com/memory", "parameter": "memory"}],
        }
    ],
    "device_plugin": {
        "resource": "nvidia.com/gpu",
        "node_labels": [
            {"op": "at-least", "label": "nvidia.com/gpu.memory", "parameter": "memory"}
        ],
    },
}


def approve(actor: User, version: ClassVersion | PatternVersion, author: User) -> Approval:
    approval = catalog.submit(actor=author, version=version)
    return catalog.approve(actor=actor, approval=approval, content_hash=version.content_hash)


@pytest.fixture
def h100(cluster: Cluster, admin: User, approver: User) -> ClassVersion:
    """An approved class, offered in the cluster."""
    version = catalog.create_class(actor=admin, name="h100", content=CLASS, clusters=[cluster])
    approve(approver, version, admin)
    version.refresh_from_db()
    return version


@pytest.fixture
def pattern(h100: ClassVersion, admin: User, approver: User) -> PatternVersion:
    """An approved pattern on that class."""
    version = catalog.create_pattern(
        actor=admin, slug="h100-cards", name="H100 cards", content=PATTERN
    )
    approve(approver, version, admin)
    version.refresh_from_db()
    return version


@pytest.fixture
def namespace(tenant: Tenant, cluster: Cluster, admin: User) -> TenantNamespace:
    return quotas.give_cluster(
        actor=admin, tenant=tenant, cluster=cluster, namespace="tenant-vision"
    )


@pytest.fixture
def quota(
    tenant: Tenant, cluster: Cluster, admin: User, h100: ClassVersion, namespace: TenantNamespace
) -> int:
    """The tenant's limit of h100 in the cluster."""
    quotas.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits={"h100": 4})
    return 4
