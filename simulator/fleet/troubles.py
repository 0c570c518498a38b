"""What is wrong with a machine, by whoever says so: the scenario, or an annotation on its Node."""

from dataclasses import dataclass

ANNOTATION = "simulator.claimyard.dev/faults"
CARD_KINDS = ("card-sick", "card-lost")
NODE_KINDS = ("node-silent", "driver-down", "slices-half")


@dataclass(frozen=True, slots=True)
class Trouble:
    """`card` and `xid` matter for cards only; xid 0 is a card that fell off the bus."""

    kind: str
    card: int = 0
    xid: int = 0


def annotated(text: str, cards: int) -> frozenset[Trouble]:
    """`card-sick=3 driver-down` as troubles; people type it, so what is none is ignored."""
    found: set[Trouble] = set()
    for word in text.replace(",", " ").split():
        kind, _, number = word.partition("=")
        if kind in NODE_KINDS and not number:
            found.add(Trouble(kind))
        elif kind in CARD_KINDS and number.isdigit() and int(number) < cards:
            found.add(Trouble(kind, int(number), 79 if kind == "card-sick" else 0))
    return frozenset(found)
