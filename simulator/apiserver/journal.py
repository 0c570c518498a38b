"""The objects on disk: a snapshot and a log of what changed since, safe against kill -9.

Files are numbered. `journal.N` holds the changes that follow `snapshot.N`; a snapshot counts only
under its final name, which it gets when it is complete. Every change is written with one write
call, so at worst the last line of the last journal is cut, and then nobody has been told of it.
"""

import contextlib
import os
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

PUT, REMOVED, REVISION = b"put", b"del", b"rev"


@dataclass(frozen=True, slots=True)
class Line:
    """One change. `key` is `namespace/name`; `body` the object as stored, empty if it went."""

    what: bytes
    resource: str
    revision: int
    key: str
    body: bytes

    def encoded(self) -> bytes:
        key = quote(self.key, safe="/:").encode()  # some names may hold blanks and line ends
        words = self.what, self.resource.encode(), self.revision, key, self.body
        return b"%b %b %d %b %b\n" % words


def _read(path: Path) -> Iterator[Line]:
    with path.open("rb") as lines:
        for raw in lines:
            if not raw.endswith(b"\n"):
                return
            what, resource, revision, key, body = raw[:-1].split(b" ", 4)
            yield Line(what, resource.decode(), int(revision), unquote(key.decode()), body)


def _numbered(directory: Path, stem: str) -> dict[int, Path]:
    found = {}
    for path in directory.iterdir():
        if match := re.fullmatch(rf"{stem}\.(\d+)", path.name):
            found[int(match.group(1))] = path
    return found


class Journal:
    """Appends changes; starts a new snapshot when the log outgrows `compact_bytes`."""

    def __init__(self, directory: Path, compact_bytes: int = 64 << 20) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._compact_bytes = compact_bytes
        snapshots = _numbered(directory, "snapshot")
        self._number = max(snapshots, default=0)
        self._file = -1
        self._written = 0
        self._writer: threading.Thread | None = None

    def load(self) -> Iterator[Line]:
        """Everything on disk in order, once, before the first append."""
        snapshot = self._directory / f"snapshot.{self._number}"
        if snapshot.exists():
            yield from _read(snapshot)
        journals = _numbered(self._directory, "journal")
        for number in sorted(n for n in journals if n >= self._number):
            yield from _read(journals[number])
            self._number = number
        self._open()

    def _open(self) -> None:
        path = self._directory / f"journal.{self._number}"
        _drop_cut_line(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._written = os.fstat(self._file).st_size

    def append(self, line: Line) -> None:
        data = line.encoded()
        self._written += os.write(self._file, data)

    @property
    def wants_snapshot(self) -> bool:
        busy = self._writer is not None and self._writer.is_alive()
        return self._written > self._compact_bytes and not busy

    def snapshot(self, lines: Iterable[Line]) -> None:
        """Write `lines`, the whole state of this moment, in the background; go on in a new log."""
        os.close(self._file)
        self._number += 1
        self._open()
        self._writer = threading.Thread(
            target=self._write_snapshot, args=(list(lines), self._number), daemon=True
        )
        self._writer.start()

    def _write_snapshot(self, lines: list[Line], number: int) -> None:
        unfinished = self._directory / "snapshot.unfinished"
        with unfinished.open("wb") as out:
            for line in lines:
                out.write(line.encoded())
            out.flush()
            os.fsync(out.fileno())
        unfinished.rename(self._directory / f"snapshot.{number}")
        for stem in ("snapshot", "journal"):
            for old, path in _numbered(self._directory, stem).items():
                if old < number:
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.join()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _drop_cut_line(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError), path.open("rb+") as log:
        size = log.seek(0, os.SEEK_END)
        position = size
        while position > 0:
            step = min(1 << 16, position)
            log.seek(position - step)
            found = log.read(step).rfind(b"\n")
            if found >= 0:
                log.truncate(position - step + found + 1)
                return
            position -= step
        log.truncate(0)
