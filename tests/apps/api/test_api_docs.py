"""The API's own documentation is made from its committed description."""

import pytest
import yaml
from django.conf import settings
from django.test import Client

from apps.tenancy.models import User

pytestmark = pytest.mark.django_db


def test_the_page_tells_of_every_operation(client: Client, alice: User) -> None:
    client.force_login(alice)
    page = client.get("/api/docs/").text
    document = yaml.safe_load(client.get("/api/docs/openapi.yaml").content)
    keys = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(keys) > 40
    assert [key for key in keys if f'id="{key}"' not in page] == []


def test_the_image_holds_the_description() -> None:
    dockerfile = (settings.BASE_DIR / "deploy" / "Dockerfile").read_text()
    assert "COPY docs/openapi.yaml docs/openapi.yaml" in dockerfile
    assert "!docs/openapi.yaml" in (settings.BASE_DIR / ".dockerignore").read_text()
