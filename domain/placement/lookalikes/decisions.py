"""Answers for many nodes: decided for all, written out for those that are looked at."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from typing import overload

from domain.placement.claims import Claim
from domain.placement.decisions import Decision
from domain.placement.lookalikes.crowd import Crowd, first_rows
from domain.placement.lookalikes.plans import ALONE, NO, Found, Untold
from domain.placement.lookalikes.query import Query
from domain.placement.lookalikes.quick import Picture, QuickAttempt, chunks

SKIPPED: Picture = "skipped"


class Decisions(Sequence[Decision]):
    """One decision per node of the album, in its order, or of those up to `stop`.

    Every node has been decided when this exists; an AllocationResult is written when its node is
    asked for.
    """

    def __init__(
        self,
        attempt: QuickAttempt,
        query: Query,
        claims: Sequence[Claim],
        pictures: Sequence[Picture],
        first: Mapping[Picture, int] | None,
        alone: dict[int, Decision],
    ) -> None:
        """first: each picture's first row, in any order; None to find them when needed."""
        self._attempt, self._query, self._claims = attempt, query, claims
        self._pictures, self._known_first, self._alone = pictures, first, alone

    @classmethod
    def of_all(
        cls, attempt: QuickAttempt, claims: Sequence[Claim], content: Hashable = None
    ) -> "Decisions":
        query = attempt.query(claims, content)
        pictures: Sequence[Picture]
        first: Mapping[Picture, int]
        if query.columns:
            pictures = attempt.pictures(query, 0, len(attempt.album.rows))
            first = first_rows(pictures)
        else:
            crowd = attempt.album.crowd(attempt.ledger)
            pictures, first = crowd.numbers, crowd.first
        alone = _solve(attempt, query, claims, pictures, first)
        return cls(attempt, query, claims, pictures, first, alone)

    @classmethod
    def up_to_first(
        cls,
        attempt: QuickAttempt,
        claims: Sequence[Claim],
        content: Hashable = None,
        start: int | None = None,
    ) -> "Decisions":
        """Up to the first that fits or that ends the attempt, or all if none does.

        start: rows before it are known not to fit. Who gives it asks again after every claim that
        it places, so that keeping all nodes' pictures up to date would cost more than it saves.
        """
        query = attempt.query(claims, content)
        crowd = attempt.album.near_crowd(attempt.ledger) if start is None else None
        if crowd is not None and not (query.columns or attempt.album.strangers):
            count = _first_of(attempt, query, claims, crowd)
            if count >= 0:
                return cls(attempt, query, claims, crowd.numbers[:count], None, {})
        start = start or 0
        query.plans[SKIPPED] = NO
        pictures: list[Picture] = [SKIPPED] * start
        alone: dict[int, Decision] = {}
        for first, last in chunks(start, len(attempt.album.rows)):
            part = attempt.pictures(query, first, last)
            end = _end_of(attempt, query, claims, part, first, alone)
            if end is not None:
                pictures += part[: end - first + 1]
                break
            pictures += part
        return cls(attempt, query, claims, pictures, None, alone)

    @property
    def _first(self) -> Mapping[Picture, int]:
        if self._known_first is None:
            self._known_first = first_rows(self._pictures)
        return self._known_first

    @property
    def leading(self) -> int:
        """How many rows from the first on do not fit."""
        if self._alone:
            return min(self._alone)
        last_fits = self._pictures and self._query.plans.get(self._pictures[-1]) != NO
        return len(self) - 1 if last_fits else len(self)

    def __len__(self) -> int:
        return len(self._pictures)

    @overload
    def __getitem__(self, index: int) -> Decision: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Decision, ...]: ...
    def __getitem__(self, index: int | slice) -> Decision | tuple[Decision, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        row = range(len(self))[index]
        known = self._alone.get(row)
        if known is not None:
            return known
        return self._attempt.decision(self._query, self._claims, row, self._pictures[row])

    def __iter__(self) -> Iterator[Decision]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def telling(self) -> Iterator[Decision]:
        """Those that were asked alone, and the last one."""
        for row in sorted(self._alone):
            yield self._alone[row]
        if self._pictures and len(self) - 1 not in self._alone:
            yield self[-1]

    @property
    def failures(self) -> Sequence[Decision]:
        """Those that may be neither yes nor no: of rows asked alone, and of untold pictures."""
        plans = self._query.plans
        untold = [row for one, row in self._first.items() if isinstance(plans.get(one), Untold)]
        return [self[row] for row in sorted({*self._alone, *untold})]

    @property
    def fitting(self) -> list[str]:
        """Names of the nodes that fit, without writing anything out."""
        plans = self._query.plans
        good = {one for one in self._first if plans.get(one).__class__ is Found}
        names = self._attempt.album.names
        if not self._alone:
            if not good:
                return []
            return list(compress(names, map(good.__contains__, self._pictures)))
        return [
            names[row]
            for row, picture in enumerate(self._pictures)
            if (self._alone[row].fits if row in self._alone else picture in good)
        ]


def first_failure(decisions: Sequence[Decision]) -> str:
    """The reason of the first answer that is no plain yes or no; empty if there is none."""
    if isinstance(decisions, Decisions):
        decisions = decisions.failures
    failed = (one.reason for one in decisions if one.outcome in ("fatal", "unknown"))
    return next(failed, "")


def fitting(decisions: Sequence[Decision]) -> list[str]:
    """Names of the nodes that fit; far quicker than looking at each decision."""
    if isinstance(decisions, Decisions):
        return decisions.fitting
    return [one.node for one in decisions if one.fits]


def _solve(
    attempt: QuickAttempt,
    query: Query,
    claims: Sequence[Claim],
    pictures: Sequence[Picture],
    first: Mapping[Picture, int],
) -> dict[int, Decision]:
    """A plan for every picture; returns the decisions of rows that had to be asked alone."""
    strangers, plans = attempt.album.strangers, query.plans
    for picture in [one for one in first if one not in plans]:
        row = first[picture]
        if row in strangers:
            row = _representative(pictures, picture, strangers)
        if row >= 0:
            attempt.plan(query, claims, row, picture)
    if not query.asks_alone and not strangers:
        return {}
    return {
        row: attempt.decision(query, claims, row, picture)
        for row, picture in enumerate(pictures)
        if row in strangers or plans.get(picture) == ALONE
    }


def _representative(pictures: Sequence[Picture], wanted: Picture, strangers: frozenset[int]) -> int:
    rows = (row for row, picture in enumerate(pictures) if picture == wanted)
    return next((row for row in rows if row not in strangers), -1)


def _first_of(attempt: QuickAttempt, query: Query, claims: Sequence[Claim], crowd: Crowd) -> int:
    """How many rows a scheduler would look at; -1 where a node has to be asked alone."""
    plans = query.plans
    for picture, row in sorted(crowd.first.items(), key=itemgetter(1)):
        plan = plans.get(picture) or attempt.plan(query, claims, row, picture)
        if plan == ALONE:
            return -1
        if plan != NO:
            return row + 1
    return len(crowd.numbers)


def _end_of(
    attempt: QuickAttempt,
    query: Query,
    claims: Sequence[Claim],
    pictures: Sequence[Picture],
    first: int,
    alone: dict[int, Decision],
) -> int | None:
    """The row in this part at which a scheduler would stop; None to go on."""
    strangers, plans = attempt.album.strangers, query.plans
    if not strangers and all(plans.get(picture) == NO for picture in set(pictures)):
        return None
    for row, picture in enumerate(pictures, first):
        if row not in strangers:
            plan = plans.get(picture) or attempt.plan(query, claims, row, picture)
            if plan == NO:
                continue
            if plan != ALONE:
                return row
        alone[row] = attempt.decision(query, claims, row, picture)
        if alone[row].ends_attempt:
            return row
    return None
