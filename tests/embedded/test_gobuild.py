"""How Go programs are built and cached; a shell script stands in for the Go source."""

from pathlib import Path

import pytest

from embedded import gobuild
from embedded.processes import ProcessFailedError


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "program"
    folder.mkdir()
    for name in ("main.go", "go.mod", "go.sum"):
        (folder / name).touch()
    (folder / "build.sh").write_text(f'echo built >>{tmp_path}/builds; cp "$0" "$1"\n')
    return folder


def builds(source: Path) -> int:
    return (source.parent / "builds").read_text().count("built")


def with_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gobuild, "go", lambda: str(tmp_path / "go"))


def test_the_same_source_is_built_once(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_go(monkeypatch, tmp_path)
    assert gobuild.binary(source) == gobuild.binary(source)
    assert builds(source) == 1


@pytest.mark.parametrize("name", ["main.go", "go.sum", "build.sh"])
def test_a_change_of_the_source_builds_anew(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with_go(monkeypatch, tmp_path)
    before = gobuild.binary(source)
    with (source / name).open("a") as file:
        file.write("\n")
    assert gobuild.binary(source) != before
    assert builds(source) == 2


def test_a_failed_build_says_why_and_leaves_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_go(monkeypatch, tmp_path)
    (source / "build.sh").write_text("echo main.go:7: undefined: x; exit 1\n")
    with pytest.raises(ProcessFailedError, match=r"main\.go:7: undefined: x"):
        gobuild.binary(source)
    assert [one for one in gobuild.cache_folder().iterdir() if one.suffix != ".lock"] == []


def test_without_go_the_message_says_what_to_install(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(source))
    monkeypatch.setattr(gobuild, "USUAL_PLACES", ())
    with pytest.raises(ProcessFailedError, match=r"install Go 1\.26 or newer"):
        gobuild.binary(source)


def test_old_builds_are_removed_some_day(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_go(monkeypatch, tmp_path)
    for number in range(gobuild.KEPT_BUILDS + 2):
        (source / "main.go").write_text(str(number))
        newest = gobuild.binary(source)
    kept = [one for one in gobuild.cache_folder().iterdir() if one.suffix != ".lock"]
    assert newest in kept and len(kept) == gobuild.KEPT_BUILDS
