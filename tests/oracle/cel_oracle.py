"""Asks Kubernetes' own CEL code: builds the Go program beside this file and talks to it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "celgo"
UNBOUNDED = None


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
    digest = hashlib.sha256()
    for path in sorted([*SOURCE.glob("*.go"), SOURCE / "go.mod", SOURCE / "go.sum"]):
        digest.update(path.read_bytes())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claimyard"
    built = cache / f"celoracle-{digest.hexdigest()[:16]}"
    if not built.exists():
        cache.mkdir(parents=True, exist_ok=True)
        partial = built.with_suffix(f".{os.getpid()}")
        go = shutil.which("go") or "/usr/local/go/bin/go"
        subprocess.run([go, "build", "-o", str(partial), "."], cwd=SOURCE, check=True)
        partial.replace(built)
    return built


def ask(questions: Iterable[Question]) -> list[dict[str, Any]]:
    """One answer per question, in order."""
    lines = b"\n".join(question.line() for question in questions)
    done = subprocess.run([str(binary())], input=lines, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def declarations() -> list[str]:
    done = subprocess.run([str(binary()), "declarations"], capture_output=True, check=True)
    return done.stdout.decode().splitlines()
