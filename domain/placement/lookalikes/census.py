"""Every device of a fleet, those of nodes that look alike counted together."""

from collections import Counter
from collections.abc import Hashable

from domain.placement.devices import PoolID
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.lookalikes.album import album_of
from domain.placement.sight import Seen, Sight


def census(fleet: Fleet, features: Features) -> Sight | None:
    """One node for all of its picture, its devices with that weight.

    None where some node has no picture or some device cannot be seen from any: then each has to
    be looked at by itself.
    """
    album = album_of(fleet, features)
    if album.strangers or fleet.slices.shared:
        return None
    marks = fleet.ledger(features).marks
    keys: list[Hashable] = [
        (page.shape, page.is_cordoned, *map(marks.get, page.pools)) for page in album.rows
    ]
    counts = Counter(keys)
    last = len(keys) - 1
    first = dict(zip(reversed(keys), range(last, -1, -1), strict=True))
    seen = [
        Seen(candidate, [album.names[row]], counts[key])
        for key, row in sorted(first.items(), key=lambda item: item[1])
        for candidate in album.rows[row].candidates
    ]
    total = sum(one.weight for one in seen)
    if total != _published(fleet):
        return None
    return Sight(total, seen)


def _published(fleet: Fleet) -> int:
    """Devices in the newest generation of each pool."""
    newest: dict[PoolID, tuple[int, int]] = {}
    for one in fleet.slices.by_name.values():
        generation, count = newest.get(one.pool, (-1, 0))
        if one.generation > generation:
            newest[one.pool] = one.generation, len(one.devices)
        elif one.generation == generation:
            newest[one.pool] = generation, count + len(one.devices)
    return sum(count for _, count in newest.values())
