"""What the rest of the portal may ask of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
import orjson

from kube.kinds import Kind

Json = dict[str, Any]
Verb = Literal[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "bind",
    "escalate",
    # Constrained impersonation (KEP-5284): whom, and what for.
    "impersonate:serviceaccount",
    "impersonate-on:serviceaccount:create",
]
FIELD_MANAGER = "claimyard"


class Item(NamedTuple):
    """One object of a list or watch: its identity at once, the rest decoded when asked for.

    Most objects of a repeated list have not changed, and their bodies need not be looked at.
    """

    uid: str
    resource_version: str
    namespace: str
    name: str
    raw: bytes | msgspec.Raw

    def object(self) -> Json:
        """The whole object; an item of a list carries no apiVersion and kind of its own."""
        found: Json = orjson.loads(memoryview(self.raw))
        return found


class Page(NamedTuple):
    """One page of a list. `more` is the continue token, "" on the last page."""

    items: list[Item]
    resource_version: str
    more: str


EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class Event(NamedTuple):
    """One line of a watch."""

    type: EventType
    item: Item


@dataclass(frozen=True, slots=True)
class Access:
    """A right to ask about; namespace "" means the cluster, or all namespaces."""

    verb: Verb
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def __str__(self) -> str:
        sub = f"/{self.subresource}" if self.subresource else ""
        group = f".{self.group}" if self.group else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{sub}{where}"


class Cluster(Protocol):
    """A connection. Every method raises `kube.errors.ClusterError` and nothing else of its own.

    Reads may be repeated freely. `apply` is repeatable by design (server-side apply), `delete` of
    what is gone already is no error when it is called with `missing_ok`.
    """

    server: str

    def version(self) -> str:
        """Such as "v1.37.0"."""

    def resources(self) -> frozenset[str]:
        """What the server serves, as "group/version/plural"; "/v1/pods" for the core group."""

    def kind_of(self, manifest: Json) -> Kind:
        """Where an object of this apiVersion and kind lives; NotFound if it is not served."""

    def get(self, kind: Kind, namespace: str | None, name: str) -> Json: ...

    def list_all(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> list[Json]:
        """All objects, decoded: for small lists."""

    def list_pages(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        limit: int = 500,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Iterator[Page]:
        """Page by page, all of one state; Gone if that state was forgotten on the way."""

    def watch(
        self,
        kind: Kind,
        resource_version: str,
        *,
        namespace: str | None = None,
        timeout: int = 300,
    ) -> Iterator[Event]:
        """Changes after a state; ends without error after about `timeout` seconds."""

    def apply(
        self,
        manifest: Json,
        *,
        force: bool = False,
        dry_run: bool = False,
        field_manager: str = FIELD_MANAGER,
    ) -> Json:
        """Server-side apply. Conflict names the fields that another manager owns."""

    def create(self, manifest: Json, *, dry_run: bool = False) -> Json: ...

    def replace(self, manifest: Json, *, dry_run: bool = False) -> Json:
        """Update at the resourceVersion that the manifest carries."""

    def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        missing_ok: bool = False,
        grace_seconds: int | None = None,
        propagation: Literal["Background", "Foreground", "Orphan"] = "Background",
    ) -> None:
        """Delete; with `uid`, only that very object and not a successor of the same name."""

    def patch_json(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        operations: list[Json],
        *,
        dry_run: bool = False,
        sub: str = "",
    ) -> Json:
        """JSON patch; a leading "test" operation makes it apply only to the state that was seen."""

    def patch_merge(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        changes: Json,
        *,
        dry_run: bool = False,
        sub: str = "",
    ) -> Json: ...

    def logs(
        self,
        namespace: str,
        pod: str,
        *,
        container: str = "",
        tail: int = 500,
        previous: bool = False,
        limit_bytes: int = 1024 * 1024,
    ) -> str:
        """The end of a container's log, at most `limit_bytes`."""

    def proxy_get(
        self, namespace: str, pod: str, port: int, path: str, *, limit_bytes: int = 16 * 1024 * 1024
    ) -> bytes:
        """GET on a pod's port through the API server."""

    def service_get(
        self,
        namespace: str,
        service: str,
        path: str,
        *,
        query: dict[str, str],
        limit_bytes: int = 16 * 1024 * 1024,
    ) -> bytes:
        """GET on a Service through the API server; `service` is [https:]name:port."""

    def evict(self, namespace: str, pod: str) -> None:
        """Ask for a pod to go, as far as disruption budgets allow: Busy when they do not now."""

    def review_access(self, accesses: list[Access]) -> dict[Access, bool]:
        """Which of these the server would allow us (SelfSubjectAccessReview)."""

    def whoami(self) -> str:
        """The user that the server takes us for; "" if it does not tell."""

    def close(self) -> None: ...
