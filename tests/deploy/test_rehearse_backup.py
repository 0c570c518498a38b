import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.db import connection

from apps.common import secrets
from apps.inventory.models import Cluster

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def owner_url(database_url: str) -> str:
    """The test database itself, which other processes can reach since nothing is rolled back."""
    name = connection.settings_dict["NAME"]
    return database_url.rpartition("/")[0] + f"/{name}"


def rehearse(owner_url: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "scripts/rehearse_backup.py", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "CLAIMYARD_DATABASE_URL": owner_url,
            "DJANGO_SETTINGS_MODULE": "portal.settings",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def databases(owner_url: str) -> set[str]:
    with psycopg.connect(owner_url) as one:
        return {row[0] for row in one.execute("SELECT datname FROM pg_database")}


def make_cluster() -> Cluster:
    return Cluster.objects.create(
        slug="one",
        name="One",
        server="https://192.0.2.1",
        credentials=secrets.seal(b"token"),
    )


def test_a_backup_is_restored_and_checked_and_nothing_is_left_behind(
    owner_url: str, tmp_path: Path
) -> None:
    make_cluster()
    before = databases(owner_url)
    kept = tmp_path / "kept.dump"
    done = rehearse(owner_url, f"--keep={kept}")
    assert not done.returncode, done.stderr
    assert "the backup can be restored" in done.stdout
    assert kept.read_bytes().startswith(b"PGDMP")
    assert databases(owner_url) == before


def test_lost_keys_are_found_before_they_are_needed(owner_url: str) -> None:
    make_cluster()
    other = Fernet.generate_key().decode()
    done = rehearse(owner_url, CLAIMYARD_CREDENTIAL_KEYS=other)
    assert done.returncode
    assert "opens the credentials of: One" in done.stderr
    assert settings.CREDENTIAL_KEYS[0] not in done.stderr


def test_a_kept_backup_is_not_overwritten(owner_url: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.dump"
    kept.write_text("yesterday's")
    done = rehearse(owner_url, f"--keep={kept}")
    assert "is not overwritten" in done.stderr
    assert kept.read_text() == "yesterday's"
