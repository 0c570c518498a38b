import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from apps.api.models import Token
from apps.audit import services as audit
from apps.tenancy.models import Tenant, User
from apps.tenancy.selectors import tenants_of
from domain.errors import IllegalTransition, InvalidValue

PREFIX = "cyd_"
LONGEST = timedelta(days=366)


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def create_token(
    *,
    actor: User,
    name: str,
    can_write: bool,
    expires_at: datetime,
    tenant: Tenant | None = None,
    platform_roles: Iterable[str] = (),
) -> tuple[Token, str]:
    """Make a token and return it with its secret, which cannot be had again.

    It can do no more than its owner can, at any time: a role that is lost later is lost to the
    token too. Raises InvalidValue.
    """
    roles = sorted(set(platform_roles))
    now = timezone.now()
    if (tenant is None) == (not roles):
        raise InvalidValue("Choose a tenant or platform roles, not both.", field="tenant")
    if tenant is not None and not tenants_of(actor).filter(pk=tenant.pk).exists():
        raise InvalidValue("You are not in this tenant.", field="tenant")
    if not set(roles) <= set(actor.platform_roles):
        raise InvalidValue("You do not hold all of these roles.", field="platform_roles")
    if not now < expires_at <= now + LONGEST:
        raise InvalidValue("It must expire within a year from now.", field="expires_at")
    secret = PREFIX + secrets.token_urlsafe(30)
    token = Token.objects.create(
        user=actor,
        name=name,
        hint=secret[:10],
        digest=digest_of(secret),
        can_write=can_write,
        tenant=tenant,
        platform_roles=roles,
        expires_at=expires_at,
    )
    after = {
        "can_write": can_write,
        "tenant": tenant.slug if tenant else None,
        "platform_roles": roles,
        "expires_at": expires_at.isoformat(),
    }
    audit.record(actor=actor, verb="created", subject=token, after=after)
    return token, secret


@transaction.atomic
def revoke_token(*, actor: User, token_id: int) -> Token:
    """End one of the actor's own tokens at once. Raises IllegalTransition when it has ended."""
    token = Token.objects.select_for_update().get(pk=token_id, user=actor)
    if token.revoked_at is not None:
        raise IllegalTransition(f"The token {token.name} is revoked already.")
    token.revoked_at = timezone.now()
    token.save(update_fields=["revoked_at"])
    audit.record(actor=actor, verb="revoked", subject=token)
    return token
