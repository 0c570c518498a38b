import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from embedded.processes import Command, ProcessFailedError, free_port, spawn, stop, wait_until

ROOT = Path(__file__).resolve().parents[2]
SLEEPER = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)")


def gone(pid: int) -> bool:
    """Whether the process ended, or is only a zombie that nobody has waited for yet."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_gone(pid: int) -> bool:
    for _ in range(500):
        if gone(pid):
            return True
        time.sleep(0.01)
    return False


def test_a_process_dies_when_the_one_that_started_it_is_killed() -> None:
    program = (
        "import sys, time; from embedded.processes import Command, spawn;"
        f"child = spawn(Command('sleeper', {SLEEPER!r}));"
        "child.stdout.readline(); print(child.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout
    child = int(parent.stdout.readline())
    assert not gone(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert wait_gone(child)


def test_stopping_ends_the_processes_that_it_started_too() -> None:
    program = (
        "import signal, subprocess, sys, time;"
        f"child = subprocess.Popen({SLEEPER!r}, stdout=subprocess.DEVNULL);"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    process = spawn(Command("parent", (sys.executable, "-c", program)))
    assert process.stdout
    grandchild = int(process.stdout.readline())
    assert stop(process) == -signal.SIGTERM
    assert wait_gone(grandchild)


def test_a_process_that_ignores_the_request_to_end_is_killed() -> None:
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1); time.sleep(60)"
    process = spawn(Command("deaf", (sys.executable, "-u", "-c", program)))
    assert process.stdout
    process.stdout.readline()
    assert stop(process, patience=0.05) == -signal.SIGKILL


def test_a_taken_port_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port


def test_a_process_that_ends_before_it_is_ready_is_named_with_its_last_words(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = spawn(Command("short", ("sh", "-c", "echo no such thing; exit 3")), output=sink)
    with pytest.raises(ProcessFailedError, match=r"Thing ended with status 3(?s:.*)no such thing"):
        wait_until(lambda: False, process, "Thing", log=log)
    stop(process)


def test_a_process_inherits_neither_our_terminal_nor_our_process_group() -> None:
    process = spawn(Command("group", SLEEPER))
    assert os.getpgid(process.pid) == process.pid != os.getpgid(0)
    stop(process)
