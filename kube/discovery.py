"""What a server serves, by aggregated discovery where it has that (Kubernetes 1.30 and later)."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from kube.client import Json
from kube.errors import ClusterError, NotFound, Transient
from kube.kinds import Kind
from kube.transport import Transport, decoded

AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


class Discovery:
    """Asked once per connection, and again when a kind is looked for that was not there."""

    def __init__(self, http: Transport) -> None:
        self._http = http
        self._lock = threading.Lock()
        self._kinds: frozenset[Kind] | None = None

    def resources(self) -> frozenset[str]:
        return frozenset(kind.key for kind in self.kinds())

    def kinds(self, *, fresh: bool = False) -> frozenset[Kind]:
        with self._lock:
            if self._kinds is None or fresh:
                self._kinds = frozenset(self._ask())
            return self._kinds

    def find(self, api_version: str, kind: str) -> Kind:
        for fresh in (False, True):
            for found in self.kinds(fresh=fresh):
                if found.api_version == api_version and found.kind == kind:
                    return found
        error = NotFound(f"the cluster does not serve {kind} of {api_version}", status=404)
        error.is_path = True
        raise error

    def _ask(self) -> Iterator[Kind]:
        for root in ("/api", "/apis"):
            answer = decoded(self._http.raw("GET", root, accept=AGGREGATED))
            if answer.get("kind") == "APIGroupDiscoveryList":
                yield from _aggregated(answer)
            elif root == "/api":
                for version in answer.get("versions") or ():
                    yield from self._plain(f"/api/{version}", "", str(version))
            else:
                yield from self._groups(answer)

    def _groups(self, answer: Json) -> Iterator[Kind]:
        for group in answer.get("groups") or ():
            for version in group.get("versions") or ():
                group_version = str(version.get("groupVersion"))
                try:
                    yield from self._plain(
                        f"/apis/{group_version}", str(group["name"]), str(version["version"])
                    )
                except Transient:
                    raise
                except ClusterError:
                    continue  # one broken aggregated API must not hide the others

    def _plain(self, path: str, group: str, version: str) -> Iterator[Kind]:
        for entry in self._http.json("GET", path).get("resources") or ():
            name = str(entry.get("name"))
            if "/" not in name:
                yield Kind(group, version, name, str(entry["kind"]), bool(entry.get("namespaced")))


def _aggregated(answer: Json) -> Iterator[Kind]:
    for group in answer.get("items") or ():
        name = str((group.get("metadata") or {}).get("name") or "")
        for version in group.get("versions") or ():
            for entry in version.get("resources") or ():
                kind = (entry.get("responseKind") or {}).get("kind")
                if kind:
                    yield Kind(
                        name,
                        str(version["version"]),
                        str(entry["resource"]),
                        str(kind),
                        entry.get("scope") == "Namespaced",
                    )
