"""Many samples to where a gate stands: its budgets, and whether the step may count.

Failures are counted over the whole move; a good sample resets only those in a row (Flagger forgets
nothing, Argo Rollouts lets each limit overwrite the last: neither is what an owner expects).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from domain.gates.gate import Gate
from domain.gates.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Tally:
    """What is kept of a gate's samples; `passes` are those of the present step."""

    samples: int = 0
    passes: int = 0
    failures: int = 0
    failures_in_row: int = 0
    errors_in_row: int = 0
    blind_since: datetime | None = None  # first of the latest samples that judged nothing
    last: Verdict | None = None
    reason: str = ""
    at: datetime | None = None

    def add(self, gate: Gate, verdict: Verdict, reason: str, at: datetime) -> "Tally":
        counted = verdict
        if verdict is Verdict.NO_DATA and gate.on_no_data == "fail":
            counted = Verdict.FAIL
        failed = counted is Verdict.FAIL
        judged = counted in (Verdict.FAIL, Verdict.PASS)
        return Tally(
            samples=self.samples + 1,
            passes=self.passes + (counted is Verdict.PASS),
            failures=self.failures + failed,
            failures_in_row=self.failures_in_row + 1 if failed else 0,
            errors_in_row=self.errors_in_row + 1 if verdict is Verdict.ERROR else 0,
            blind_since=None if judged else self.blind_since or at,
            last=verdict,
            reason=reason,
            at=at,
        )

    def next_step(self) -> "Tally":
        return replace(self, passes=0, last=None, blind_since=None, reason="")


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a gate stands. `breached` ends in rollback; `ready` lets the step count."""

    gate: str
    verdict: Verdict | None
    ready: bool
    breached: bool
    reason: str


def tally(
    gate: Gate, samples: Iterable[tuple[Verdict, str, datetime]], since: datetime | None
) -> Tally:
    """Count the samples of a move (verdict, reason, time; oldest first) for its present step.

    A step that began at `since` wants its own passes; nothing that failed before is forgotten.
    """
    found = Tally()
    for verdict, reason, at in samples:
        if since is not None and at >= since and (found.at is None or found.at < since):
            found = found.next_step()
        found = found.add(gate, verdict, reason, at)
    if since is not None and (found.at is None or found.at < since):
        found = found.next_step()
    return found


def standing(gate: Gate, held: Tally, now: datetime) -> Standing:
    """Judge the tally. A dry-run gate never breaches and never holds anything up."""
    breach = _breach(gate, held, now)
    if gate.dry_run:
        text = f"dry run: {breach or held.reason or 'no sample yet'}"
        return Standing(gate.name, held.last, True, False, text)
    if breach:
        return Standing(gate.name, held.last, False, True, breach)
    if held.last is Verdict.PASS and held.passes >= gate.passes:
        return Standing(gate.name, held.last, True, False, held.reason)
    if held.last is Verdict.PASS:
        text = f"{held.passes} of {gate.passes} samples have passed"
        return Standing(gate.name, held.last, False, False, text)
    return Standing(gate.name, held.last, False, False, held.reason or "no sample yet")


def _breach(gate: Gate, held: Tally, now: datetime) -> str:
    """Why the budget is used up; "" while it is not."""
    if held.failures_in_row > gate.failures_in_row:
        return f"{held.failures_in_row} samples in a row failed: {held.reason}"
    if held.failures > gate.failures:
        return f"{held.failures} samples failed in all: {held.reason}"
    if gate.on_no_data == "fail" and held.errors_in_row > gate.errors_in_row:
        return f"{held.errors_in_row} questions in a row failed: {held.reason}"
    blind = (now - held.blind_since).total_seconds() if held.blind_since else 0.0
    if gate.no_data_seconds and blind > gate.no_data_seconds:
        return f"nothing could be judged for {blind:.0f} s: {held.reason}"
    return ""
