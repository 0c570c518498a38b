"""The plan: what is in the scope, what each workload becomes, and in which order they go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.catalog import selectors as catalog
from apps.catalog.models import PatternVersion, VersionState
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.rendering import asked_of, pool_spec, serving_of
from apps.rollouts import landscape, scoping
from apps.rollouts.landscape import Foreign, Home
from apps.rollouts.models import Migration, Study, Wave, Workload
from domain import patterns
from domain.errors import DomainError
from domain.manifests import claim_template, workload
from domain.rollout import conversion, rewriting
from domain.rollout.mapping import (
    Bridge,
    Entry,
    Mapped,
    Offer,
    Use,
    Way,
    map_use,
    refused_share,
    serving,
    use_of,
)
from domain.rollout.words import Phase

WAVE_SIZE = 3
_NOT_BEGUN = (Phase.WAITING, Phase.UNSUPPORTED)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ground:
    """What of the cluster every mapping looks at."""

    homes: Mapping[str, Home]
    offers: Sequence[Offer]
    bridges: Sequence[Bridge]
    entries: Sequence[Entry]


def take_inventory(migration: Migration) -> Study:
    """Write what the scope holds: a row for each workload, waves if there are none, and the study.

    Repeatable; rows of moves that have begun keep their pattern and pools.
    """
    ground = ground_of(migration)
    deployments = scoping.deployments_in(migration, ground.homes)
    nodes = scoping.nodes_in(migration, ground.homes, deployments)
    with transaction.atomic():
        managed = [_managed(migration, one, ground) for one in deployments]
        strangers = [_stranger(migration, one, ground) for one in _foreign(migration, nodes)]
        kept = [row.pk for row in (*managed, *strangers)]
        migration.workloads.filter(phase__in=_NOT_BEGUN).exclude(pk__in=kept).delete()
        _arrange(migration, managed)
        return record(migration, Study.Kind.PLAN, _body(migration, nodes, managed, strangers))


def ground_of(migration: Migration) -> Ground:
    homes = landscape.homes(migration.cluster)
    offers = [offer for home in homes.values() for offer in home.offers]
    return Ground(homes, offers, landscape.bridges(migration.cluster), _entries(migration))


def counted(number: int, noun: str) -> str:
    """ "1 blocker", "2 blockers": for sentences."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def record(migration: Migration, kind: str, body: Json, state: str = Study.State.DONE) -> Study:
    """The newest study of a kind, made or written anew."""
    study = migration.studies.filter(kind=kind).first() or Study(migration=migration, kind=kind)
    study.body, study.state, study.problem = body, state, ""
    study.finished_at = timezone.now() if state == Study.State.DONE else None
    study.save()
    return study


def _entries(migration: Migration) -> list[Entry]:
    """Approved patterns whose classes the cluster offers; the tenant's own, if there is one."""
    offered = set(catalog.classes_in(migration.cluster).values_list("name", flat=True))
    if migration.tenant is not None:
        versions = catalog.usable_patterns(migration.tenant, migration.cluster)
    else:
        newest: dict[int, PatternVersion] = {}
        rows = PatternVersion.objects.filter(state=VersionState.APPROVED).select_related("pattern")
        for version in rows.order_by("pattern_id", "-number"):
            newest.setdefault(version.pattern_id, version)
        versions = list(newest.values())
    found = [Entry(v.pattern.slug, v.number, catalog.pattern_of(v)) for v in versions]
    return [one for one in found if set(one.pattern.classes) <= offered]


# --- Deployments of ours
def _managed(migration: Migration, deployment: Deployment, ground: Ground) -> Workload:
    row = migration.workloads.filter(deployment=deployment).first() or Workload(
        migration=migration,
        deployment=deployment,
        namespace=deployment.namespace,
        name=deployment.name,
    )
    if row.pk and row.phase not in _NOT_BEGUN:
        return row
    pool = scoping.old_pool(deployment)
    row.nodes = sorted(scoping.nodes_of(deployment, pool.name if pool else ""))
    if pool is None:
        reason = "It has no pool on the device-plugin path: there is nothing to move."
        return _save(row, Mapped(Way.NONE, reasons=(reason,)), None)
    version = _version(pool)
    mapped = _map_pool(migration, pool, version, row, ground)
    row.old_pool, row.new_pool = pool.name, _new_name(deployment)
    row.replicas = pool.replicas
    row.params = dict(pool.params)
    row.diff = _pool_diff(deployment, pool, version, row.new_pool)
    return _save(row, mapped, version)


def _version(pool: ModelPool) -> PatternVersion | None:
    """The pool's own version while it is approved, else the newest approved of its pattern."""
    own = pool.pattern_version
    if own.state == VersionState.APPROVED:
        return own
    return catalog.approved_pattern_version(own.pattern.slug)


def _map_pool(
    migration: Migration,
    pool: ModelPool,
    version: PatternVersion | None,
    row: Workload,
    ground: Ground,
) -> Mapped:
    """Its own pattern has both forms; what remains to see is whether a unit was a whole device."""
    use = _use_of_pool(pool, row.nodes)
    drawn = serving(use, ground.offers)
    sharing = drawn[0].sharing if drawn else None
    if shared := refused_share(drawn):
        return Mapped(Way.NONE, sharing, reasons=(shared,))
    if prefers_bridge(migration, row):
        mapped = map_use(use, ground.offers, [], ground.bridges, prefer=Way.BRIDGE)
        if mapped.way == Way.BRIDGE:
            return Mapped(Way.NONE, sharing, reasons=(_no_bridge(mapped.classes),))
    if version is None:
        return Mapped(Way.NONE, sharing, reasons=(f"{pool.pattern_version} is withdrawn.",))
    pattern = catalog.pattern_of(version)
    try:
        values = patterns.accept(pattern, pool.params)
    except DomainError as error:
        reason = f"{version} does not take what the pool asks: {error}"
        return Mapped(Way.NONE, sharing, reasons=(reason,))
    covered = use.accelerator_labels
    notes = ["A pod that waits for devices does not make others give way: no preemption."]
    if not drawn:
        notes.append("No node offers its resource now, so its shares could not be seen.")
    charge = patterns.charge(pattern, values)
    slug, number = version.pattern.slug, version.number
    return Mapped(Way.CLAIMS, sharing, slug, number, values, charge, covered, notes=tuple(notes))


def _no_bridge(classes: Mapping[str, int]) -> str:
    """Why the portal does not carry the bridge out for what it manages."""
    return (
        f"Not supported yet: by the bridge, {' and '.join(sorted(classes))} would serve it as it "
        "is. It would have one pool, which moves when its nodes are converted, so that nothing "
        "could get weight by steps, be judged beside it, or take its requests back. Choose claims."
    )


def prefers_bridge(migration: Migration, row: Workload) -> bool:
    """A person may choose the bridge for a workload, or for all of the scope."""
    ways: Mapping[str, str] = migration.wanted.get("ways") or {}
    return ways.get(str(row), str(migration.scope.get("prefer") or "")) == Way.BRIDGE


def _use_of_pool(pool: ModelPool, nodes: Sequence[str]) -> Use:
    form = scoping.plugin_form_of(pool)
    if form is None:
        return Use({}, nodes=tuple(nodes))
    must = {"nodeSelectorTerms": [{"matchExpressions": list(form.requirements)}]}
    limits = {name: str(count) for name, count in form.limits.items()}
    spec = {
        "containers": [{"resources": {"limits": limits}}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": must}},
    }
    return use_of(spec, nodes)


def _new_name(deployment: Deployment) -> str:
    taken = set(deployment.pools.values_list("name", flat=True))
    return next(name for name in ("dra", *(f"dra{n}" for n in range(2, 99))) if name not in taken)


def _pool_diff(
    deployment: Deployment, pool: ModelPool, version: PatternVersion | None, name: str
) -> str:
    """The workload of the old pool against that of the new one, and the template beside it."""
    if version is None:
        return ""
    asked, serving_now = asked_of(deployment), serving_of(deployment)
    wanted = next(one for one in asked.pools if one.name == pool.name)
    pattern = catalog.pattern_of(version)
    try:
        values = patterns.accept(pattern, pool.params)
        new = pool_spec(asked, replace(wanted, name=name, path="dra"), pattern, values)
    except DomainError:
        return ""
    old = next(one for one in serving_now.pools if one.name == pool.name)
    template = claim_template(serving_now, new)
    added = [template] if template is not None else []
    return rewriting.diff(workload(serving_now, old), workload(serving_now, new), *added)


def _save(row: Workload, mapped: Mapped, version: PatternVersion | None) -> Workload:
    moves = mapped.way != Way.NONE
    row.way = Workload.Way(mapped.way.value) if moves else Workload.Way.NONE
    row.phase = Phase.WAITING if moves else Phase.UNSUPPORTED
    row.pattern_version = version if mapped.way == Way.CLAIMS else None
    row.finding = " ".join(mapped.reasons or mapped.notes)
    row.mapping = as_json(mapped)
    row.save()
    return row


def as_json(mapped: Mapped) -> Json:
    return {
        "way": mapped.way.value,
        "sharing": mapped.sharing.value if mapped.sharing else "",
        "pattern": mapped.pattern,
        "version": mapped.version,
        "values": dict(mapped.values),
        "classes": dict(mapped.classes),
        "covered": sorted(mapped.covered),
        "reasons": list(mapped.reasons),
        "notes": list(mapped.notes),
    }


# --- Workloads of others
def _foreign(migration: Migration, nodes: Sequence[str]) -> list[Foreign]:
    scope = scoping.scope_of(migration)
    resources = scope.names if scope.kind == "resource" else ()
    return landscape.foreign(migration.cluster, nodes=nodes, resources=resources)


def _stranger(migration: Migration, one: Foreign, ground: Ground) -> Workload:
    """Listed with what it would become, for its owners; the portal never touches it."""
    row = migration.workloads.filter(
        deployment=None, kind=one.kind, namespace=one.namespace, name=one.name
    ).first() or Workload(
        migration=migration, kind=one.kind, namespace=one.namespace, name=one.name
    )
    use = use_of(one.spec, one.nodes)
    mapped = map_use(use, ground.offers, ground.entries, ground.bridges)
    refused = rewriting.refused_kind(one.kind, mapped.way)
    if refused:
        mapped = Mapped(Way.NONE, mapped.sharing, reasons=(refused,))
    row.way, row.phase = Workload.Way.NONE, Phase.UNSUPPORTED
    row.nodes, row.replicas = sorted(one.nodes), len(one.pods)
    row.mapping, row.diff = as_json(mapped), _foreign_diff(one, use, mapped, ground)
    row.finding = "Not managed by the portal: it is listed, blocks its nodes, and is not touched."
    row.save()
    return row


def _foreign_diff(one: Foreign, use: Use, mapped: Mapped, ground: Ground) -> str:
    if mapped.way != Way.CLAIMS:
        return ""
    entry = next(
        e for e in ground.entries if (e.slug, e.version) == (mapped.pattern, mapped.version)
    )
    made = rewriting.template(one.namespace, one.name, entry.pattern, mapped.values)
    after = rewriting.rewritten(
        one.spec, mapped, frozenset(use.resources), made["metadata"]["name"]
    )
    return rewriting.diff(one.spec, after, made)


# --- Order
def _arrange(migration: Migration, rows: Sequence[Workload]) -> None:
    """Waves by value, unless somebody made some; who comes later joins the last one."""
    movable = [row for row in rows if row.way != Workload.Way.NONE]
    waves = list(migration.waves.all())
    if not waves:
        units = [_unit(row) for row in movable]
        by_name = {str(row.pk): row for row in movable}
        for number, names in enumerate(conversion.waves(units, size=WAVE_SIZE)):
            wave = Wave.objects.create(
                migration=migration, number=number, name="" if number else "Canary"
            )
            for name in names:
                by_name[name].wave = wave
                by_name[name].save(update_fields=["wave", "updated_at"])
        return
    for row in movable:
        if row.wave_id is None:
            row.wave = waves[-1]
            row.save(update_fields=["wave", "updated_at"])


def _unit(row: Workload) -> conversion.Unit:
    devices = sum(row.mapping["classes"].values()) * row.replicas
    return conversion.Unit(str(row.pk), float(devices), row.replicas)


# --- The study
def _body(
    migration: Migration,
    nodes: Sequence[str],
    managed: Sequence[Workload],
    strangers: Sequence[Workload],
) -> Json:
    movable = [row for row in managed if row.way != Workload.Way.NONE]
    stays = len(managed) - len(movable)
    parts = [f"{len(movable)} of {counted(len(managed), 'deployment')} can move"]
    if stays:
        parts.append(f"{stays} cannot")
    if strangers:
        uses = "uses" if len(strangers) == 1 else "use"
        parts.append(f"{counted(len(strangers), 'workload')} of others {uses} the same nodes")
    return {
        "blockers": 0 if movable else 1,
        "unknown": 0,
        "summary": ", ".join(parts) + ".",
        "taken_at": timezone.now().isoformat(),
        "scope": migration.scope,
        "converts_nodes": scoping.scope_of(migration).converts_nodes,
        "nodes": list(nodes),
        "mapping": _table([*managed, *strangers]),
    }


def _table(rows: Sequence[Workload]) -> list[Json]:
    """Workloads that ask for the same and get the same, as one line."""
    lines: dict[str, Json] = {}
    for row in rows:
        found = row.mapping
        key = f"{found['way']}|{found['sharing']}|{found['pattern']}|{found['version']}|"
        key += f"{sorted(found['classes'])}|{found['covered']}|{found['reasons'][:1]}"
        line = lines.setdefault(key, {**found, "workloads": []})
        line["workloads"].append(str(row))
    return list(lines.values())
