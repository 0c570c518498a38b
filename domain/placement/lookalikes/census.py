"""Every device of a fleet, those of nodes that look alike counted together."""

from collections import Counter
from collections.abc import Hashable

from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.lookalikes.album import album_of
from domain.placement.sight import Seen, Sight


def census(fleet: Fleet, features: Features) -> Sight | None:
    """One node for all of its picture, its devices with that weight.

    None where some node has no picture, or some published device cannot be seen from any node or
    is of an old generation: then each has to be looked at by itself.
    """
    album = album_of(fleet, features)
    if album.strangers or fleet.slices.shared:
        return None
    states = album.states(fleet.ledger(features), 0, len(album.rows))
    cordoned = [page.is_cordoned for page in album.rows]
    keys: list[Hashable] = list(zip(album.shapes, cordoned, states, strict=True))
    counts = Counter(keys)
    last = len(keys) - 1
    first = dict(zip(reversed(keys), range(last, -1, -1), strict=True))
    seen = [
        Seen(candidate, [album.names[row]], counts[key])
        for key, row in sorted(first.items(), key=lambda item: item[1])
        for candidate in album.rows[row].candidates
    ]
    total = sum(one.weight for one in seen)
    if total != fleet.slices.device_count:  # cheaper than telling old generations from new
        return None
    return Sight(total, seen)
