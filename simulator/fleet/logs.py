"""The last lines of a container's log, and waiting for more."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime


class Log:
    def __init__(self, keep: int = 500) -> None:
        self._lines: deque[tuple[datetime, str]] = deque(maxlen=keep)
        self._count = 0
        self._more = asyncio.Event()
        self._closed = False

    def write(self, text: str) -> None:
        for line in text.splitlines():
            self._lines.append((datetime.now(UTC), line))
            self._count += 1
        self._wake()

    def close(self) -> None:
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        more, self._more = self._more, asyncio.Event()
        more.set()

    def tail(
        self, lines: int | None = None, *, since: float | None = None, stamps: bool = False
    ) -> str:
        """The last `lines`, those of the last `since` seconds, each with its time if asked."""
        chosen = list(self._lines)
        if since is not None:
            oldest = datetime.now(UTC).timestamp() - since
            chosen = [entry for entry in chosen if entry[0].timestamp() >= oldest]
        if lines is not None:
            chosen = chosen[-lines:] if lines else []
        return "".join(_line(when, text, stamps) for when, text in chosen)

    async def follow(self, *, stamps: bool = False) -> AsyncIterator[str]:
        """New lines until the container ends."""
        seen = self._count
        while True:
            more = self._more
            fresh = self._count - seen
            if fresh:
                for when, text in list(self._lines)[-fresh:]:
                    yield _line(when, text, stamps)
                seen += fresh
                continue
            if self._closed:
                return
            await more.wait()


def _line(when: datetime, text: str, stamps: bool) -> str:
    return f"{when.isoformat().replace('+00:00', 'Z')} {text}\n" if stamps else f"{text}\n"
