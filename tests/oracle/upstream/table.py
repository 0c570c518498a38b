"""Dumps upstream's table of named allocator cases, once per release and hook.

The table sits in an internal package, so the hook is compiled inside a copy of the module in a
temporary folder. Nothing of upstream's source enters the repository; its assertions still run.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from embedded import gobuild
from embedded.processes import ProcessFailedError

VERSION = "v0.37.2"
MODULE = "k8s.io/dynamic-resource-allocation"
HOOK = Path(__file__).with_name("hook.go.txt")
VARIANTS = ("incubating", "experimental")

SKIPPED = {
    "no-classes": "only the error text of the test's own class lister differs",
    "unknown-class": "only the error text of the test's own class lister differs",
    "consumable-capacity-requests-are-not-modified": "10^21 does not survive Quantity's own JSON",
    "list-attributes-distinct-constaint-with-empty-or-unknown-type": (
        "an attribute of unknown type has no JSON form"
    ),
}
"""Cases that cannot be asked of anybody but the Go test itself."""


def cases(variant: str) -> Iterator[dict[str, Any]]:
    """The cases of a variant with what upstream's own run answered (`expect`)."""
    with (dumped() / f"{variant}.jsonl").open() as lines:
        for line in lines:
            yield json.loads(line)


def dumped() -> Path:
    """The folder with one file per variant. A first call takes about a minute.

    Raises ProcessFailedError without Go, or if upstream's own tests fail.
    """
    digest = hashlib.sha256(VERSION.encode() + HOOK.read_bytes()).hexdigest()[:16]
    wanted = gobuild.cache_folder() / f"upstream-cases-{digest}"
    if not wanted.is_dir():
        wanted.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=wanted.parent) as scratch:
            _dump(Path(scratch), gobuild.go())
            out = Path(scratch) / "out"
            if not wanted.is_dir():
                out.rename(wanted)
    return wanted


def _dump(scratch: Path, go: str) -> None:
    module = _downloaded(go, scratch)
    copy = scratch / "module"
    shutil.copytree(module, copy)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    tables = copy / "structured/internal/allocatortesting"
    runner = tables / "allocator_testing.go"
    text = runner.read_text().replace("func RunTestAllocator(", "func upstreamRunTestAllocator(")
    runner.write_text(text)
    shutil.copy(HOOK, tables / "zz_hook.go")
    (scratch / "out").mkdir()
    _run(
        [go, "test", "-trimpath", "-count=1", "-run", "TestAllocator"]
        + [f"./structured/internal/{variant}" for variant in VARIANTS],
        copy,
        DUMP_DIR=str(scratch / "out"),
        GOFLAGS="-mod=mod -buildvcs=false",
    )


def _downloaded(go: str, scratch: Path) -> Path:
    said = _run([go, "mod", "download", "-json", f"{MODULE}@{VERSION}"], scratch)
    return Path(json.loads(said)["Dir"])


def _run(command: list[str], folder: Path, **more: str) -> str:
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        tail = "\n  ".join((done.stdout + done.stderr).splitlines()[-20:])
        raise ProcessFailedError(f"{' '.join(command[:3])} failed:\n  {tail}")
    return done.stdout
