"""Claims onto nodes: on the first that fits, on all, or one group after the other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from domain.placement.asked import read_again
from domain.placement.attempt import MOST_STEPS, Attempt, attempt_on
from domain.placement.claims import Claim
from domain.placement.decisions import Decision, decide
from domain.placement.devices import Node
from domain.placement.faults import Malformed
from domain.placement.features import DEFAULT, Features, Mode
from domain.placement.fleet import Fleet
from domain.placement.lookalikes import Decisions, quick_attempt
from domain.placement.sequence import Sequencer

Raw = Mapping[str, Any]


def place(
    fleet: Fleet,
    claims: Sequence[Any],
    nodes: Iterable[str] | None = None,
    mode: Mode = "first",
    features: Features = DEFAULT,
    most_steps: int = MOST_STEPS,
    *,
    defaults: bool = True,
    plain: bool = False,
) -> Sequence[Decision]:
    """Where these claims could be allocated, and with which devices.

    claims: raw ResourceClaims that are allocated together, like those of one pod; with mode
    "sequence" a sequence of such groups, each of which goes to the first node that fits and
    stays there for those that follow. nodes: names in the order in which to try them; None for
    all by name. defaults: fill in what the API server fills in.

    plain: search on every node by itself, the reference for the pictures of `lookalikes`.

    mode "all": one decision per node. "first": decisions up to the first that fits or that ends
    the attempt. "sequence": one per group.

    Raises ValueError for a node that the fleet does not have; unreadable claims give "unknown".
    """
    if mode == "sequence":
        targets = _nodes(fleet, nodes)
        run = Sequencer(
            fleet, features, targets, most_steps=most_steps, defaults=defaults, plain=plain
        )
        return tuple(run.add(group) for group in claims)
    try:
        read = [read_again(raw, defaults=defaults) for raw in claims]
    except Malformed as problem:
        targets = _nodes(fleet, nodes)
        return tuple(
            Decision(node.name, "unknown", reason=f"claim cannot be read: {problem}")
            for node in (targets if mode == "all" else targets[:1])
        )
    wanted = [claim for claim, _ in read]
    content = tuple(one for _, one in read)
    ledger = fleet.ledger(features)
    if plain:
        attempt = attempt_on(fleet, features, ledger, most_steps)
        return tuple(decisions(attempt, wanted, _nodes(fleet, nodes), until_found=mode == "first"))
    quick = quick_attempt(fleet, features, ledger, most_steps)
    if nodes is not None:
        return tuple(decisions(quick, wanted, _nodes(fleet, nodes), until_found=mode == "first"))
    ask = Decisions.of_all if mode == "all" else Decisions.up_to_first
    return ask(quick, wanted, None if None in content else content)


def decisions(
    attempt: Attempt, claims: Sequence[Claim], nodes: Iterable[Node], *, until_found: bool
) -> Iterable[Decision]:
    for node in nodes:
        decision = decide(attempt, node, claims)
        yield decision
        if until_found and decision.ends_attempt:
            return


def _nodes(fleet: Fleet, names: Iterable[str] | None) -> list[Node]:
    if names is None:
        return [fleet.nodes[name] for name in sorted(fleet.nodes)]
    wanted = list(names)
    missing = [name for name in wanted if name not in fleet.nodes]
    if missing:
        raise ValueError(f"the fleet has no node {', '.join(missing)}")
    return [fleet.nodes[name] for name in wanted]
