"""How scattered what is free is now, and the moves that would make cards whole."""

from domain.errors import InvalidValue
from domain.placement.fragments import fragmentation
from workers.placement.kinds import LONG_SECONDS, Deadline, Json, answers, text
from workers.placement.shown import fragments_json
from workers.placement.warm import Snapshot


@answers("fragments")
def fragments(snapshot: Snapshot, question: Json) -> Json:
    """{"class"?}: only the groups of this class, and the cards of which it accepts something."""
    deadline = Deadline(LONG_SECONDS)
    class_name = text(question, "class")
    fleet = snapshot.fleet
    if class_name and class_name not in fleet.classes:
        raise InvalidValue(
            f"There is no device class {class_name} in {snapshot.cluster.name}.", field="class"
        )
    found = fragmentation(
        fleet,
        snapshot.features,
        classes=[class_name] if class_name else None,
        is_over=deadline.is_over,
    )
    return fragments_json(found) | {"class": class_name}
