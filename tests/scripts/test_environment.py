"""`make` finds a Python that is new enough, or says what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "environment.sh"


def which(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", SCRIPT, "--which"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def interpreter(path: Path, *, minor: int | None = None) -> Path:
    """A Python that claims to be 3.`minor`; one that cannot be run without."""
    path.parent.mkdir(parents=True)
    script = "exit 127"
    if minor is not None:
        script = f'case $2 in *version_info*) echo {minor};; *) echo "{path}";; esac'
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path: Path) -> str:
    """A PATH with the usual tools and no Python."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("sh", "dirname", "cksum", "cat", "cut"):
        found = next(p for p in (Path("/bin") / name, Path("/usr/bin") / name) if p.exists())
        (folder / name).symlink_to(found)
    return str(folder)


@pytest.mark.parametrize("where", ["PYENV_ROOT", "HOME"])
def test_a_version_that_pyenv_installed_is_found_without_being_activated(
    tools: str, tmp_path: Path, where: str
) -> None:
    root = tmp_path / "pyenv" if where == "PYENV_ROOT" else tmp_path / "home" / ".pyenv"
    interpreter(root / "versions" / "3.11.7" / "bin" / "python3", minor=11)
    wanted = interpreter(root / "versions" / "3.13.2" / "bin" / "python3", minor=13)
    place = {"PYENV_ROOT": root, "HOME": tmp_path / "home"}[where]
    assert which(PATH=tools, **{where: str(place)}).stdout.strip() == str(wanted)


def test_a_shim_that_leads_nowhere_is_passed_over(tools: str, tmp_path: Path) -> None:
    shim = interpreter(tmp_path / "shims" / "python3.13")
    root = tmp_path / "pyenv"
    wanted = interpreter(root / "versions" / "3.13.2" / "bin" / "python3", minor=13)
    found = which(PATH=f"{shim.parent}:{tools}", PYENV_ROOT=str(root))
    assert found.stdout.strip() == str(wanted)


def test_the_one_that_was_named_is_taken(tools: str) -> None:
    named = which(PATH=tools, CLAIMYARD_PYTHON=sys.executable)
    assert named.stdout.strip() == sys.executable


def test_one_that_is_too_old_is_refused_with_what_to_install(tools: str, tmp_path: Path) -> None:
    old = interpreter(tmp_path / "old" / "python3", minor=11)
    refused = which(PATH=tools, CLAIMYARD_PYTHON=str(old))
    assert refused.returncode == 1
    assert f"CLAIMYARD_PYTHON is {old}" in refused.stderr
    assert "apt install python3" in refused.stderr
