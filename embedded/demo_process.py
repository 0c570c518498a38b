"""A demo as a process, and the processes that belong to it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from embedded.processes import ProcessFailedError

ROOT = Path(__file__).resolve().parents[1]


class DemoProcess:
    """Starts a demo and reads what it prints."""

    def __init__(self, argv: Sequence[str], folder: Path = ROOT) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def on(cls, state: Path, *arguments: str, through: Sequence[str] = ()) -> "DemoProcess":
        """One of this checkout, with its data in `state`."""
        module = (sys.executable, "-m", "embedded.demo", "--die-with-parent", f"--state={state}")
        return cls([*through, *module, *arguments])

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def until(self, pattern: str, seconds: float = 120) -> re.Match[str]:
        """Wait for a line; fails with the whole output when the demo ends or time is up."""
        found = eventually(lambda: re.search(pattern, self.output) or self._over(), seconds)
        if not isinstance(found, re.Match):
            raise ProcessFailedError(f"no {pattern!r} in:\n{self.output}")
        return found

    def _over(self) -> bool:
        return self.process.poll() is not None and not self._reader.is_alive()

    def url(self) -> str:
        return self.until(r"Claimyard is ready after \d+ s: (http://[\d.]+:\d+)")[1]

    def family(self) -> set[int]:
        """Its process and all that descend from it."""
        return descendants(self.process.pid)

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        """Signal it as a terminal does: `make`, if it was started by it, and the demo alike."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, how)
        return self.wait()

    def wait(self) -> int:
        """Its exit status, once it ends by itself."""
        status = self.process.wait(60)
        self._reader.join(10)
        assert self.process.stdout
        self.process.stdout.close()
        return status


def descendants(root: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def alive(pids: set[int]) -> set[int]:
    """Those that still run; a process that ended and was not waited for does not."""
    running = set()
    for pid in pids:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] != "Z":
            running.add(pid)
    return running


def named(pids: set[int], *words: str) -> set[int]:
    """Those whose command line holds all of `words`."""
    return {
        pid
        for pid in alive(pids)
        if all(word in Path(f"/proc/{pid}/cmdline").read_text() for word in words)
    }


def memory(pids: set[int]) -> int:
    """Bytes of these processes together; what they share counts once."""
    total = 0
    for pid in alive(pids):
        with contextlib.suppress(OSError):
            found = re.search(r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
            total += int(found[1]) * 1024 if found else 0
    return total


def eventually[T](seen: Callable[[], T], seconds: float = 30) -> T:
    deadline = time.monotonic() + seconds
    while not (found := seen()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
