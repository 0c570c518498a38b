"""`python -m simulator serve --dir DIR`: the simulated API server as a process.

With `--scenario` a fleet comes along as a child process; `fleet` is that alone, for any cluster.
"""

import argparse
import asyncio
import ctypes
import os
import signal
import sys
from pathlib import Path

from simulator.apiserver import InUse, Options, Server
from simulator.fleet import cli

PARENT_DEATH = 1  # PR_SET_PDEATHSIG


def die_with_parent() -> None:
    """End when the parent ends, however it ends (Linux)."""
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PARENT_DEATH, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(0)


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    commands = arguments.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="run the simulated API server")
    serve.add_argument("--dir", type=Path, required=True, help="keeps objects, keys, kubeconfig")
    serve.add_argument("--port", type=int, default=0, help="of 127.0.0.1; 0 takes a free one")
    serve.add_argument(
        "--emulated-version", default="1.37", help="serve what this version serves, 1.34 to 1.37"
    )
    serve.add_argument("--history", type=int, default=4096, help="changes remembered of each kind")
    serve.add_argument("--die-with-parent", action="store_true")
    cli.add_scenario_arguments(serve, default="")
    cli.add_arguments(commands.add_parser("fleet", help="run a fleet on a cluster"))
    return arguments


def minor_version(text: str) -> int:
    major, _, minor = text.partition(".")
    if major != "1" or minor not in ("34", "35", "36", "37"):
        raise SystemExit(f"--emulated-version {text}: expected 1.34, 1.35, 1.36 or 1.37")
    return int(minor)


async def serve(given: argparse.Namespace) -> None:
    options = Options(
        port=given.port, history=given.history, minor=minor_version(given.emulated_version)
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with Server(given.dir, options) as server:
        port = server.url.rpartition(":")[2]
        sys.stdout.write(f"ready port={port} kubeconfig={server.kubeconfig}\n")
        sys.stdout.flush()
        async with cli.beside(server.kubeconfig, given, stop):
            await stop.wait()


def main(arguments: list[str] | None = None) -> None:
    given = parser().parse_args(arguments)
    if given.command == "fleet":
        sys.exit(cli.main(given))
    if given.scenario:
        cli.check(given)
    if given.die_with_parent:
        die_with_parent()
    try:
        asyncio.run(serve(given))
    except InUse as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
