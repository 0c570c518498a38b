"""What a request is about, read from its method and path."""

from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Target:
    """A resource path. `name` and `subresource` are "" where the path ends before them."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str = ""
    subresource: str = ""
    rest: str = ""
    watched: bool = False  # the old form, /api/v1/watch/pods


def target(raw_path: str) -> Target | None:
    """The resource that a path names, or None where it is not a resource path."""
    parts = raw_path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watched = rest[0] == "watch" and len(rest) > 1
    if watched:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = unquote(rest[1]), rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    return Target(
        group,
        version,
        namespace,
        plural,
        unquote(name),
        subresource,
        "/".join(rest[3:]),
        watched,
    )
