"""Go programs that tests need: built once, kept in the user's cache under a hash of their source.

Run `python -m embedded.gobuild FOLDER...` to build ahead, for instance while other tests run.
"""

import fcntl
import hashlib
import os
import shutil
import sys
from pathlib import Path

from embedded.processes import Command, ProcessFailedError, spawn

KEPT_BUILDS = 4
USUAL_PLACES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go", "/opt/homebrew/bin/go")


def binary(source: Path) -> Path:
    """The program that `source`/build.sh makes from the Go files there; built if it is not cached.

    A first build may take minutes. Several processes may ask at once: one builds, all wait.
    Raises ProcessFailedError when there is no Go or the build fails.
    """
    wanted = cache_folder() / f"{source.name}-{source_hash(source)}"
    if wanted.exists():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with wanted.with_name(f"{wanted.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not wanted.exists():
            _build(source, wanted)
    return wanted


def source_hash(source: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted([*source.glob("*.go"), source / "go.mod", source / "go.sum"]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    digest.update((source / "build.sh").read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "claimyard"


def go() -> str:
    """The path of a Go that is new enough to fetch the one go.mod asks for."""
    found = shutil.which("go") or next((p for p in USUAL_PLACES if Path(p).exists()), None)
    if found is None:
        raise ProcessFailedError(
            "Go is needed to build the real Kubernetes control plane and the upstream allocator, "
            "and there is none on the PATH: install Go 1.26 or newer from https://go.dev/dl/ "
            "(`make demo` and `make test-quick` work without it)"
        )
    return found


def _build(source: Path, wanted: Path) -> None:
    unfinished = wanted.with_name(f"{wanted.name}.{os.getpid()}")
    path = f"{Path(go()).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    print(f"building {source.name} with Go, once per source (minutes)", file=sys.stderr, flush=True)
    command = Command(
        source.name, ("sh", str(source / "build.sh"), str(unfinished)), {"PATH": path}
    )
    process = spawn(command)  # so that it ends with us: nobody waits for it then
    output = process.communicate()[0].decode(errors="replace")
    if process.returncode:
        unfinished.unlink(missing_ok=True)
        tail = "\n  ".join(output.splitlines()[-20:])
        raise ProcessFailedError(f"{source}/build.sh failed:\n  {tail}")
    unfinished.rename(wanted)
    _prune(wanted)


def _prune(newest: Path) -> None:
    """Keep a few builds, for other checkouts and branches; each may have 140 MB."""
    stem = newest.name.rpartition("-")[0]
    builds = [one for one in newest.parent.glob(f"{stem}-*") if one.suffix != ".lock"]
    for old in sorted(builds, key=lambda one: one.stat().st_mtime, reverse=True)[KEPT_BUILDS:]:
        old.unlink(missing_ok=True)


def main() -> None:
    for folder in sys.argv[1:]:
        try:
            print(binary(Path(folder).absolute()))
        except ProcessFailedError as error:
            raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
