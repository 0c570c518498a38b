"""An attempt that searches once per picture and remembers what it found."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from domain.placement.attempt import MOST_STEPS, Attempt
from domain.placement.claims import Claim
from domain.placement.decisions import DOES_NOT_FIT, RANDOM_ORDER, Decision, decide
from domain.placement.devices import Node
from domain.placement.faults import Fatal, NodeError, Unknown
from domain.placement.features import DEFAULT, Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger
from domain.placement.lookalikes.album import Album, Page, album_of
from domain.placement.lookalikes.bounds import is_hopeless
from domain.placement.lookalikes.outlines import free_of, outline_of, sheet_of
from domain.placement.lookalikes.plans import ALONE, NO, Found, Plan, Untold
from domain.placement.lookalikes.query import Query, content_of, query_for

MOST_QUERIES = 512
FAILED = 2

Picture = Hashable


@dataclass(slots=True)
class QuickAttempt(Attempt):
    """As Attempt, for one fleet; the plain search is one `decide(attempt.plain, …)` away."""

    fleet: Fleet = field(kw_only=True)
    album: Album = field(init=False)
    asked: tuple[Sequence[Claim], Query] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        Attempt.__post_init__(self)
        self.album = album_of(self.fleet, self.features)

    @property
    def plain(self) -> Attempt:
        """Without pictures, sharing what is known of counters."""
        found = Attempt(
            self.classes, self.rules, self.ledger, self.features, self.gather, self.most_steps
        )
        found.book = self.book
        return found

    def on(self, node: Node, claims: Sequence[Claim]) -> list[dict[str, Any]] | None:
        row = self.album.at.get(node.name)
        if row is None or self.album.rows[row].node is not node or row in self.album.strangers:
            return self._alone(node, claims)
        query = self.query(claims)
        plan = self.plan(query, claims, row, self.picture(query, row))
        if isinstance(plan, Found):
            return self.results(node, claims, plan.on(self.album.rows[row]))
        if isinstance(plan, Untold):
            raise Unknown(plan.reason)
        return None if plan == NO else self._alone(node, claims)

    def _alone(self, node: Node, claims: Sequence[Claim]) -> list[dict[str, Any]] | None:
        return Attempt.on(self, node, claims)

    def query(self, claims: Sequence[Claim], content: Hashable = None) -> Query:
        """Found again by content, so that claims of one template share their plans.

        content: equal for equal claims, where the caller has it; names do not belong to it.
        """
        if self.asked is not None and self.asked[0] is claims:
            return self.asked[1]
        key = (content or content_of(claims), self.features, self.most_steps)
        memo = cast("dict[Hashable, Query]", self.album.memo)
        query = memo.get(key)
        if query is None or not query.names(self.classes):
            if len(memo) >= MOST_QUERIES:
                memo.clear()
            query = query_for(claims, self.classes, self.features, self.album.tokens)
            memo[key] = query
        query.make_room()
        self.asked = claims, query
        return query

    def picture(self, query: Query, row: int) -> Picture:
        return self.pictures(query, row, row + 1)[0]

    def pictures(self, query: Query, first: int, last: int) -> Sequence[Picture]:
        """Of the rows from `first` up to `last`: a number, and what the query needs beside it."""
        album = self.album
        numbers = album.numbers(self.ledger, first, last)
        if not query.columns:
            return numbers
        columns = [
            [
                page.columns.get(key) or _worked_out(page, key, make)
                for page in album.rows[first:last]
            ]
            for key, make in query.columns
        ]
        return list(zip(numbers, *columns, strict=True))

    def plan(self, query: Query, claims: Sequence[Claim], row: int, picture: Picture) -> Plan:
        plan = query.plans.get(picture)
        if plan is None:
            plan = self._outlined(query, claims, row, picture)
            plan = plan or self._search(query, claims, row, picture)
            query.remember(picture, plan)
        return plan

    def _outlined(
        self, query: Query, claims: Sequence[Claim], row: int, picture: Any
    ) -> Plan | None:
        """The answer where it can be read off; None leaves it to the search."""
        ask, gallery = query.ask, self.album.gallery
        if ask is None:
            return None
        page = self.album.rows[row]
        if not query.is_checked:
            query.is_checked = True
            try:
                self.search_on(page.node, claims)
            except (Fatal, NodeError):
                query.ask = None
                return None
        free = gallery.free.get(picture)
        if free is None:
            free = gallery.free[picture] = free_of(page, gallery, self.ledger)
        if not free:
            return NO if free == () else None  # a selector that would fail is not even asked
        if page.shape not in query.outlines:
            sheet = sheet_of(page, gallery)
            query.outlines[page.shape] = outline_of(ask, sheet, self.most_steps)
        outline = query.outlines[page.shape]
        return None if outline is None else outline.plan(free)

    def _search(self, query: Query, claims: Sequence[Claim], row: int, picture: Any) -> Plan:
        parts = () if isinstance(picture, int) else picture[1:]
        if not query.can_be_pictured or any(_failed(part) for part in parts):
            return ALONE
        page = self.album.rows[row]
        try:
            search = self.search_on(page.node, claims)
            solution = None if is_hopeless(search) else search.run()
            if solution is None:
                return NO
            self.results(page.node, claims, solution)  # what cannot be written is an error too
        except Unknown as problem:
            return Untold(str(problem))
        except (Fatal, NodeError):
            return ALONE
        return Found.of(solution, page)

    def decision(
        self, query: Query, claims: Sequence[Claim], row: int, picture: Picture
    ) -> Decision:
        """The answer for one row in full."""
        page = self.album.rows[row]
        plan = ALONE if row in self.album.strangers else self.plan(query, claims, row, picture)
        if plan == ALONE:
            return decide(self.plain, page.node, claims)
        names = tuple(str(claim) for claim in claims)
        skipped = () if self.features.knows_which_device or not claims else (RANDOM_ORDER,)
        if isinstance(plan, Found):
            found = tuple(self.results(page.node, claims, plan.on(page)))
            return Decision(page.node.name, "fits", found, "", skipped, names)
        if isinstance(plan, Untold):
            return Decision(page.node.name, "unknown", (), plan.reason, skipped, names)
        return Decision(page.node.name, "no", (), DOES_NOT_FIT, skipped, names)


def _worked_out(page: Page, key: Hashable, make: Any) -> Hashable:
    found: Hashable = make(page)
    page.columns[key] = found
    return found


def _failed(part: Hashable) -> bool:
    return isinstance(part, bytes) and FAILED in part


def quick_attempt(
    fleet: Fleet, features: Features, ledger: Ledger, most_steps: int = MOST_STEPS
) -> QuickAttempt:
    return QuickAttempt(
        classes=fleet.classes,
        rules=tuple(fleet.rules.values()),
        ledger=ledger,
        features=features,
        gather=lambda node: fleet.view_from(node, features),
        most_steps=most_steps,
        fleet=fleet,
    )


def warm(fleet: Fleet, features: Features = DEFAULT) -> None:
    """Work out beforehand what every question needs; the answers do not change by it."""
    album_of(fleet, features).crowd(fleet.ledger(features))


def reads_identity(fleet: Fleet, features: Features, claim: Claim) -> bool:
    """Whether the claim's selectors or constraints tell apart devices that look alike."""
    query = quick_attempt(fleet, features, fleet.ledger(features)).query((claim,))
    return bool(query.columns) or not query.can_be_pictured


CHUNK = 64


def chunks(start: int, count: int) -> Iterator[tuple[int, int]]:
    """Short at first, since the first node often fits; then long, for the speed of whole lists."""
    first, size = start, CHUNK
    while first < count:
        last = min(first + size, count)
        yield first, last
        first, size = last, min(size * 4, 4096)
