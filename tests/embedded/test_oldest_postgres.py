"""What needs a database works on the oldest PostgreSQL that we promise, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLDEST = Path("/usr/lib/postgresql/15/bin")
FOLDERS = [
    name for name in ("tests/apps", "tests/workers", "tests/portal") if (ROOT / name).exists()
]


@pytest.mark.stack
@pytest.mark.timeout(1200)
@pytest.mark.skipif(
    "CLAIMYARD_TEST_POSTGRES" in os.environ, reason="the whole run is on one chosen server"
)
def test_the_database_tests_pass_on_postgresql_15() -> None:
    assert (OLDEST / "initdb").exists(), "PostgreSQL 15 is missing: apt install postgresql-15"
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "CLAIMYARD_"))
    }
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n0", "--maxfail=20", *FOLDERS),
            *("-m", "not cluster and not browser and not oracle and not stack"),
        ],
        cwd=ROOT,
        env={**environment, "CLAIMYARD_TEST_POSTGRES": str(OLDEST)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stdout[-20_000:]
