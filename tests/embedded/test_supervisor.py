import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.processes import Command, ProcessFailedError
from embedded.supervisor import Log, Supervisor


@pytest.fixture
def terminal() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def supervisor(tmp_path: Path, terminal: io.StringIO) -> Iterator[Supervisor]:
    log = Log(terminal, tmp_path / "log")
    supervisor = Supervisor(log)
    yield supervisor
    supervisor.stop_all([])
    log.close()


def shell(name: str, script: str) -> Command:
    return Command(name, ("sh", "-c", script))


def test_every_line_says_who_wrote_it(supervisor: Supervisor, terminal: io.StringIO) -> None:
    supervisor.run(shell("greeter", "echo hello; printf 'without an end'"))
    assert terminal.getvalue() == "greeter    | hello\ngreeter    | without an end\n"


def test_what_fails_says_why(supervisor: Supervisor) -> None:
    with pytest.raises(ProcessFailedError, match=r"migrate ended with status 4(?s:.*)no table"):
        supervisor.run(shell("migrate", "echo no table >&2; exit 4"))


def test_a_process_that_dies_is_started_again_and_the_log_says_so(
    supervisor: Supervisor, terminal: io.StringIO
) -> None:
    service = supervisor.start(shell("server", "echo up; sleep 60"))
    supervisor.wait(lambda: "up" in terminal.getvalue(), "server")
    assert service.process
    os.kill(service.process.pid, signal.SIGKILL)
    supervisor.wait(lambda: terminal.getvalue().count("up\n") == 2, "server")
    assert "server     | was ended by SIGKILL; starting it again in 0.5 s" in terminal.getvalue()


def test_pauses_grow_while_a_process_keeps_dying(
    supervisor: Supervisor, terminal: io.StringIO
) -> None:
    supervisor.start(shell("sick", "exit 1"))
    supervisor.wait(lambda: "again in 2 s" in terminal.getvalue(), "second pause")


def test_groups_end_in_order_and_the_last_words_are_read(
    supervisor: Supervisor, terminal: io.StringIO
) -> None:
    for name in ("database", "web"):
        script = f"trap 'echo bye from {name}; exit' TERM; echo up; while :; do sleep 0.02; done"
        supervisor.start(shell(name, script))
    supervisor.wait(lambda: terminal.getvalue().count("up") == 2, "both")
    supervisor.stop_all([["web"], ["database"]])
    said = terminal.getvalue()
    assert 0 < said.index("bye from web") < said.index("bye from database")
    assert all(service.process is None for service in supervisor.services)


def test_what_a_process_leaves_behind_ends_with_it(
    supervisor: Supervisor, terminal: io.StringIO
) -> None:
    program = (
        "import subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print('child', child.pid, flush=True); time.sleep(60)"
    )
    supervisor.start(Command("parent", (sys.executable, "-c", program)))
    supervisor.wait(lambda: "child" in terminal.getvalue(), "child")
    child = int(terminal.getvalue().split()[-1])
    supervisor.stop_all([])
    for _ in range(500):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("the child outlived its parent")
