"""What an earlier process of ours had counted, taken over without being counted again.

After a restart nearly everything is as it was. Objects at the version of their rows are put into
the mirror as known; whatever else is listed, or is not there any more, touches what it lay on.
Trusted only if that process had counted all that it stored, by the same rules as ours.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path

import structlog

import domain
import kube
from apps.inventory.models import Mirrored
from apps.inventory.snapshot.mirror import Mirror, Unread
from domain.devices import Slice
from kube import parse
from kube.client import Item, Json
from kube.parse import Malformed

log = structlog.get_logger(__name__)

# (kind, uids) -> the bodies that the database holds of them.
Recall = Callable[[str, Iterable[str]], list[Json]]
_PARSERS = {
    "nodes": parse.node,
    "resourceslices": parse.slice_,
    "resourceclaims": parse.claim,
    "pods": parse.pod,
    "devicetaintrules": parse.taint_rule,
}
# Of these an older version may lie elsewhere than the newer; a pod or a node never moves.
MOVING = frozenset({"resourceslices", "resourceclaims", "devicetaintrules"})


@cache
def rules() -> str:
    """Stands for the code that makes rows of objects: changes with any of it."""
    digest = blake2b(digest_size=16)
    here = Path(__file__).parent
    folders = (Path(domain.__path__[0]) / "inventory", Path(kube.__path__[0]) / "parse", here)
    single = [Path(domain.__path__[0]) / name for name in ("devices.py", "accelerators.py")]
    for path in [*single, *(file for folder in folders for file in sorted(folder.glob("*.py")))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def recalled(cluster_id: int, kind: str, uids: Iterable[str]) -> list[Json]:
    """Bodies as the database holds them: a `Recall` for one cluster."""
    asked = list(uids)
    if not asked:
        return []
    rows = Mirrored.objects.filter(cluster_id=cluster_id, kind=kind, uid__in=asked)
    return list(rows.values_list("body", flat=True))


class Known:
    """`ghosts` are objects as they were, whose place must be counted again once all is there."""

    def __init__(self, mirror: Mirror, recall: Recall) -> None:
        self.mirror, self._recall = mirror, recall
        self._ghosts: list[object] = []

    def put(self, kind: str, item: Item) -> None:
        """Put an object that is at the version of its row; raises Malformed as parsing does."""
        if kind == "resourceslices":
            self._put_slice(item)
        elif kind == "nodes":
            self.mirror.put_node(parse.parsed(parse.node, item.object()), known=True)
        elif kind == "resourceclaims":
            self.mirror.put_claim(parse.parsed(parse.claim, item.object()), known=True)
        elif kind == "pods":
            self.mirror.put_pod(parse.parsed(parse.pod, item.object()), known=True)
        elif kind == "devicetaintrules":
            rule = parse.parsed(parse.taint_rule, item.object())
            self.mirror.put_rule(item.uid, rule, known=True)

    def _put_slice(self, item: Item) -> None:
        place = parse.slice_place(item.raw)
        if not place.node_name:
            self.mirror.put_slice(parse.parsed(parse.slice_, item.object()), known=True)
            return
        # A copy, so that the page it came with can go.
        read = partial(_read, item._replace(raw=bytes(item.raw)))
        unread = Unread(item.uid, place.driver, place.pool, place.node_name, read)
        self.mirror.put_slice(unread, known=True)

    def went(self, kind: str, uids: Iterable[str]) -> None:
        """Objects with rows that are not there any more, or not as the rows have them: before
        those are written over."""
        parser = _PARSERS.get(kind)
        if parser is None:
            return
        for body in self._recall(kind, uids):
            try:
                self._ghosts.append(parse.parsed(parser, body))
            except Malformed as error:
                log.warning("malformed row", kind=kind, why=str(error))

    def was(self, ghost: object) -> None:
        """Something changes that lies where it does only until the slices are all listed."""
        self._ghosts.append(ghost)

    def settle(self) -> None:
        """Everything was listed: whatever is missed has its place counted again."""
        for ghost in self._ghosts:
            if ghost is not None:
                self.mirror.miss(ghost)  # type: ignore[arg-type]
        self._ghosts.clear()


def _read(item: Item) -> Slice:
    return parse.parsed(parse.slice_, item.object())
