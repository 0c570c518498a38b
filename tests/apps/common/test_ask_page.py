"""The part that polls for an answer."""

import pytest
from django.test import Client

from apps.common import asks
from apps.common.models import Ask
from apps.tenancy.models import User

pytestmark = pytest.mark.django_db


def test_it_polls_while_it_waits_and_then_stops(client: Client, alice: User) -> None:
    ask = asks.put("test.echo", {}, asked_by=alice)
    client.force_login(alice)
    assert "hx-trigger" in client.get(f"/asks/{ask.key}/").text
    Ask.objects.filter(pk=ask.pk).update(state=Ask.State.FAILED, problem="No <cluster> answers")
    text = client.get(f"/asks/{ask.key}/").text
    assert "hx-trigger" not in text and "No &lt;cluster&gt; answers" in text


def test_it_is_not_there_for_anyone_else(client: Client, alice: User, admin: User) -> None:
    ask = asks.put("test.echo", {}, asked_by=alice)
    client.force_login(admin)
    assert client.get(f"/asks/{ask.key}/").status_code == 404
    anonymous = asks.put("test.echo", {})
    assert client.get(f"/asks/{anonymous.key}/").status_code == 404
