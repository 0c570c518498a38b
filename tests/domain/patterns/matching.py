"""Does a selector match one device? Asked of the CEL of the placement engine."""

from typing import Any

from domain.placement import Fleet, match_count


def matches(
    selector: str, attributes: dict[str, str], capacity: dict[str, str] | None = None
) -> bool:
    device: dict[str, Any] = {
        "name": "d",
        "attributes": {key: {"string": value} for key, value in attributes.items()},
        "capacity": {key: {"value": value} for key, value in (capacity or {}).items()},
    }
    published = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s", "uid": "s"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"}}
    return match_count(Fleet.build([published, node]), [], [selector]).matches == 1
