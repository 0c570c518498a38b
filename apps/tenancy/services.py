"""Tenants, their members, and people's accounts."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from apps.audit import services as audit
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from domain.errors import DomainError


class LastOwner(DomainError):
    """A tenant with members needs somebody who can manage them."""

    code = "last_owner"


@transaction.atomic
def create_account(
    *,
    actor: User | None,
    username: str,
    password: str,
    full_name: str = "",
    platform_roles: Sequence[PlatformRole] = (),
) -> User:
    """A local account. Raises ValidationError for a name in use or a password that is too weak."""
    from django.contrib.auth.password_validation import validate_password

    user = User(
        username=username,
        full_name=full_name,
        platform_roles=sorted({role.value for role in platform_roles}),
    )
    validate_password(password, user)
    user.set_password(password)
    user.full_clean()
    user.save()
    audit.record(
        actor=actor, verb="created", subject=user, after={"platform_roles": user.platform_roles}
    )
    return user


class LastAdmin(DomainError):
    """Somebody must be left who can manage people."""

    code = "last_admin"


def _keep_an_admin(user: User) -> None:
    """Raise LastAdmin when nobody but `user` is an active platform admin."""
    admins = User.objects.select_for_update(no_key=True).filter(
        is_active=True, platform_roles__contains=[PlatformRole.ADMIN.value]
    )
    if not [one for one in admins if one.pk != user.pk]:
        raise LastAdmin(f"{user} is the last platform admin; name another one first.")


@transaction.atomic
def set_active(*, actor: User, user: User, is_active: bool) -> User:
    """Let somebody in, or keep them out: their sessions and tokens stop working at once."""
    if user.is_active == is_active:
        return user
    if not is_active and PlatformRole.ADMIN in user.platform_roles:
        _keep_an_admin(user)
    user.is_active = is_active
    user.save(update_fields=["is_active"])
    audit.record(
        actor=actor,
        verb="let in" if is_active else "shut out",
        subject=user,
        before={"is_active": not is_active},
        after={"is_active": is_active},
    )
    return user


@transaction.atomic
def set_password(*, actor: User, user: User, password: str) -> User:
    """A new password for a local account; raises ValidationError for one that is too weak."""
    from django.contrib.auth.password_validation import validate_password

    validate_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    audit.record(actor=actor, verb="set the password of", subject=user)
    return user


@transaction.atomic
def set_platform_roles(*, actor: User | None, user: User, roles: Sequence[PlatformRole]) -> User:
    before = list(user.platform_roles)
    if PlatformRole.ADMIN in before and PlatformRole.ADMIN not in roles:
        _keep_an_admin(user)
    user.platform_roles = sorted({role.value for role in roles})
    user.full_clean()
    user.save(update_fields=["platform_roles"])
    audit.record(
        actor=actor,
        verb="changed",
        subject=user,
        before={"platform_roles": before},
        after={"platform_roles": user.platform_roles},
    )
    return user


@transaction.atomic
def create_tenant(*, actor: User, slug: str, name: str) -> Tenant:
    tenant = Tenant(slug=slug, name=name)
    tenant.full_clean()
    tenant.save()
    audit.record(
        actor=actor,
        verb="created",
        subject=tenant,
        after={"slug": slug, "name": name},
        tenant_id=tenant.pk,
    )
    return tenant


@transaction.atomic
def rename_tenant(*, actor: User, tenant: Tenant, name: str) -> Tenant:
    before = tenant.name
    tenant.name = name
    tenant.full_clean()
    tenant.save(update_fields=["name", "updated_at"])
    audit.record(
        actor=actor,
        verb="renamed",
        subject=tenant,
        before={"name": before},
        after={"name": name},
        tenant_id=tenant.pk,
    )
    return tenant


@transaction.atomic
def retire_tenant(*, actor: User, tenant: Tenant) -> Tenant:
    """Close a tenant: nothing new can be asked for. Its rows and its history stay."""
    tenant = Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    if tenant.retired_at is None:
        tenant.retired_at = timezone.now()
        tenant.save(update_fields=["retired_at", "updated_at"])
        audit.record(actor=actor, verb="retired", subject=tenant, tenant_id=tenant.pk)
    return tenant


def person(username: str) -> User:
    """The account of that name, in any case; raise ValidationError when there is none."""
    found = User.objects.filter(username__iexact=username.strip(), is_active=True).first()
    if found is None:
        raise ValidationError({"username": f"Nobody here is called {username.strip()[:60]!r}."})
    return found


@transaction.atomic
def set_member(*, actor: User | None, tenant: Tenant, user: User, role: Role) -> Member:
    """Make `user` a member with `role`, or change the role they have."""
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    member = Member.objects.filter(tenant=tenant, user=user).first()
    before = None if member is None else {"role": Role(member.role).label}
    if member is not None and member.role == Role.OWNER and role != Role.OWNER:
        _keep_an_owner(member)
    member = member or Member(tenant=tenant, user=user)
    member.role = role
    member.from_login = False
    member.full_clean()
    member.save()
    audit.record(
        actor=actor,
        verb="changed" if before else "added",
        subject=member,
        before=before,
        after={"role": role.label},
    )
    return member


@transaction.atomic
def remove_member(*, actor: User, member: Member) -> None:
    Tenant.objects.select_for_update(no_key=True).get(pk=member.tenant_id)
    if member.role == Role.OWNER:
        _keep_an_owner(member)
    audit.record(
        actor=actor, verb="removed", subject=member, before={"role": Role(member.role).label}
    )
    member.delete()


def _keep_an_owner(member: Member) -> None:
    """A tenant without any other member may lose its owner: a platform admin can add one."""
    others = Member.objects.filter(tenant_id=member.tenant_id).exclude(pk=member.pk)
    if others.exists() and not others.filter(role=Role.OWNER).exists():
        raise LastOwner(f"{member.user} is the last owner of {member.tenant}; name another first.")
