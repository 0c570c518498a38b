"""What needs a database is tested on the oldest PostgreSQL that we promise."""

import os

import pytest
from django.db import connection

from tests.conftest import OLDEST_POSTGRES, UNSET_DATABASE_URL

NAMED = (
    "CLAIMYARD_TEST_POSTGRES" in os.environ
    or os.environ.get("CLAIMYARD_DATABASE_URL", UNSET_DATABASE_URL) != UNSET_DATABASE_URL
)


@pytest.mark.stack
@pytest.mark.django_db
@pytest.mark.skipif(NAMED, reason="the whole run is on one chosen server")
def test_the_database_tests_run_on_postgresql_15() -> None:
    missing = "PostgreSQL 15 is missing: apt install postgresql-15"
    assert (OLDEST_POSTGRES / "initdb").exists(), missing
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        [version] = cursor.fetchone() or [""]
    assert version.startswith("15")
