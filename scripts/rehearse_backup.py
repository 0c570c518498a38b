"""Prove that a backup can be restored, on the server that the portal uses.

Dumps the database that CLAIMYARD_DATABASE_URL names (as its owner) into a file, restores it into a
new database beside it, and checks there that every table has as many rows as it had in the dump's
snapshot, that the migrations are those of this code, and that the keys in CLAIMYARD_CREDENTIAL_KEYS
open every stored credential. The new database is dropped again; the dump stays if --keep names it.

Needs pg_dump and pg_restore, best of the server's own major version and never older, and the right
to create a database.
"""

import argparse
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parents[1]
Counts = dict[str, int]


def program(name: str, server: int) -> str:
    """That of the server's own major version, else the next newer one.

    What a newer one writes may set what the server does not know: since PostgreSQL 17
    `transaction_timeout`, at which pg_restore into 16 fails.
    """
    found = {*filter(None, [shutil.which(name)]), *map(str, embedded_programs(name))}
    found |= set(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))
    able = {version: path for path in found if (version := major(path)) >= server}
    if not able:
        raise SystemExit(f"FAILED: no {name} of PostgreSQL {server} or newer is installed")
    return able[min(able)]


def embedded_programs(name: str) -> list[Path]:
    sys.path.insert(0, str(ROOT))
    from embedded import postgres, processes

    try:
        return [postgres.installation() / "bin" / name]
    except processes.ProcessFailedError:
        return []


def major(path: str) -> int:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\d+", said)
    return int(match[0]) if match else 0


def run(*argv: str, **environment: str) -> None:
    done = subprocess.run(
        argv,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        what = Path(argv[0]).name if "manage.py" not in argv else "manage.py"
        raise SystemExit(f"FAILED: {what}: {(done.stderr or done.stdout).strip()}")


def counts(connection: psycopg.Connection) -> Counts:
    tables = connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
    ).fetchall()
    found = {}
    for (table,) in tables:
        query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
        row = connection.execute(query).fetchone()
        found[table] = row[0] if row else 0
    return found


def server_version(connection: psycopg.Connection) -> int:
    return connection.info.server_version // 10_000


def dump(url: str, file: Path) -> Counts:
    """Write the dump; returns how many rows each table had at that very moment."""
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        row = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert row
        run(
            program("pg_dump", server_version(connection)),
            "--format=custom",
            f"--snapshot={row[0]}",
            f"--file={file}",
            f"--dbname={url}",
        )
        return counts(connection)


@contextmanager
def new_database(url: str) -> Iterator[str]:
    name = f"claimyard_rehearsal_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )


def differences(before: Counts, after: Counts) -> list[str]:
    return [
        f"{table}: {before.get(table, 'no table')} rows in the backup's snapshot, "
        f"{after.get(table, 'no table')} restored"
        for table in sorted(before.keys() | after.keys())
        if before.get(table) != after.get(table)
    ]


def rehearse(url: str, file: Path) -> None:
    before = dump(url, file)
    print(f"dumped {sum(before.values())} rows of {len(before)} tables ({file.stat().st_size} B)")
    with new_database(url) as restored:
        with psycopg.connect(restored) as connection:
            version = server_version(connection)
        run(program("pg_restore", version), "--exit-on-error", f"--dbname={restored}", str(file))
        with psycopg.connect(restored) as connection:
            after = counts(connection)
        if wrong := differences(before, after):
            raise SystemExit("FAILED: the restored database differs:\n  " + "\n  ".join(wrong))
        print("restored: every table has its rows")
        manage = (sys.executable, "manage.py")
        run(*manage, "migrate", "--check", CLAIMYARD_DATABASE_URL=restored)
        print("the migrations are those of this code")
        run(*manage, "rotate_credentials", "--check", CLAIMYARD_DATABASE_URL=restored)
        print("the keys open every stored credential")
    print("the backup can be restored")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="leave the dump in this file")
    arguments = parser.parse_args()
    url = os.environ.get("CLAIMYARD_DATABASE_URL", "")
    if not url:
        raise SystemExit("set CLAIMYARD_DATABASE_URL to the database, as its owner")
    with tempfile.TemporaryDirectory() as folder:
        file = arguments.keep or Path(folder) / "claimyard.dump"
        if arguments.keep and file.exists():
            raise SystemExit(f"{file} is there already; a backup is not overwritten")
        try:
            rehearse(url, file)
        except psycopg.Error as error:
            raise SystemExit(f"FAILED: {str(error).strip()}") from None


if __name__ == "__main__":
    main()
