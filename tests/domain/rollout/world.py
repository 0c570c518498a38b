"""A small world for the decision: pools that get ready, weights that are followed, figures.

It carries actions out as the portal does, and refuses on the spot what must never be decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from domain.figures import Figure
from domain.figures import State as FigureState
from domain.gates import Gate, Side, Tally, Verdict, judge, standing, tally
from domain.rollout.actions import Action, Kind
from domain.rollout.actions import Side as PoolSide
from domain.rollout.deciding import decide
from domain.rollout.seen import DrillSeen, MoveSeen, Plan, PoolSeen, Seen, StudySeen, Wave, Wishes
from domain.rollout.settings import Settings, Step
from domain.rollout.words import ENDS, FORWARD, Phase, Stage, State

#: Only a person ends these.
ASKS = ("retire", "paused", "frozen", "drill-failed")
BEGAN = datetime(2026, 11, 30, 12, tzinfo=UTC)
LOOKS = {kind: StudySeen(state="done", summary="fine") for kind in ("plan", "preflight", "shadow")}


def live(value: float, **more: object) -> Figure:
    return Figure(value, FigureState.LIVE, **more)  # type: ignore[arg-type]


def none(state: FigureState, detail: str = "") -> Figure:
    return Figure(None, state, detail)


@dataclass
class Pool:
    """`ready_in`: how many more looks until its servers are ready; None: never. `untold`: how many
    more looks until the cluster says that it has taken the newest change; None: never. `running`:
    requests in flight; None: nobody tells.
    """

    exists: bool = True
    wanted: int = 2
    ready: int = 2
    weight: int = 0
    ready_in: int | None = 2
    untold: int | None = 0
    running: float | None = None

    def tick(self) -> None:
        if self.untold:
            self.untold -= 1
        if not self.exists or self.ready >= self.wanted:
            self.ready = min(self.ready, self.wanted)
            return
        if self.ready_in is None:
            return
        self.ready_in -= 1
        if self.ready_in <= 0:
            self.ready, self.ready_in = self.wanted, 2

    def seen(self) -> PoolSeen:
        return PoolSeen(
            exists=self.exists,
            wanted=self.wanted,
            ready=self.ready if self.exists else 0,
            weight=self.weight,
            settled=self.untold == 0,
            running=self.running,
        )


@dataclass
class Move:
    name: str
    wave: int = 0
    replicas: int = 2
    phase: Phase = Phase.WAITING
    phase_since: datetime = BEGAN
    step: int = 0
    step_since: datetime | None = None
    old: Pool = field(default_factory=lambda: Pool(weight=100))
    new: Pool = field(default_factory=lambda: Pool(exists=False, ready=0))
    samples: dict[str, list[tuple[Verdict, str, datetime]]] = field(default_factory=dict)
    released: bool = False
    edited: str = ""
    copies: float = 0.0  # of a mirror, which the pool's counters take for requests


@dataclass
class World:
    """What the tests turn: figures by metric and side, whether requests come, writes, the watch."""

    settings: Settings = field(default_factory=Settings)
    moves: list[Move] = field(default_factory=lambda: [Move("chat")])
    stage: Stage = Stage.INVENTORY
    state: State = State.RUNNING
    wishes: Wishes = field(default_factory=lambda: Wishes(approved=frozenset({"canary", "expand"})))
    now: datetime = BEGAN
    figures: dict[str, tuple[Figure, Figure]] = field(default_factory=dict)  # candidate, current
    traffic: float = 1000.0
    counted: bool = True  # whether anybody counts the requests
    held: str = ""
    away: str = ""
    drill: DrillSeen = field(default_factory=DrillSeen)
    reason: str = ""
    hooks: dict[str, str] = field(default_factory=dict)
    log: list[Action] = field(default_factory=list)
    dies_at: frozenset[int] = frozenset()  # numbers of decisions
    waves: tuple[Wave, ...] = (Wave(0), Wave(1, 2), Wave(2, 2))

    def seen(self) -> Seen:
        return Seen(
            stage=self.stage,
            state=self.state,
            moves=tuple(self._move(one) for one in self.moves),
            wishes=self.wishes,
            held=self.held,
            away=self.away,
            studies=LOOKS,
            hooks=dict(self.hooks),
            drill=self.drill,
            reason=self.reason,
        )

    def _move(self, move: Move) -> MoveSeen:
        share, requests = none(FigureState.NOT_CONFIGURED), 0.0
        if self.counted:
            part = (self.traffic * move.new.weight / 100 + move.copies) / (
                self.traffic + move.copies or 1
            )
            share = live(part) if self.traffic else none(FigureState.NO_TRAFFIC)
            requests = self.traffic + move.copies
        return MoveSeen(
            key=move.name,
            name=move.name,
            phase=move.phase,
            replicas=move.replicas,
            old=move.old.seen(),
            new=move.new.seen(),
            wave=move.wave,
            owner="tenant chat",
            phase_since=move.phase_since,
            step=move.step,
            step_since=move.step_since,
            share=share,
            wished=move.new.weight / 100,
            requests=requests,
            released=move.released,
            edited=move.edited,
            standings=tuple(
                standing(gate, self.tally(move, gate), self.now) for gate in self.gates(move)
            )
            if move.phase in (Phase.WEIGHING, Phase.MOVED)
            else (),
        )

    def gates(self, move: Move) -> list[Gate]:
        if move.new.weight < 100:
            return list(self.settings.gates)
        alone = [
            replace(gate, ratio_at_most=None, ratio_at_least=None) for gate in self.settings.gates
        ]
        return [gate for gate in alone if (gate.at_most, gate.at_least) != (None, None)]

    def tally(self, move: Move, gate: Gate) -> Tally:
        return tally(gate, move.samples.get(gate.name, []), move.step_since)

    def sample(self) -> None:
        for move in self.moves:
            if move.phase not in (Phase.WEIGHING, Phase.MOVED) or not move.new.weight:
                continue
            for gate in self.gates(move):
                since = move.step_since or BEGAN
                if self.now - since < timedelta(seconds=gate.window_seconds + gate.delay_seconds):
                    continue
                candidate, current = self.figures.get(gate.metric, (live(1.0), live(1.0)))
                part = move.new.weight / 100
                judged = judge(
                    gate,
                    Side(candidate, live(self.traffic * part), servers=move.new.ready),
                    Side(current, live(self.traffic * (1 - part)), servers=move.old.ready),
                )
                held = move.samples.setdefault(gate.name, [])
                held.append((judged.verdict, judged.reason, self.now))

    def look(self) -> Action:
        """One sweep: sample, then decide and act until something must be waited for."""
        for move in self.moves:
            move.old.tick()
            move.new.tick()
        self.sample()
        plan = Plan(self.settings, self.waves)
        for _ in range(50):
            action = decide(plan, self.seen(), self.now)
            self.log.append(action)
            if len(self.log) in self.dies_at:
                return action  # the worker was killed before it could carry this out
            self.carry_out(action)
            if action.kind in (Kind.WAIT, Kind.END, Kind.NOTHING):
                return action
        raise AssertionError(f"it turns in circles: {[one.reason for one in self.log[-6:]]}")

    def run(self, looks: int = 400) -> Action:
        """Sweep on until it ends; the last action."""
        action = self.look()
        for _ in range(looks):
            if self.state in ENDS or action.waiting_for in ASKS:
                break
            self.now += timedelta(seconds=self.settings.interval_seconds)
            action = self.look()
        return action

    # --- carrying out, with what must never be
    def carry_out(self, action: Action) -> None:
        move = next((one for one in self.moves if one.name == action.move), None)
        if action.kind is Kind.WAIT:
            self._wait(action)
        elif action.kind is Kind.END:
            assert action.state is not None
            self.state = action.state
        elif action.kind is Kind.ENTER:
            assert action.stage is not None
            self.stage, self.state = action.stage, State.RUNNING
        elif action.kind is Kind.ROLL_BACK:
            self._roll_back(action)
        elif action.kind is Kind.FREEZE:
            self.state, self.reason = State.FROZEN, action.reason
        elif action.kind is Kind.CALL:
            self.hooks[action.point] = "waiting"
        elif move is not None:
            self._on_pools(action, move)

    def _wait(self, action: Action) -> None:
        assert action.waiting_for and action.owner and action.reason, "a wait without cause"
        if self.state not in (State.ROLLING_BACK, State.FROZEN):
            self.state = State.RUNNING if action.owner == "claimyard" else State.WAITING

    def _roll_back(self, action: Action) -> None:
        self.state, self.reason = State.ROLLING_BACK, action.reason
        for move in self.moves:
            if move.phase in FORWARD:
                move.phase, move.phase_since = Phase.RESTORING, self.now
            elif move.phase is Phase.WAITING:
                move.phase = Phase.BACK

    def _on_pools(self, action: Action, move: Move) -> None:
        assert not self.held and not self.away, "acted although it must not"
        if action.kind is Kind.ADD_POOL:
            if not move.new.exists:
                move.new = Pool(wanted=action.replicas, ready=0, ready_in=move.new.ready_in)
            if move.phase is Phase.WAITING:
                move.phase, move.phase_since = Phase.CAPACITY, self.now
        elif action.kind is Kind.SCALE:
            pool = move.old if action.side is PoolSide.OLD else move.new
            assert action.replicas > pool.wanted, "it never takes replicas away"
            pool.wanted = action.replicas
        elif action.kind is Kind.WEIGH:
            self._weigh(action, move)
        elif action.kind is Kind.REMOVE_POOL:
            self._remove(action, move)
        elif action.kind is Kind.ADVANCE:
            self._advance(action, move)
        elif action.kind is Kind.RESTART_STEP:
            move.released, move.step_since = False, self.now
        elif action.kind is Kind.DRILL:
            state = "running" if action.drill in ("back", "forth") else action.drill
            began = self.now if action.drill == "back" else self.drill.started_at
            self.drill = DrillSeen(state, action.drill, began)
            move.step_since = self.now

    def _weigh(self, action: Action, move: Move) -> None:
        if action.weight > move.new.weight:
            need = move.replicas if action.weight == 100 else 1
            assert move.new.exists and move.new.ready >= need, "weight to a pool that is not ready"
        else:
            enough = move.old.ready >= move.replicas or (move.old.ready and not move.new.ready)
            assert enough, "weight back to a pool that cannot take it"
        move.new.weight, move.old.weight = action.weight, 100 - action.weight
        move.step_since = self.now

    def _remove(self, action: Action, move: Move) -> None:
        gone = move.old if action.side is PoolSide.OLD else move.new
        other = move.new if action.side is PoolSide.OLD else move.old
        assert gone.weight == 0, "a pool with weight was removed"
        if action.side is PoolSide.OLD:
            assert other.ready >= move.replicas, "less capacity than the plan accepted"
        gone.exists, gone.ready, gone.wanted = False, 0, 0

    def _advance(self, action: Action, move: Move) -> None:
        assert action.phase is not None
        if action.phase in FORWARD:
            if move.step != action.step:
                move.step_since = self.now
            move.step = action.step
        if action.phase is Phase.RETURNING:
            move.step_since = self.now
        move.phase, move.phase_since = action.phase, self.now


def quick(**changes: object) -> Settings:
    """Settings whose times are short, for a world that looks every five seconds."""
    given: dict[str, object] = {
        "steps": (Step(weight=25, hold_seconds=5), Step(weight=100, hold_seconds=5)),
        "interval_seconds": 5,
        "warm_seconds": 5,
        "drain_seconds": 5,
        "ready_seconds": 60,
        "gates": (GATE, ERRORS),
    }
    return Settings(**(given | changes))  # type: ignore[arg-type]


GATE = Gate(
    name="ttft-p95",
    metric="ttft",
    statistic="p95",
    ratio_at_most=1.2,
    window_seconds=5,
    passes=2,
    failures=1,
    failures_in_row=1,
    no_data_seconds=120,
)
ERRORS = Gate(
    name="errors", metric="errors", at_most=0.01, window_seconds=5, passes=2, no_data_seconds=120
)
GOOD: Mapping[str, tuple[Figure, Figure]] = {
    "ttft": (live(0.1), live(0.1)),
    "errors": (live(0.0), live(0.0)),
}
