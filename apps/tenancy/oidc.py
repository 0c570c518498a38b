"""Login by an OpenID provider, with roles from the groups it reports.

The provider is the truth for what it gives: at each login platform roles are replaced, and
memberships that came from a group go when the group is gone. Memberships that an owner gave by hand
stay. A local account is never taken over by a provider's user of the same name: that one gets
another name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest

from apps.audit import services as audit
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from domain.errors import InvalidValue

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Grants:
    platform: frozenset[PlatformRole]
    tenants: dict[str, Role]


def parse_rules(rules: Iterable[str]) -> list[tuple[str, str]]:
    """Split `group=what`; raise InvalidValue for one that gives nothing known."""
    found = []
    for rule in rules:
        group, _, what = rule.rpartition("=")
        words = what.split(":")
        known = what in PlatformRole.values or (
            len(words) == 3 and words[0] == "tenant" and words[2].upper() in Role.names
        )
        if not group or not known:
            raise InvalidValue(
                f"CLAIMYARD_OIDC_ROLES has {rule!r}; use group=admin, group=approver, "
                "group=auditor or group=tenant:TENANT:viewer|editor|owner"
            )
        found.append((group, what))
    return found


def grants_of(groups: Iterable[str], rules: Iterable[str]) -> Grants:
    """What these groups give; of several roles in one tenant the highest."""
    held, platform, tenants = set(groups), set(), dict[str, Role]()
    for group, what in parse_rules(rules):
        if group not in held:
            continue
        if what in PlatformRole.values:
            platform.add(PlatformRole(what))
            continue
        _, tenant, name = what.split(":")
        role = Role[name.upper()]
        tenants[tenant] = max(role, tenants.get(tenant, role))
    return Grants(frozenset(platform), tenants)


def cluster_groups_of(tenant: Tenant) -> tuple[str, ...]:
    """The groups that have a role in this tenant, by the names that clusters know them under.

    A cluster that trusts the same provider puts a prefix before each (`--oidc-groups-prefix`).
    Names that Kubernetes keeps to itself are never given away.
    """
    found = {
        f"{settings.OIDC_CLUSTER_GROUPS_PREFIX}{group}"
        for group, what in parse_rules(settings.OIDC_ROLES)
        if what.startswith(f"tenant:{tenant.slug}:")
    }
    return tuple(sorted(name for name in found if not name.startswith("system:")))


@transaction.atomic
def grant(user: User, grants: Grants) -> None:
    """Make the person's roles what the provider says now. May be repeated."""
    before = sorted(user.platform_roles)
    after = sorted(role.value for role in grants.platform)
    if before != after:
        user.platform_roles = after
        user.save(update_fields=["platform_roles"])
        audit.record(
            actor=None,
            verb="roles from login",
            subject=user,
            before={"platform_roles": before},
            after={"platform_roles": after},
        )
    given = Member.objects.filter(user=user, from_login=True)
    for member in given.exclude(tenant__slug__in=grants.tenants).select_related("tenant"):
        audit.record(actor=None, verb="member removed by login", subject=member)
        member.delete()
    for tenant in Tenant.objects.filter(slug__in=grants.tenants):
        _join(user, tenant, grants.tenants[tenant.slug])


def _join(user: User, tenant: Tenant, role: Role) -> None:
    member, made = Member.objects.get_or_create(
        user=user, tenant=tenant, defaults={"role": role, "from_login": True}
    )
    if made:
        audit.record(actor=None, verb="member by login", subject=member, after={"role": role.label})
    elif member.from_login and member.role != role:
        before = Role(member.role).label
        member.role = role
        member.save(update_fields=["role", "updated_at"])
        audit.record(
            actor=None,
            verb="role by login",
            subject=member,
            before={"role": before},
            after={"role": role.label},
        )


def groups_in(claims: dict[str, Any]) -> list[str]:
    """The groups in the user info or the id token; a lone text is one group."""
    for part in (claims.get("userinfo"), claims.get("id_token"), claims):
        if isinstance(part, dict) and settings.OIDC_GROUPS_CLAIM in part:
            value = part[settings.OIDC_GROUPS_CLAIM]
            return [value] if isinstance(value, str) else [str(group) for group in value]
    return []


class NoSignup(DefaultAccountAdapter):  # type: ignore[misc]
    """Local accounts are made by an admin, never by a stranger at the door."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return True

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        if sociallogin.is_existing:
            self._grant(sociallogin.user, sociallogin)

    def save_user(self, request: HttpRequest, sociallogin: Any, form: Any = None) -> Any:
        user = super().save_user(request, sociallogin, form)
        self._grant(user, sociallogin)
        return user

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: dict[str, Any]) -> Any:
        user = super().populate_user(request, sociallogin, data)
        claims = sociallogin.account.extra_data
        info = claims.get("userinfo") or claims.get("id_token") or claims
        user.full_name = str(info.get("name") or "")[:150]
        return user

    def _grant(self, user: User, sociallogin: Any) -> None:
        groups = groups_in(sociallogin.account.extra_data)
        grant(user, grants_of(groups, settings.OIDC_ROLES))
        log.info("login by provider", user=user.username, groups=len(groups))
