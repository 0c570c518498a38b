import pytest
from django.db import DatabaseError, connection, transaction

from apps.audit import services
from apps.audit.models import Entry
from apps.tenancy.models import Tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry() -> Entry:
    tenant = Tenant.objects.create(slug="vision", name="Vision")
    return services.record(actor=None, verb="created", subject=tenant, after={"name": "Vision"})


@pytest.mark.parametrize(
    "statement", ["UPDATE audit_entry SET verb = 'nothing'", "DELETE FROM audit_entry"]
)
def test_nobody_changes_an_entry(entry: Entry, statement: str) -> None:
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        connection.cursor().execute(statement)
    assert Entry.objects.get().verb == "created"


@pytest.mark.django_db(transaction=True)
def test_an_entry_needs_the_transaction_of_its_change() -> None:
    tenant = Tenant(pk=1, slug="vision")
    with pytest.raises(RuntimeError, match="needs the transaction"):
        services.record(actor=None, verb="created", subject=tenant)
