"""Who calls: a token in `Authorization: Bearer`, or the session of a person who is logged in."""

from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.api.models import Token
from apps.api.services import digest_of
from apps.tenancy.models import User

SEEN_EVERY = timedelta(minutes=1)


class TokenAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        words = request.headers.get("Authorization", "").split()
        if not words or words[0].lower() != "bearer":
            return None
        secret = words[1] if len(words) == 2 else ""
        token = Token.objects.select_related("user").filter(digest=digest_of(secret)).first()
        if token is None or token.state != "active" or not token.user.is_active:
            raise AuthenticationFailed("This token is unknown, revoked or expired.")
        _note_use(token)
        return narrowed(token), token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def narrowed(token: Token) -> User:
    """The token's owner with no more power than the token has. Never to be saved."""
    user = token.user
    user.platform_roles = [role for role in user.platform_roles if role in token.platform_roles]
    user.only_tenant_id = token.tenant_id or 0  # type: ignore[attr-defined]
    return user


def _note_use(token: Token) -> None:
    """Once a minute is enough to see whether a token is in use."""
    now = timezone.now()
    idle = Q(last_used_at=None) | Q(last_used_at__lt=now - SEEN_EVERY)
    Token.objects.filter(idle, pk=token.pk).update(last_used_at=now)


class MayWrite(BasePermission):
    message = "This token may only read."

    def has_permission(self, request: Request, view: APIView) -> bool:
        token: Any = request.auth
        return request.method in SAFE_METHODS or not isinstance(token, Token) or token.can_write
