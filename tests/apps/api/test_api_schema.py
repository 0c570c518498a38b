"""The API as its own description has it, called with whatever the description allows and more."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.api import services
from apps.inventory.models import Cluster
from apps.tenancy.models import PlatformRole, Tenant
from tests.apps.api.conftest import expiring
from tests.apps.conftest import make_user

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "openapi.yaml"
DESCRIBED = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


class App:
    """The portal, which also hands out its description to whoever loads it here."""

    def __init__(self) -> None:
        self.portal = get_wsgi_application()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/openapi.yaml":
            start("200 OK", [("Content-Type", "application/yaml")])
            return [DOCUMENT.read_bytes()]
        return [b"".join(self.portal(environ, start))]


schema = schemathesis.openapi.from_wsgi("/openapi.yaml", App())


@pytest.fixture
def secret(db: None) -> str:
    """Of someone with every role and a tenant, so that most requests get past the doors."""
    user = make_user("admin", *PlatformRole)
    Tenant.objects.create(slug="vision", name="Vision")
    Cluster.objects.create(slug="lab", name="Lab", server="https://lab.example", credentials=b"")
    _, secret = services.create_token(
        actor=user,
        name="fuzz",
        can_write=True,
        expires_at=expiring(),
        platform_roles=user.platform_roles,
    )
    return secret


@schema.parametrize()
@hypothesis_settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_operation_answers_as_described(case: Any, secret: str) -> None:
    response = case.call(headers={"Authorization": f"Bearer {secret}"})
    # What the description forbids may be answered with any problem, and "." in a path leads
    # elsewhere altogether; it must only never be our own failure.
    is_allowed = case.meta.generation.mode is schemathesis.GenerationMode.POSITIVE
    checks = DESCRIBED if is_allowed else [not_a_server_error]
    case.validate_response(response, checks=checks)
