"""A real Kubernetes control plane in one process, built from Go by tests/kubernetes."""

import contextlib
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

from embedded import gobuild
from embedded.processes import Command, ProcessFailedError, spawn, stop

SOURCE = Path(__file__).resolve().parents[1] / "tests" / "kubernetes" / "controlplane"
READY = re.compile(rb"ready port=(\d+) kubeconfig=(\S+)")


@dataclass(frozen=True, slots=True)
class ControlPlane:
    kubeconfig: Path
    #: Where the API server looks for an HTTP CONNECT proxy to pods and kubelets; a fleet listens
    #: there. None on an existing cluster, which reaches its pods by itself.
    pod_proxy: Path | None = None


def command(folder: Path, *flags: str) -> Command:
    """How to start it with its state in `folder`, whose path must be short (unix sockets)."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    argv = (str(gobuild.binary(SOURCE)), "-dir", str(folder), *flags)
    # A kill costs nothing: etcd replays its log at the next start. An orderly end takes 3 s.
    return Command("kubernetes", argv, {"GOGC": "50"}, stop_signal=signal.SIGKILL)


@contextlib.contextmanager
def running(folder: Path, *flags: str) -> Iterator[Path]:
    """Run a control plane; yields the path of its administrator's kubeconfig."""
    with (folder.parent / f"{folder.name}.err").open("wb") as errors:
        starting = command(folder, *flags)
        process = spawn(starting, output=PIPE, errors=errors)
    try:
        assert process.stdout
        line = process.stdout.readline()
        ready = READY.match(line)
        if not ready:
            wrote = (folder.parent / f"{folder.name}.err").read_text(errors="replace").strip()
            raise ProcessFailedError(
                f"the control plane did not start: {wrote or line.decode(errors='replace')}; "
                f"its log is {folder / 'controlplane.log'}"
            )
        yield Path(ready[2].decode())
    finally:
        stop(process, starting.stop_signal)
