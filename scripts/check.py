"""Run every check that needs no test run, and say of each whether it holds.

All of them run even when one fails. With --fix, repair first what tools can repair.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
FOLDERS = [
    "apps",
    "bench",
    "domain",
    "embedded",
    "kube",
    "manage.py",
    "portal",
    "scripts",
    "simulator",
    "tests",
    "workers",
]
OURS = [name for name in FOLDERS if (ROOT / name).exists()]
#: Values with which settings load; nothing connects.
PRODUCTION = {
    "CLAIMYARD_SECRET_KEY": "only-for-checking-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGH",
    "CLAIMYARD_CREDENTIAL_KEYS": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=",
    "CLAIMYARD_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "CLAIMYARD_REDIS_URL": "redis://127.0.0.1:1/0",
    "CLAIMYARD_PUBLIC_URL": "https://claimyard.example.com",
    "CLAIMYARD_ALLOWED_HOSTS": "claimyard.example.com",
    "DJANGO_SETTINGS_MODULE": "portal.settings",
}


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def tool(name: str, *arguments: str) -> tuple[str, ...]:
    return (str(BIN / name), *arguments)


def manage(*arguments: str) -> tuple[str, ...]:
    """Warnings are errors, but for the one that says there is no database to look at."""
    no_database = "ignore:Got an error checking a consistent migration history"
    return (sys.executable, "-W", "error", "-W", no_database, "manage.py", *arguments)


def templates() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "templates").rglob("*.html"))


def checks() -> list[Check]:
    return [
        Check("ruff: no doubtful code", tool("ruff", "check", "--quiet", ".")),
        Check("ruff: formatted", tool("ruff", "format", "--check", "--quiet", ".")),
        Check("djade: templates formatted", tool("djade", "--check", *DJADE, *templates())),
        Check("lint-imports: layers", tool("lint-imports", "--no-cache")),
        Check("mypy: types", tool("mypy", *OURS)),
        Check("django: ready for production", manage(*DEPLOY), PRODUCTION),
        Check("django: migrations complete", manage(*MIGRATIONS), PRODUCTION),
        Check("vendored files as listed", manage("check_vendored"), PRODUCTION),
        Check("OpenAPI description current", (sys.executable, "scripts/openapi.py"), PRODUCTION),
        Check("settings documented", (sys.executable, "scripts/settings.py"), PRODUCTION),
        Check("cluster rights current", (sys.executable, "scripts/rbac.py")),
        Check("file and function sizes", (sys.executable, "scripts/sizes.py")),
        Check("uv.lock current", uv("lock", "--check", "--quiet", "--offline")),
    ]


DJADE = ("--target-version", "6.1")
DEPLOY = ("check", "--deploy", "--fail-level", "WARNING")
MIGRATIONS = ("makemigrations", "--check", "--dry-run")


def uv(*arguments: str) -> tuple[str, ...]:
    return (str(ROOT / "build" / "uv" / "bin" / "uv"), *arguments)


def repairs() -> list[Check]:
    return [
        Check("ruff: repaired", tool("ruff", "check", "--fix", "--quiet", ".")),
        Check("ruff: formatted", tool("ruff", "format", "--quiet", ".")),
        Check("djade: templates formatted", tool("djade", *DJADE, *templates())),
        Check("OpenAPI description", (sys.executable, "scripts/openapi.py", "--fix"), PRODUCTION),
        Check("settings documented", (sys.executable, "scripts/settings.py", "--fix"), PRODUCTION),
        Check("cluster rights", (sys.executable, "scripts/rbac.py", "--fix")),
    ]


def holds(check: Check) -> bool:
    began = time.monotonic()
    status, output = outcome(check)
    mark = "FAILED" if status else "ok"
    print(f"{mark:>6}  {check.name} ({time.monotonic() - began:.1f} s)", flush=True)
    if status:
        print("        " + output.strip().replace("\n", "\n        "), flush=True)
    return not status


def outcome(check: Check) -> tuple[int, str]:
    try:
        done = subprocess.run(
            check.argv,
            cwd=ROOT,
            env={**os.environ, **check.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        return 127, f"{error.filename} is missing: run `make setup`"
    return done.returncode, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="repair first what can be repaired")
    parser.add_argument("only", nargs="*", help="run the checks whose name contains this")
    arguments = parser.parse_args()
    todo = repairs() if arguments.fix else checks()
    if arguments.only:
        todo = [one for one in todo if any(word in one.name for word in arguments.only)]
    failed = [one.name for one in todo if not holds(one)]
    if failed:
        raise SystemExit(f"{len(failed)} of {len(todo)} failed: {', '.join(failed)}")
    print(f"all {len(todo)} hold")


if __name__ == "__main__":
    main()
