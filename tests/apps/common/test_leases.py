import pytest
from django.db.models import QuerySet
from django.utils import timezone

from apps.common import leases
from apps.common.models import Ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows() -> QuerySet[Ask]:
    ask = Ask.objects.create(kind="test.echo", expires_at=timezone.now())
    return Ask.objects.filter(pk=ask.pk)


def test_a_lease_is_held_by_one(rows: QuerySet[Ask]) -> None:
    assert leases.claim(rows, seconds=60) is not None
    assert leases.claim(rows, seconds=60) is None


def test_an_expired_lease_passes_on_and_its_holder_writes_nothing(
    rows: QuerySet[Ask],
) -> None:
    slow = leases.claim(rows, seconds=-1)
    quick = leases.claim(rows, seconds=60)
    assert slow is not None and quick is not None
    assert leases.finish(rows, slow, problem="from the past") is False
    assert leases.finish(rows, quick, problem="now") is True
    assert rows.get().problem == "now"


def test_a_finished_lease_is_free_again(rows: QuerySet[Ask]) -> None:
    token = leases.claim(rows, seconds=60)
    assert token is not None
    leases.finish(rows, token)
    assert leases.claim(rows, seconds=60) is not None
