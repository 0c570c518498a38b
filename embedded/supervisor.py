"""Keeps a group of processes running, merges what they say and ends them together."""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

from embedded.processes import Command, ProcessFailedError, kill_group, spawn

COLOURS = (36, 35, 34, 32, 96, 95, 94, 92)
RED, YELLOW, BOLD = 31, 33, 1
SERIOUS = re.compile(r"\[(?:error|critical) *\]|\b(?:ERROR|CRITICAL|FATAL|PANIC|Traceback)\b")
DOUBTFUL = re.compile(r"\[warning *\]|\bWARN(?:ING)?\b|Warning:")
LONGEST_PAUSE = 30.0
#: A process that ran for so long starts again at once and counts as healthy again.
HEALTHY_AFTER = 60.0


class Log:
    """Lines of several processes, each under the name of who wrote it."""

    def __init__(self, terminal: TextIO, file: Path) -> None:
        self._terminal = terminal
        self._colourful = terminal.isatty() and "NO_COLOR" not in os.environ
        if file.exists():
            file.replace(file.with_name(f"{file.name}.1"))
        file.touch(mode=0o600)  # it will hold the demo's password
        self._file = file.open("w", encoding="utf-8", buffering=1)
        self._names: list[str] = []

    def line(self, name: str, text: str, colour: int | None = None) -> None:
        self._file.write(f"{name:<10} | {text}\n")
        self._show(self._paint(f"{name:<10} | ", self._colour_of(name)), text, colour)

    def say(self, text: str = "", colour: int | None = None) -> None:
        """A line of the supervisor itself, for the person in front of it."""
        self._file.write(f"{text}\n")
        self._show("", text, colour)

    def close(self) -> None:
        self._file.close()

    def _show(self, prefix: str, text: str, colour: int | None) -> None:
        if colour is None:
            colour = RED if SERIOUS.search(text) else YELLOW if DOUBTFUL.search(text) else None
        with contextlib.suppress(BrokenPipeError):  # a pager that was closed is no reason to stop
            print(prefix + self._paint(text, colour), file=self._terminal, flush=True)

    def _colour_of(self, name: str) -> int:
        if name not in self._names:
            self._names.append(name)
        return COLOURS[self._names.index(name) % len(COLOURS)]

    def _paint(self, text: str, colour: int | None) -> str:
        return f"\033[{colour}m{text}\033[0m" if colour and self._colourful else text


@dataclass(slots=True)
class Service:
    """One process that is wanted, and how it fares."""

    command: Command
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    failures: int = 0
    start_at: float = 0.0
    unfinished: bytes = b""
    last_lines: list[str] = field(default_factory=list)


class Supervisor:
    """Call `watch` again and again; it reads output and restarts what ended.

    Everything runs in the calling thread, because the kernel ends the processes with it.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.services: list[Service] = []
        self.stopping = False
        self._selector = selectors.DefaultSelector()

    def start(self, command: Command) -> Service:
        """Start a process and keep it running."""
        service = Service(command)
        self.services.append(service)
        self._spawn(service)
        return service

    def run(self, command: Command, seconds: float = 300) -> None:
        """Run a process to its end, while the others are watched."""
        service = Service(command)
        self._spawn(service)
        process = service.process
        assert process
        try:
            self.wait(lambda: process.poll() is not None, command.name, seconds)
        finally:
            self._drain(service)
            self._let_go(service)
        if process.returncode:
            said = "\n  ".join(service.last_lines[-8:])
            raise ProcessFailedError(
                f"{command.name} ended with status {process.returncode}:\n  {said}"
            )

    def wait(self, ready: Callable[[], bool], what: str, seconds: float = 90) -> None:
        """Watch until `ready` holds; raises ProcessFailedError when time is up, Stopped on a
        signal."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.stopping:
                raise Stopped
            if time.monotonic() > deadline:
                raise ProcessFailedError(f"{what} was not ready after {seconds:.0f} s")
            self.watch(0.05)

    def watch(self, seconds: float = 0.25) -> None:
        """Pass on what was said, and restart what ended."""
        if not self._selector.get_map():
            time.sleep(seconds)
        for key, _ in self._selector.select(seconds):
            self._read(key.data)
        now = time.monotonic()
        for service in self.services:
            if service.process is None:
                if not self.stopping and now >= service.start_at:
                    self._spawn(service)
            elif service.process.poll() is not None:
                self._ended(service, now)

    def stop_all(self, groups: list[list[str]], patience: float = 8) -> None:
        """End the services in groups, in the order given; then whatever is left."""
        self.stopping = True
        named = {name for group in groups for name in group}
        rest = [one.command.name for one in self.services if one.command.name not in named]
        for group in (*groups, rest):
            members = [one for one in self.services if one.command.name in group and one.process]
            for service in members:
                if service.process and service.process.poll() is None:
                    service.process.send_signal(service.command.stop_signal)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and any(map(_runs, members)):
                for key, _ in self._selector.select(0.05):
                    self._read(key.data)
            for service in members:
                self._let_go(service)

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """The first SIGINT, SIGTERM or SIGHUP asks for an orderly end, the second is at once."""

        def ask(number: int, _frame: object) -> None:
            if self.stopping:
                for service in self.services:
                    if service.process:
                        kill_group(service.process)
            self.stopping = True

        before = {one: signal.signal(one, ask) for one in (signal.SIGINT, signal.SIGTERM)}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _spawn(self, service: Service) -> None:
        service.process = spawn(service.command)
        service.started = time.monotonic()
        pipe = _pipe(service)
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, selectors.EVENT_READ, service)

    def _ended(self, service: Service, now: float) -> None:
        """Note the end of a process that should run, and when to start it again."""
        process = service.process
        assert process
        self._drain(service)
        self._let_go(service)
        if self.stopping:
            return
        if now - service.started > HEALTHY_AFTER:
            service.failures = 0
        pause = min(2.0**service.failures, LONGEST_PAUSE) if service.failures else 0.5
        service.failures += 1
        service.start_at = now + pause
        self.log.line(
            service.command.name,
            f"{how_it_ended(process.returncode)}; starting it again in {pause:g} s",
            YELLOW,
        )

    def _read(self, service: Service) -> None:
        pipe = _pipe(service)
        try:
            data = os.read(pipe.fileno(), 65_536)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(pipe)
            return
        *lines, service.unfinished = (service.unfinished + data).split(b"\n")
        for line in lines:
            self._say(service, line)

    def _drain(self, service: Service) -> None:
        pipe = _pipe(service)
        while pipe in self._selector.get_map():
            before = service.unfinished, len(service.last_lines)
            self._read(service)
            if before == (service.unfinished, len(service.last_lines)):
                break
        if service.unfinished:
            self._say(service, service.unfinished)
            service.unfinished = b""

    def _say(self, service: Service, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip()
        service.last_lines = [*service.last_lines[-99:], text]
        if text:
            self.log.line(service.command.name, text)

    def _let_go(self, service: Service) -> None:
        process, service.process = service.process, None
        if process is None:
            return
        kill_group(process)
        process.wait()
        assert process.stdout
        with contextlib.suppress(KeyError):
            self._selector.unregister(process.stdout)
        process.stdout.close()


class Stopped(Exception):
    """Somebody asked for the end before the start was done."""


def how_it_ended(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _pipe(service: Service) -> IO[bytes]:
    assert service.process and service.process.stdout
    return service.process.stdout


def _runs(service: Service) -> bool:
    return service.process is not None and service.process.poll() is None
