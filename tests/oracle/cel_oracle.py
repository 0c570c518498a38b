"""Asks Kubernetes' own CEL code: builds the Go program beside this file and talks to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedded import gobuild

SOURCE = Path(__file__).parent / "celgo"


@dataclass(frozen=True, slots=True)
class Question:
    """An expression, the environment to compile it in, and (driver, device) pairs to try it on."""

    expression: str
    devices: Sequence[tuple[str, dict[str, Any]]] = ()
    admission: bool = False
    consumable_capacity: bool = True
    list_attributes: bool = True
    derived: bool = False

    def line(self) -> bytes:
        devices = [{"driver": driver, "device": device} for driver, device in self.devices]
        return json.dumps(
            {
                "expression": self.expression,
                "admission": self.admission,
                "consumable_capacity": self.consumable_capacity,
                "list_attributes": self.list_attributes,
                "derived": self.derived,
                "devices": devices,
            }
        ).encode()


def binary() -> Path:
    """The program, built once for each state of its sources."""
    return gobuild.binary(SOURCE)


def ask(questions: Iterable[Question]) -> list[dict[str, Any]]:
    """One answer per question, in order."""
    lines = b"\n".join(question.line() for question in questions)
    done = subprocess.run([str(binary())], input=lines, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def module(path: str) -> Path:
    """The folder of a Go module that the program is built from."""
    binary()
    done = subprocess.run(
        [gobuild.go(), "list", "-m", "-f", "{{.Dir}}", path],
        cwd=SOURCE,
        capture_output=True,
        check=True,
    )
    return Path(done.stdout.decode().strip())


def declarations() -> list[str]:
    done = subprocess.run([str(binary()), "declarations"], capture_output=True, check=True)
    return done.stdout.decode().splitlines()
