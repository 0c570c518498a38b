from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.api import services
from apps.tenancy.models import Tenant, User


class Caller:
    """A program with a token."""

    def __init__(self, secret: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(f"/api/v1/{path}", headers=_named(headers))

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.generic(
            method,
            f"/api/v1/{path}",
            data=b"" if body is None else _json(body),
            content_type="application/json",
            headers=_named(headers),
        )

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.send("POST", path, body, **headers)


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _json(body: Any) -> bytes:
    import json

    return body if isinstance(body, bytes) else json.dumps(body).encode()


def expiring() -> datetime:
    return timezone.now() + timedelta(days=1)


def caller(
    user: User, tenant: Tenant | None = None, *, write: bool = True, **changes: Any
) -> Caller:
    wanted: dict[str, Any] = {
        "name": "test",
        "can_write": write,
        "expires_at": expiring(),
        "tenant": tenant,
        "platform_roles": [] if tenant else user.platform_roles,
    }
    _, secret = services.create_token(actor=user, **wanted | changes)
    return Caller(secret)


@pytest.fixture
def as_admin(admin: User) -> Caller:
    return caller(admin)


@pytest.fixture
def as_alice(alice: User, tenant: Tenant) -> Caller:
    return caller(alice, tenant)


@pytest.fixture
def as_mallory(mallory: User) -> Caller:
    return caller(mallory, Tenant.objects.get(slug="other"))
