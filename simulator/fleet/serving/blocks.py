"""The KV cache: blocks that running requests hold, and blocks kept for prompts that share a start.

A prompt is a chain of segments (a system prompt, a turn of a conversation, …), each some blocks
long; equal keys mean equal tokens. Only leading segments that are still here count as hits. What
nobody holds is evicted least recently used first, from a segment's end, because a prefix is worth
nothing without its beginning.
"""

from collections import OrderedDict
from dataclasses import dataclass

type Chain = tuple[tuple[object, int], ...]


@dataclass(slots=True)
class _Segment:
    blocks: int
    holders: int = 0


class BlockPool:
    def __init__(self, total: int) -> None:
        self.total = total
        self._free = total
        self._idle_blocks = 0
        self._segments: dict[object, _Segment] = {}
        self._idle: OrderedDict[object, None] = OrderedDict()

    @property
    def used(self) -> int:
        """Blocks that running requests hold; cached ones that nobody holds are not counted."""
        return self.total - self._free - self._idle_blocks

    @property
    def available(self) -> int:
        return self._free + self._idle_blocks

    def hits(self, chain: Chain) -> int:
        """Leading blocks of the chain that are here."""
        count = 0
        for key, blocks in chain:
            segment = self._segments.get(key)
            if segment is None:
                break
            count += min(segment.blocks, blocks)
            if segment.blocks < blocks:
                break
        return count

    def hold(self, chain: Chain, private: int) -> bool:
        """Take the chain and `private` blocks of one's own; all or nothing."""
        if not self._fits(chain, private):
            return False
        for key, blocks in chain:
            segment = self._segments.setdefault(key, _Segment(0))
            if segment.holders == 0 and key in self._idle:
                del self._idle[key]
                self._idle_blocks -= segment.blocks
                # Only what is asked for is held; the rest would be out of reach for eviction.
                self._free += max(segment.blocks - blocks, 0)
                segment.blocks = min(segment.blocks, blocks)
            segment.holders += 1
        for key, blocks in chain:
            segment = self._segments[key]
            missing = max(blocks - segment.blocks, 0)
            self._take(missing)
            segment.blocks += missing
        self._take(private)
        return True

    def _fits(self, chain: Chain, private: int) -> bool:
        need, reused = private, 0
        for key, blocks in chain:
            segment = self._segments.get(key)
            need += max(blocks - (segment.blocks if segment else 0), 0)
            if segment and segment.holders == 0:
                reused += min(segment.blocks, blocks)
        return need <= self.available - reused

    def grow(self, blocks: int) -> bool:
        """More private blocks for a request that generates."""
        if blocks > self.available:
            return False
        self._take(blocks)
        return True

    def _take(self, blocks: int) -> None:
        while self._free < blocks:
            key = next(iter(self._idle))
            segment = self._segments[key]
            evicted = min(segment.blocks, blocks - self._free)
            segment.blocks -= evicted
            self._idle_blocks -= evicted
            self._free += evicted
            if segment.blocks == 0:
                del self._idle[key], self._segments[key]
        self._free -= blocks

    def release(self, chain: Chain, private: int, keep: tuple[object, int] | None = None) -> None:
        """Give back; `keep` names a segment that some of the private blocks stay cached as."""
        self._free += private
        if keep and keep[1] and keep[0] not in self._segments:
            key, blocks = keep
            self._free -= blocks
            self._segments[key] = _Segment(blocks)
            self._idle[key] = None
            self._idle_blocks += blocks
        for key, _ in reversed(chain):
            segment = self._segments[key]
            segment.holders -= 1
            if segment.holders == 0:
                self._idle[key] = None
                self._idle_blocks += segment.blocks
