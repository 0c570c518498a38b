"""Start a process so that it cannot outlive us, and end it in an orderly way."""

import contextlib
import ctypes
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Account:
    """A user that a process runs as."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, as whom, and how it wants to be ended."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    account: Account | None = None
    keep_open: tuple[int, ...] = ()
    stop_signal: signal.Signals = signal.SIGTERM
    #: Sent by the kernel when the thread that started the process ends.
    orphan_signal: signal.Signals = signal.SIGKILL


class ProcessFailedError(RuntimeError):
    """A process ended, or was not ready in time; the message says what it wrote last."""


def spawn(
    command: Command,
    *,
    output: int | IO[bytes] | None = subprocess.PIPE,
    errors: int | IO[bytes] | None = subprocess.STDOUT,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own, so that Ctrl-C in a terminal reaches only us.

    Call this from a thread that lives as long as the process should: on Linux the kernel sends
    `orphan_signal` when the starting *thread* ends.
    """
    account = command.account
    return subprocess.Popen(
        command.argv,
        env={**os.environ, **command.environment},
        cwd=command.folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=() if account else None,
        start_new_session=True,
        pass_fds=command.keep_open,
        preexec_fn=_dying_with(os.getpid(), command.orphan_signal),
    )


def _dying_with(parent: int, orphan_signal: signal.Signals) -> Callable[[], None] | None:
    """What the child does between fork and exec; None where the kernel offers nothing."""
    libc = LIBC
    if libc is None:
        return None

    def set_death_signal() -> None:
        libc.prctl(PR_SET_PDEATHSIG, int(orphan_signal), 0, 0, 0)
        if os.getppid() != parent:  # it ended before the line above
            os._exit(1)

    return set_death_signal


def die_with_parent(orphan_signal: signal.Signals) -> None:
    """Have the kernel send us `orphan_signal` when our own parent ends, where it can."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(orphan_signal), 0, 0, 0)


def stop(
    process: subprocess.Popen[bytes],
    stop_signal: signal.Signals = signal.SIGTERM,
    *,
    patience: float = 10,
) -> int:
    """End a process and whatever it started in its session; returns its exit status.

    After `patience` seconds the whole process group is killed. Once per process: later its
    number may belong to somebody else.
    """
    if process.poll() is None:
        process.send_signal(stop_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    kill_group(process)
    if process.stdout:
        process.stdout.close()
    return process.wait()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the session that `spawn` gave the process: it and the children it left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def free_port(wanted: int = 0) -> int:
    """The first free TCP port of 127.0.0.1 from `wanted` on, or any for 0."""
    for port in range(wanted, min(wanted + 100, 65_536)) if wanted else (0,):
        with socket.socket() as listener:
            # As servers do, so that a port in TIME_WAIT counts as free for us, too.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
                listener.listen()
            except OSError:
                continue
            return int(listener.getsockname()[1])
    raise ProcessFailedError(f"no free port among {wanted} to {wanted + 99}; choose another")


def wait_until(
    ready: Callable[[], bool],
    process: subprocess.Popen[bytes],
    what: str,
    *,
    seconds: float = 60,
    log: Path | None = None,
) -> None:
    """Poll `ready` until it holds; ProcessFailedError when the process ends or time is up."""
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None:
            raise ProcessFailedError(f"{what} ended with status {process.returncode}{_last(log)}")
        if time.monotonic() > deadline:
            raise ProcessFailedError(f"{what} was not ready after {seconds:.0f} s{_last(log)}")
        time.sleep(0.01)


def _last(log: Path | None, lines: int = 12) -> str:
    if log is None or not log.exists():
        return ""
    last = log.read_text(errors="replace").splitlines()[-lines:]
    return "; it wrote last:\n  " + "\n  ".join(last) if last else ""


def unprivileged_account() -> Account | None:
    """Whom a server that refuses to be root runs as; None when we are not root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise ProcessFailedError(
        "PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody` "
        "to run it as: start as another user, or set CLAIMYARD_DATABASE_URL"
    )
