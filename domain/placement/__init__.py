"""Decides as kube-scheduler's structured allocator does, and says why.

Raw API objects go in, frozen results come out. No I/O, no clock. `Fleet.build` reads a cluster,
`apply` changes it one object at a time; the questions are `place` (claims onto nodes), `explain`
(what each filter removed), `match_count`, and for whole pods `fits_pod` and `place_pod`.
"""

from domain.placement.decisions import Decision
from domain.placement.explain import Funnel, Layer, MatchCount, explain, match_count
from domain.placement.features import Features, Mode
from domain.placement.fleet import Change, Delete, Fault, Fleet, Upsert, apply, apply_all
from domain.placement.ledger import Ledger
from domain.placement.lookalikes import fitting, warm
from domain.placement.placing import place
from domain.placement.pods.fit import PodFit, fits_pod, message
from domain.placement.pods.placing import PodPlacement, place_pod
from domain.placement.pods.rehearsal import Rehearsal
from domain.placement.sequence import Sequencer

__all__ = [
    "Change",
    "Decision",
    "Delete",
    "Fault",
    "Features",
    "Fleet",
    "Funnel",
    "Layer",
    "Ledger",
    "MatchCount",
    "Mode",
    "PodFit",
    "PodPlacement",
    "Rehearsal",
    "Sequencer",
    "Upsert",
    "apply",
    "apply_all",
    "explain",
    "fits_pod",
    "fitting",
    "match_count",
    "message",
    "place",
    "place_pod",
    "warm",
]
