import pytest
from django.test import Client
from django.urls import reverse

from apps.tenancy.models import User

pytestmark = pytest.mark.django_db


def test_after_ten_wrong_passwords_the_right_one_must_wait_too(client: Client) -> None:
    User.objects.create_user("ada", password="right-horse")
    User.objects.create_user("bob", password="other-horse")
    for _ in range(10):
        client.post(reverse("login"), {"username": "ada", "password": "wrong"})
    answer = client.post(reverse("login"), {"username": "ada", "password": "right-horse"})
    assert answer.status_code == 429
    assert "15 minutes" in answer.content.decode()
    answer = client.post(reverse("login"), {"username": "bob", "password": "other-horse"})
    assert answer.status_code == 302


def test_a_login_lands_where_the_person_wanted_to_go(client: Client) -> None:
    User.objects.create_user("ada", password="right-horse")
    sent = client.get(reverse("home"))
    assert sent.status_code == 302
    answer = client.post(sent["Location"], {"username": "ada", "password": "right-horse"})
    assert answer["Location"] == reverse("home")


def test_a_login_never_leaves_for_another_host(client: Client) -> None:
    User.objects.create_user("ada", password="right-horse")
    answer = client.post(
        reverse("login") + "?next=https://evil.example/",
        {"username": "ada", "password": "right-horse"},
    )
    assert answer["Location"] == reverse("home")
