"""Steps of a watch into a batch and the mirror: what is new, what is the same, what is gone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import orjson
import structlog

from apps.inventory.snapshot.batch import Batch, Drop, Put
from apps.inventory.snapshot.known import MOVING, Known
from apps.inventory.snapshot.mirror import Mirror
from apps.inventory.snapshot.watched import Watched
from domain.devices import PodUse
from domain.manifests.labels import TENANT
from kube import parse
from kube.client import Item, Json
from kube.parse import Malformed
from kube.watch import Changed, Deleted, Listed, Step

log = structlog.get_logger(__name__)

MOST_MALFORMED = 20
LONGEST_WHY = 500
MOST_EARLY = 2000


Versions = dict[str, dict[str, tuple[str, str, str]]]


@dataclass(slots=True)
class _State:
    """What is known of one kind. `stored` are the versions in the database, `taken` those that
    the mirror has; `listing` are the uids of a list that is under way."""

    watched: Watched
    stored: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    detailed: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    listing: set[str] | None = None
    malformed: dict[str, str] = field(default_factory=dict)


class Intake:
    """`stored` is, by kind and uid, the (resourceVersion, namespace, name) of what the database
    holds, `detailed` the same for the rows of claims and pods that pages show. After a restart,
    what has not changed meanwhile is taken in but not written again, and with `known` not counted
    again either."""

    def __init__(
        self,
        watched: Iterable[Watched],
        mirror: Mirror,
        stored: Versions,
        detailed: Versions,
        known: Known | None = None,
    ) -> None:
        self.mirror, self.known = mirror, known
        watched = list(watched)
        self._states = {
            one.name: _State(one, stored.get(one.name, {}), detailed.get(one.name, {}))
            for one in watched
        }
        self._early: dict[str, list[Json]] = {}
        self._counting = {one.name for one in watched if one.counts}
        self.listed: set[str] = set()
        self._puts: dict[str, Callable[[Item, Json, Batch], None]] = {
            "nodes": self._put_node,
            "namespaces": self._put_namespace,
            "resourceslices": self._put_slice,
            "devicetaintrules": self._put_rule,
            "resourceclaims": self._put_claim,
            "pods": self._put_pod,
            "events": self._put_event,
        }

    @property
    def can_count(self) -> bool:
        """Every kind that counting needs has been listed in full."""
        return self._counting <= self.listed

    def give_up(self, kind: str) -> None:
        """Count without a kind that we may not see, where that is better than not counting."""
        if kind == "devicetaintrules":
            self._counting.discard(kind)
            self._end_knowing()

    def take(self, kind: str, step: Step, batch: Batch) -> None:
        """Work one step into the mirror and the batch; never raises for what a cluster sends."""
        state = self._states[kind]
        if isinstance(step, Listed):
            self._take_page(kind, state, step, batch)
        elif isinstance(step, Changed):
            self._take_item(kind, state, step.item, batch)
        elif isinstance(step, Deleted):
            self._drop(kind, state, step.item.uid, batch, step.item)

    def _take_page(self, kind: str, state: _State, page: Listed, batch: Batch) -> None:
        if page.is_first or state.listing is None:
            state.listing = set()
        if self.known is not None and kind in MOVING:
            self.known.went(kind, self._outdated(state, page))
        for item in page.items:
            state.listing.add(item.uid)
            if state.taken.get(item.uid) != item.resource_version:
                self._take_item(kind, state, item, batch)
        if page.is_last:
            there = state.stored.keys() | state.taken.keys() | state.detailed.keys()
            absent = there - state.listing
            if self.known is not None:
                self.known.went(kind, absent - state.taken.keys())
            for uid in absent:
                self._drop(kind, state, uid, batch)
            state.listing = None
            self.listed.add(kind)
            batch.listed.add(kind)
            self._end_knowing()

    def _outdated(self, state: _State, page: Listed) -> list[str]:
        """Of which the rows have another version, and the mirror none yet."""
        return [
            item.uid
            for item in page.items
            if item.uid not in state.taken
            and (stored := state.stored.get(item.uid)) is not None
            and stored[0] != item.resource_version
        ]

    def _end_knowing(self) -> None:
        if self.known is not None and self.can_count:
            self.known.settle()
            self.known = None

    def _is_known(self, kind: str, state: _State, item: Item) -> bool:
        """It is at the version of all its rows, which an earlier process counted."""
        if self.known is None or state.watched.keep is None or kind == "namespaces":
            return False
        stored = state.stored.get(item.uid)
        if stored is None or stored[0] != item.resource_version or item.uid in state.taken:
            return False
        # A pod without a row of its own is none that uses devices: only placement looks at it.
        detail = state.detailed.get(item.uid)
        if kind == "resourceclaims" or detail is not None:
            return detail is not None and detail[0] == item.resource_version
        return True

    def _take_known(self, kind: str, state: _State, item: Item) -> None:
        if self.known is not None and (kind != "pods" or item.uid in state.detailed):
            self.known.put(kind, item)
        state.taken[item.uid] = item.resource_version

    def _take_item(self, kind: str, state: _State, item: Item, batch: Batch) -> None:
        try:
            if self._is_known(kind, state, item):
                self._take_known(kind, state, item)
                return
            for name in (item.uid, item.namespace, item.name):
                parse.named(name)
            raw = item.object()
            if state.watched.wanted is not None and not state.watched.wanted(raw):
                self._unwanted(kind, state, item, batch)
                return
            handler = self._puts.get(kind)
            if handler is not None:
                handler(item, raw, batch)
            self._keep(kind, state, item, raw, batch)
        except (Malformed, ValueError, TypeError, KeyError, AttributeError) as error:
            self._note_malformed(kind, state, item, str(error), batch)
            return
        state.taken[item.uid] = item.resource_version
        if item.uid in state.malformed:
            del state.malformed[item.uid]
            batch.malformed[kind] = state.malformed

    def _keep(self, kind: str, state: _State, item: Item, raw: Json, batch: Batch) -> None:
        keep = state.watched.keep
        if keep is None:
            return
        stored = state.stored.get(item.uid)
        if stored is not None and stored[0] == item.resource_version:
            return
        body = orjson.dumps(keep(raw)).decode()
        version = item.resource_version
        batch.put(kind, Put(item.uid, item.namespace, item.name, version, body, stored is None))
        state.stored[item.uid] = (item.resource_version, item.namespace, item.name)

    def _unwanted(self, kind: str, state: _State, item: Item, batch: Batch) -> None:
        """Remembered by its version all the same, so that a relist does not look at it again."""
        if item.uid in state.stored:
            self._drop(kind, state, item.uid, batch, item)
        state.taken[item.uid] = item.resource_version

    def _note_malformed(self, kind: str, state: _State, item: Item, why: str, batch: Batch) -> None:
        """Named, counted and skipped. What was known of the object before stays as it was."""
        name = "/".join(part[:100] for part in (item.namespace, item.name) if part)
        text = why if why.startswith(name) else f"{name}: {why}"
        text = text.replace("\0", "\ufffd")[:LONGEST_WHY]
        log.warning("malformed object", kind=kind, why=text)
        if len(state.malformed) < MOST_MALFORMED:
            state.malformed[item.uid] = text
        batch.malformed[kind] = state.malformed
        state.taken[item.uid] = item.resource_version

    def _drop(
        self, kind: str, state: _State, uid: str, batch: Batch, item: Item | None = None
    ) -> None:
        stored = state.stored.pop(uid, None) or state.detailed.get(uid)
        state.detailed.pop(uid, None)
        known = state.taken.pop(uid, None)
        if state.malformed.pop(uid, None) is not None:
            batch.malformed[kind] = state.malformed
        if stored is None and known is None:
            return
        namespace, name = (item.namespace, item.name) if item else (stored or ("", "", ""))[1:]
        if kind == "nodes":
            self.mirror.drop_node(uid)
        elif kind == "namespaces":
            self.mirror.tenants.pop(name, None)
        elif kind == "resourceslices":
            self.mirror.drop_slice(uid)
        elif kind == "devicetaintrules":
            self.mirror.drop_rule(uid)
        elif kind == "resourceclaims":
            self._note_claim(uid)
            self.mirror.drop_claim(uid)
        elif kind == "pods":
            self.mirror.drop_pod(uid)
        if kind != "events":
            batch.drop(kind, Drop(uid, namespace, name))

    # --- By kind
    def _put_node(self, item: Item, raw: Json, batch: Batch) -> None:
        self.mirror.put_node(parse.parsed(parse.node, raw))

    def _put_namespace(self, item: Item, raw: Json, batch: Batch) -> None:
        labels = raw["metadata"].get("labels") or {}
        tenant = str(labels.get(TENANT) or "")
        if self.mirror.tenants.get(item.name, "") != tenant:
            self.mirror.tenants[item.name] = tenant
            batch.tenants[item.name] = tenant

    def _put_slice(self, item: Item, raw: Json, batch: Batch) -> None:
        self.mirror.put_slice(parse.parsed(parse.slice_, raw))

    def _put_rule(self, item: Item, raw: Json, batch: Batch) -> None:
        self.mirror.put_rule(item.uid, parse.parsed(parse.taint_rule, raw))

    def _put_claim(self, item: Item, raw: Json, batch: Batch) -> None:
        claim = parse.parsed(parse.claim, raw)
        self._note_claim(claim.uid)
        self.mirror.put_claim(claim)
        if self._is_news("resourceclaims", item):
            batch.claims[claim.uid] = (claim, item.resource_version)

    def _note_claim(self, uid: str) -> None:
        """Until the slices are all listed nobody knows for sure where a claim lies."""
        if self.known is not None:
            self.known.was(self.mirror.claims.get(uid))

    def _put_pod(self, item: Item, raw: Json, batch: Batch) -> None:
        pod = parse.parsed(parse.pod, raw)
        before = self.mirror.pods.get(pod.uid)
        if is_of_interest(pod) or before is not None:
            self.mirror.put_pod(pod)
            if self._is_news("pods", item):
                details = parse.parsed(parse.pod_details, raw)
                batch.pods[pod.uid] = (pod, details, item.resource_version)
            for event in self._early.pop(pod.uid, ()):
                batch.events[event["uid"]] = event

    def _put_event(self, item: Item, raw: Json, batch: Batch) -> None:
        found = parse.parsed(parse.event, raw)
        if found["about_kind"] not in _ABOUT:
            return
        about = found["about_uid"]
        is_ours = bool(self.mirror.tenants.get(found["namespace"]))
        if is_ours or about in self.mirror.pods or about in self.mirror.claims:
            batch.events[found["uid"]] = found
        elif found["about_kind"] == "Pod" and len(self._early) < MOST_EARLY:
            # It may overtake the pod it is about, which comes on another stream.
            self._early.setdefault(about, []).append(found)

    def _is_news(self, kind: str, item: Item) -> bool:
        detailed = self._states[kind].detailed
        if detailed.get(item.uid, ("",))[0] == item.resource_version:
            return False
        detailed[item.uid] = (item.resource_version, item.namespace, item.name)
        return True


_ABOUT = frozenset({"Pod", "ResourceClaim", "Deployment", "StatefulSet", "ReplicaSet", "Job"})


def is_of_interest(pod: PodUse) -> bool:
    """It uses devices, serves them, or is a tenant's."""
    return bool(pod.requests or pod.claims or pod.serves or pod.owner.tenant)
