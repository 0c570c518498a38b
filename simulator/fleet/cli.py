"""`python -m simulator fleet`: the command line of the fleet."""

import argparse
import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

from simulator.fleet.scenario import load, names
from simulator.fleet.settings import BadScenario

_PARENT = "SIMULATOR_PARENT"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kubeconfig", required=True, type=Path, help="the cluster to join")
    add_scenario_arguments(parser)
    parser.add_argument(
        "--nodes-only", action="store_true", help="the cluster has controllers and a scheduler"
    )
    parser.add_argument(
        "--egress", type=Path, help="unix socket on which the API server reaches pods"
    )
    parser.add_argument(
        "--die-with-parent", action="store_true", help="end when the starting process ends"
    )


def add_scenario_arguments(parser: argparse.ArgumentParser, default: str = "demo") -> None:
    parser.add_argument(
        "--scenario",
        default=default,
        help=f"{', '.join(names())}, or the path of a .yaml file; default: {default or 'none'}",
    )
    parser.add_argument("--seed", type=int, help="instead of the scenario's")
    parser.add_argument(
        "--speed", type=float, help="how many times faster pulls, loads and waits go by"
    )


def check(given: argparse.Namespace) -> None:
    """Ends the program with a sentence when the scenario cannot be used."""
    try:
        load(given.scenario, seed=given.seed, speed=given.speed)
    except BadScenario as error:
        raise SystemExit(f"error: {error}") from None


@contextlib.asynccontextmanager
async def beside(
    kubeconfig: str, given: argparse.Namespace, stop: asyncio.Event
) -> AsyncIterator[None]:
    """A fleet as a child process while the body runs; `stop` is set when the child ends."""
    if not given.scenario:
        yield
        return
    words = command(kubeconfig, scenario=given.scenario, seed=given.seed, speed=given.speed)
    child = await asyncio.create_subprocess_exec(
        *words, env=os.environ | {_PARENT: str(os.getpid())}
    )

    async def watch() -> None:
        await child.wait()
        stop.set()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        if child.returncode is None:
            child.terminate()
            await child.wait()
        elif child.returncode:
            raise SystemExit(f"error: the fleet ended with code {child.returncode}")


def command(
    kubeconfig: Path | str,
    *,
    scenario: str,
    seed: int | None = None,
    speed: float | None = None,
    nodes_only: bool = False,
    egress: Path | str | None = None,
) -> list[str]:
    """The argv of a fleet process that ends with the process that starts it."""
    words = [sys.executable, "-m", "simulator", "fleet", "--die-with-parent"]
    words += ["--kubeconfig", str(kubeconfig), "--scenario", scenario]
    words += ["--seed", str(seed)] if seed is not None else []
    words += ["--speed", str(speed)] if speed is not None else []
    words += ["--egress", str(egress)] if egress else []
    return words + (["--nodes-only"] if nodes_only else [])


def main(args: argparse.Namespace) -> int:
    """0 after a clean stop; ends with a sentence when scenario or kubeconfig cannot be used."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s fleet %(message)s")
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    if args.die_with_parent:
        _die_with_parent()
    check(args)
    if not args.kubeconfig.is_file():
        raise SystemExit(f"error: there is no kubeconfig {args.kubeconfig}")
    scenario = load(args.scenario, seed=args.seed, speed=args.speed)
    # Here, because the API server's process reads this file too and has no use for placement.
    from simulator.fleet.run import run

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(
            _until_signal(
                run(args.kubeconfig, scenario, nodes_only=args.nodes_only, egress=args.egress)
            )
        )
    return 0


async def _until_signal(work: Coroutine[None, None, None]) -> None:
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _die_with_parent() -> None:
    """SIGTERM when the parent ends, also by SIGKILL; where prctl is missing nothing happens.

    A parent that ended while this process was still being loaded is known by its number.
    """
    parent = int(os.environ.get(_PARENT) or os.getppid())
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
