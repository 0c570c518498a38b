"""Time: stamps are always real, only waiting is shortened by the scenario's speed."""

import asyncio
import time
from datetime import UTC, datetime


class Clock:
    def __init__(self, speed: float) -> None:
        self.speed = speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)

    def shortened(self, seconds: float) -> float:
        return seconds / self.speed

    @staticmethod
    def stamp() -> str:
        """Now as Kubernetes writes times: whole seconds, UTC."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @staticmethod
    def micro_stamp() -> str:
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    @staticmethod
    def monotonic() -> float:
        return time.monotonic()

    @staticmethod
    def wall() -> float:
        return time.time()


def parsed(stamp: str) -> float:
    """A Kubernetes time as Unix seconds."""
    return datetime.fromisoformat(stamp).timestamp()
