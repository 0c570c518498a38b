"""How an answer can fail: for one node, for the whole attempt, or because nobody can know."""


class PlacementError(Exception):
    """Carries the text that a person reads."""


class Fatal(PlacementError):
    """Ends the scheduling attempt on all nodes: the input itself is at fault."""


class NodeError(PlacementError):
    """Concerns this node only; other nodes may still do."""


class Unknown(PlacementError):
    """The engine cannot tell what the scheduler would do, and says so instead of refusing."""


class Malformed(PlacementError):
    """An object that cannot be read; only what it touches is affected."""
