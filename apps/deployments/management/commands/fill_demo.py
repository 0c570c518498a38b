import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.catalog import services as catalog
from apps.catalog.models import ClaimPattern, ClassVersion, DeviceClass, PatternVersion
from apps.deployments import demo, gateway_settings, services
from apps.deployments.models import Deployment
from apps.inventory import connections
from apps.inventory.models import Cluster, Mode
from apps.quotas import services as quotas
from apps.quotas.models import Quota, TenantNamespace
from apps.tenancy import services as tenancy
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from domain.asked import asked_from
from domain.errors import DomainError
from kube import credentials
from kube.errors import BadCredentials

PASSWORD = "CLAIMYARD_DEMO_PASSWORD"  # noqa: S105 - the name of a variable


class Command(BaseCommand):
    help = (
        "Fill an installation with the demo: a cluster, three logins, classes, patterns, tenants "
        "and deployments. Repeatable: what is there stays as it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--kubeconfig", required=True, type=Path)
        parser.add_argument("--cluster", default="demo", help="short name of the cluster")

    def handle(self, *_: Any, kubeconfig: Path, cluster: str, **__: Any) -> None:
        password = os.environ.get(PASSWORD, "")
        if not password:
            raise CommandError(f"{PASSWORD} is not set; it is the password of the three logins")
        try:
            found = _cluster(cluster, kubeconfig)
            people = _people(password)
            _catalog(people, found)
            _tenants(people, found)
            gateway_settings.set_gateway(actor=people["admin"], cluster=found, **demo.GATEWAY)
            for tenant, content in demo.DEPLOYMENTS:
                self._deploy(people["editor"], tenant, found, content)
        except (OSError, BadCredentials, DomainError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"The demo is filled; log in as {', '.join(people)}.")

    def _deploy(self, editor: User, tenant: str, cluster: Cluster, content: dict[str, Any]) -> None:
        owner = Tenant.objects.get(slug=tenant)
        if Deployment.objects.filter(tenant=owner, name=content["name"]).exists():
            return
        asked = asked_from({"cluster": cluster.slug, "image": demo.IMAGE} | content)
        services.create_deployment(actor=editor, tenant=owner, asked=asked)


def _cluster(slug: str, kubeconfig: Path) -> Cluster:
    """The cluster's row; its address and credentials follow the kubeconfig."""
    found = credentials.from_kubeconfig(kubeconfig.read_text())
    row, _ = Cluster.objects.get_or_create(
        slug=slug,
        defaults={
            "name": slug.title(),
            "server": found.server,
            "credentials": connections.sealed(found),
            "mode": Mode.MANAGE,
        },
    )
    if not _holds(row, found):
        row.server = found.server
        row.credentials = connections.sealed(found)
        row.save(update_fields=["server", "credentials", "updated_at"])
    return row


def _holds(row: Cluster, found: credentials.Credentials) -> bool:
    """Are these the row's credentials? No, when its keys have been lost."""
    try:
        return connections.stored(row) == found
    except BadCredentials:
        return False


def _people(password: str) -> dict[str, User]:
    wanted: dict[str, tuple[str, tuple[PlatformRole, ...]]] = {
        "admin": ("Ada Admin", (PlatformRole.ADMIN,)),
        "approver": ("Ansel Approver", (PlatformRole.APPROVER,)),
        "editor": ("Edda Editor", ()),
    }
    found = {}
    for username, (full_name, roles) in wanted.items():
        user = User.objects.filter(username=username).first()
        if user is None:
            user = tenancy.create_account(
                actor=None,
                username=username,
                password=password,
                full_name=full_name,
                platform_roles=roles,
            )
        elif not user.check_password(password):
            user.set_password(password)
            user.save(update_fields=["password"])
        found[username] = user
    return found


def _catalog(people: dict[str, User], cluster: Cluster) -> None:
    admin = people["admin"]
    for name, (description, content) in demo.CLASSES.items():
        if not DeviceClass.objects.filter(name=name).exists():
            version = catalog.create_class(
                actor=admin,
                name=name,
                description=description,
                content=content,
                clusters=[cluster],
            )
            _approve(people, version)
    for slug, (title, description, content) in demo.PATTERNS.items():
        if not ClaimPattern.objects.filter(slug=slug).exists():
            pattern = catalog.create_pattern(
                actor=admin, slug=slug, name=title, description=description, content=content
            )
            _approve(people, pattern)
    slug, title, description, content = demo.WAITING
    if not ClaimPattern.objects.filter(slug=slug).exists():
        pattern = catalog.create_pattern(
            actor=admin, slug=slug, name=title, description=description, content=content
        )
        catalog.submit(actor=admin, version=pattern)


def _approve(people: dict[str, User], version: ClassVersion | PatternVersion) -> None:
    approval = catalog.submit(actor=people["admin"], version=version)
    catalog.approve(actor=people["approver"], approval=approval, content_hash=version.content_hash)


def _tenants(people: dict[str, User], cluster: Cluster) -> None:
    admin, editor = people["admin"], people["editor"]
    for slug, (name, limits) in demo.TENANTS.items():
        tenant = Tenant.objects.filter(slug=slug).first()
        if tenant is None:
            tenant = tenancy.create_tenant(actor=admin, slug=slug, name=name)
        if not Member.objects.filter(tenant=tenant).exists():
            tenancy.set_member(actor=admin, tenant=tenant, user=editor, role=Role.EDITOR)
        if not TenantNamespace.objects.filter(tenant=tenant, cluster=cluster).exists():
            quotas.give_cluster(
                actor=admin, tenant=tenant, cluster=cluster, namespace=f"team-{slug}"
            )
        if not Quota.objects.filter(tenant=tenant, cluster=cluster).exists():
            quotas.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits=limits)
