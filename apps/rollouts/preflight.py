"""Gathering what the preflight's rules look at, and keeping what they found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.catalog import selectors as catalog
from apps.common import asks
from apps.inventory import checks, writing
from apps.inventory import selectors as inventory
from apps.inventory.models import Cluster, Device, Mirrored, Pod
from apps.quotas import selectors as quotas
from apps.rollouts import landscape, live, planning, scoping
from apps.rollouts.landscape import Home
from apps.rollouts.models import Migration, Study, Workload
from apps.telemetry import measure as telemetry
from apps.telemetry.scopes import Scope
from domain import quota
from domain.figures import State as FigureState
from domain.manifests import labels as known
from domain.rollout import parity
from domain.rollout.mapping import STRATEGY, Sharing
from domain.rollout.preflight import (
    Blocks,
    ClassFacts,
    Facts,
    Finding,
    Install,
    Level,
    NodeFacts,
    QuotaFacts,
    WorkloadFacts,
    check,
)

WAIT_MS = 1500
WINDOW = timedelta(minutes=5)
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
MOST_SLICES = 50
_DRA_APIS = ("resourceslices", "deviceclasses", "resourceclaims", "resourceclaimtemplates")
_BY_FEATURE = {
    "taint-rules": ("resource.k8s.io/v1/devicetaintrules",),
    "routes": ("gateway.networking.k8s.io/v1/httproutes",),
    "kueue": ("kueue.x-k8s.io/v1beta2/clusterqueues",),
    "dra": tuple(f"resource.k8s.io/v1/{name}" for name in _DRA_APIS),
}
_BLIND = (FigureState.NOT_CONFIGURED, FigureState.NO_PERMISSION)


def check_now(migration: Migration) -> Study:
    """Look at everything once and keep the findings. Repeatable."""
    facts, homes = gather(migration)
    findings = check(facts)
    lines = parity.matrix(_parity(migration, facts, homes))
    return planning.record(migration, Study.Kind.PREFLIGHT, _body(findings, lines))


def _body(findings: Sequence[Finding], lines: Sequence[parity.Line]) -> dict[str, Any]:
    levels = Counter(one.level for one in findings)
    stops = [one for one in findings if one.level == Level.BLOCKER and one.blocks == Blocks.MOVE]
    nodes = levels[Level.BLOCKER] - len(stops)
    counted = planning.counted
    text = f"{counted(len(stops), 'blocker')}, {counted(levels[Level.WARNING], 'warning')}"
    if nodes:
        text += f", {counted(nodes, 'finding')} that keep nodes as they are"
    if levels[Level.UNKNOWN]:
        text += f", {levels[Level.UNKNOWN]} not known"
    if stops:
        text += f": {stops[0].evidence}"
    return {
        "blockers": len(stops),
        "warnings": levels[Level.WARNING],
        "unknown": levels[Level.UNKNOWN],
        "nodes_blocked": nodes,
        "summary": text if stops else f"{text}.",
        "findings": [one.as_dict() for one in findings],
        "parity": [one.as_dict() for one in lines],
        "checked_at": timezone.now().isoformat(),
    }


def gather(migration: Migration) -> tuple[Facts, dict[str, Home]]:
    cluster = migration.cluster
    homes = landscape.homes(cluster)
    rows = list(
        migration.workloads.select_related("deployment__tenant", "pattern_version__pattern")
    )
    ours = [row for row in rows if row.deployment is not None]
    seen = live.look(cluster, {row.namespace for row in ours})
    deployments = [row.deployment for row in ours if row.deployment is not None]
    names = scoping.nodes_in(migration, homes, deployments)
    fresh = inventory.freshness_of(cluster)
    stopped = writing.refusal(cluster)
    wanted = _devices(ours)
    metrics, state = _metrics(migration, ours)
    facts = Facts(
        version=cluster.version,
        served=_served(cluster, seen),
        mode=cluster.mode,
        is_live=fresh.is_live and not seen.problem,
        stale_text=seen.problem or fresh.message,
        writes_stopped=stopped.message if stopped and stopped.reason == "WritesStopped" else "",
        installs=_installs(homes, seen),
        nodes=_nodes(cluster, homes, names),
        classes=_classes(cluster),
        workloads=tuple(_workload(row, seen) for row in rows),
        quotas=tuple(_quotas(ours)),
        free=_free(cluster, wanted),
        first=_devices([row for row in ours if row.wave is None or row.wave.number == 0], one=True),
        wanted=wanted,
        missing_rights=_missing_rights(cluster),
        missing_node_rights=_missing_node_rights(cluster),
        metrics=metrics,
        metrics_state=state,
        converts_nodes=scoping.scope_of(migration).converts_nodes,
    )
    return facts, homes


def _served(cluster: Cluster, seen: live.Live) -> frozenset[str]:
    """As the cluster says now, else as it was when it was last looked at."""
    if seen.served is not None:
        return seen.served
    has = [apis for code, apis in _BY_FEATURE.items() if cluster.features.get(code)]
    return frozenset(api for apis in has for api in apis)


def _installs(homes: Mapping[str, Home], seen: live.Live) -> frozenset[Install] | None:
    if seen.installs is None:
        return None
    paths = {home.row.path for home in homes.values()}
    found = set(seen.installs)
    if paths & {"device-plugin", "both"} and Install.CLUSTER_POLICY not in found:
        found.add(Install.PLUGIN)
    if paths & {"dra", "both"} and Install.GPU_CLUSTER not in found:
        found.add(Install.DRA)
    return frozenset(found)


def _nodes(
    cluster: Cluster, homes: Mapping[str, Home], names: Sequence[str]
) -> tuple[NodeFacts, ...]:
    strangers: dict[str, list[str]] = {}
    for one in landscape.foreign(cluster, nodes=names):
        for node in one.nodes:
            strangers.setdefault(node, []).append(str(one))
    runtimes = dict(
        Mirrored.objects.filter(cluster=cluster, kind="nodes", name__in=names).values_list(
            "name", "body__status__nodeInfo__containerRuntimeVersion"
        )
    )
    return tuple(
        NodeFacts(
            name=name,
            path=homes[name].row.path,
            is_ready=homes[name].row.is_ready,
            is_schedulable=homes[name].row.is_schedulable,
            driver_version=homes[name].row.driver_version,
            cdi=_cdi(homes[name], str(runtimes.get(name) or "")),
            sharing=_sharing(homes[name]),
            incomplete=tuple(
                str(fault["message"]) for fault in homes[name].row.faults if _is_incomplete(fault)
            ),
            strangers=tuple(sorted(strangers.get(name, ()))),
        )
        for name in names
    )


def _is_incomplete(fault: Mapping[str, Any]) -> bool:
    return fault.get("code") == "pool-incomplete"


def _cdi(home: Home, runtime: str) -> bool | None:
    """containerd has it on from 2.0 on, CRI-O always; a DRA driver would not work without."""
    if home.row.facts.get("cdi"):
        return True
    name, _, version = runtime.partition("://")
    if name == "cri-o":
        return True
    major = version.partition(".")[0]
    return True if name == "containerd" and major.isdecimal() and int(major) >= 2 else None


def _sharing(home: Home) -> str:
    kinds = {one.sharing for one in home.offers} & {Sharing.TIME_SLICING, Sharing.MPS}
    return next(iter(sorted(kinds)), "") or (
        home.labels.get(STRATEGY, "") if home.labels.get(STRATEGY) == "mps" else ""
    )


def _classes(cluster: Cluster) -> tuple[ClassFacts, ...]:
    bodies = Mirrored.objects.filter(cluster=cluster, kind="deviceclasses").values_list(
        "body", flat=True
    )
    return tuple(
        ClassFacts(
            str(one["metadata"]["name"]),
            str((one.get("spec") or {}).get("extendedResourceName") or ""),
            writing.is_ours(one),
        )
        for one in bodies
    )


def _workload(row: Workload, seen: live.Live) -> WorkloadFacts:
    pods = Mirrored.objects.filter(cluster_id=row.migration.cluster_id, kind="pods")
    labels, priority = _labels_of(row), 0
    mine = list(_pods(row)[:20])
    for body in pods.filter(uid__in=[pod.uid for pod in mine]).values_list("body", flat=True):
        priority = max(priority, int((body.get("spec") or {}).get("priority") or 0))
    budgets = [one for one in seen.budgets or () if _covers(one, row.namespace, labels)]
    unread = seen.budgets is None
    version = row.pattern_version
    pattern = catalog.pattern_of(version) if version is not None else None
    return WorkloadFacts(
        name=str(row),
        tenant=row.deployment.tenant.slug if row.deployment else "",
        is_ours=row.deployment is not None,
        way=row.way,
        reason=row.finding,
        devices=sum(row.mapping.get("classes", {}).values()) * row.replicas,
        priority=priority,
        budgets=1 if unread else len(budgets),
        budget=None if unread or len(budgets) != 1 else budgets[0].allowed,
        queue=next((pod.labels[QUEUE_LABEL] for pod in mine if QUEUE_LABEL in pod.labels), ""),
        constraints=bool(pattern and pattern.match_attributes),
    )


def _pods(row: Workload) -> Any:
    rows = Pod.objects.filter(cluster_id=row.migration.cluster_id, namespace=row.namespace)
    if row.deployment is not None:
        return rows.filter(deployment=row.deployment.name, model_pool=row.old_pool)
    return rows.filter(name__startswith=row.name)


def _labels_of(row: Workload) -> dict[str, str]:
    if row.deployment is None:
        return {}
    return known.pool_labels(row.deployment.tenant.slug, row.deployment.name, row.old_pool)


def _covers(budget: live.Budget, namespace: str, labels: Mapping[str, str]) -> bool:
    return budget.namespace == namespace and budget.labels.items() <= labels.items()


def _devices(rows: Sequence[Workload], *, one: bool = False) -> dict[str, int]:
    """Devices by class that the new pools take: of all replicas, or of one of each."""
    found: Counter[str] = Counter()
    for row in rows:
        if row.way == Workload.Way.CLAIMS:
            times = 1 if one else row.replicas
            found.update(quota.times(row.mapping.get("classes", {}), times))
    return dict(found)


def _quotas(rows: Sequence[Workload]) -> list[QuotaFacts]:
    """Both pools charge the same quota; what the new ones take comes on top."""
    by_tenant: dict[int, list[Workload]] = {}
    for row in rows:
        if row.deployment is not None:
            by_tenant.setdefault(row.deployment.tenant_id, []).append(row)
    found = []
    for mine in by_tenant.values():
        assert mine[0].deployment is not None
        tenant, cluster = mine[0].deployment.tenant, mine[0].deployment.cluster
        limits, used = quotas.limits_of(tenant, cluster), quotas.used_by(tenant, cluster)
        there = [row for row in mine if not _has_new_pool(row)]
        for name, extra in _devices(there).items():
            found.append(
                QuotaFacts(tenant.slug, name, limits.get(name, 0), used.get(name, 0), extra)
            )
    return found


def _has_new_pool(row: Workload) -> bool:
    return row.deployment is not None and row.deployment.pools.filter(name=row.new_pool).exists()


def _free(cluster: Cluster, wanted: Mapping[str, int]) -> dict[str, int | None]:
    """As the placement worker counts them; None where it did not answer in time."""
    selectors = catalog.class_selectors(list(wanted))
    found: dict[str, int | None] = {}
    for name in wanted:
        question = {"class_selectors": selectors.get(name, []), "request_selectors": []}
        ask = asks.put("placement.match", question, cluster_id=cluster.pk)
        free = (asks.wait(ask, milliseconds=WAIT_MS).answer or {}).get("free")
        found[name] = free if isinstance(free, int) else None
    return found


def _missing_rights(cluster: Cluster) -> tuple[str, ...] | None:
    if cluster.checked_at is None or "missing" not in cluster.rights:
        return None
    lacks = checks.lacks_rights("manage", cluster.rights["missing"])
    return tuple(str(one["access"]) for one in lacks)


def _missing_node_rights(cluster: Cluster) -> tuple[str, ...]:
    """Those to cordon and to drain; rights to impersonate are shadow's to speak of."""
    lacks = [one for one in cluster.rights.get("missing", ()) if one["level"] == "migrate"]
    wanted = ("patch nodes", "create pods/eviction")
    return tuple(str(one["access"]) for one in lacks if str(one["access"]).startswith(wanted))


def _metrics(migration: Migration, rows: Sequence[Workload]) -> tuple[str, str]:
    """What is wrong with the figures of the pools that move, in words and as a state."""
    now = timezone.now()
    worst: tuple[str, str] = ("", FigureState.LIVE)
    for row in rows:
        pool = row.deployment.pools.filter(name=row.old_pool).first() if row.deployment else None
        if pool is None:
            continue
        figure = telemetry.requests(migration.cluster, Scope.of_pool(pool), now - WINDOW, now)
        if figure.state in _BLIND:
            return f"{row}: {figure.detail or figure.state.words}", figure.state
        if figure.value is None:
            worst = f"{row}: {figure.detail or figure.state.words}", figure.state
    return worst


def _parity(migration: Migration, facts: Facts, homes: Mapping[str, Home]) -> parity.ParityFacts:
    cluster = migration.cluster
    slices = Mirrored.objects.filter(cluster=cluster, kind="resourceslices").values_list(
        "body", flat=True
    )[:MOST_SLICES]
    devices = [one for body in slices for one in (body.get("spec") or {}).get("devices") or ()]
    names = [one.name for one in facts.nodes]
    used = {row.mapping.get("sharing") for row in migration.workloads.all()} - {"", None}
    used |= {one.sharing for name in names for one in homes[name].offers}
    return parity.ParityFacts(
        sharing=frozenset(str(one) for one in used),
        has_partitions=Device.objects.filter(cluster=cluster, type="mig").exists(),
        has_shared_devices=any(one.get("allowMultipleAllocations") for one in devices),
        has_pcie_root=any(
            "resource.kubernetes.io/pcieRoot" in (one.get("attributes") or {}) for one in devices
        ),
        has_taint_rules="resource.k8s.io/v1/devicetaintrules" in facts.served,
        has_priorities=any(one.priority > 0 for one in facts.workloads),
        uses_constraints=any(one.constraints for one in facts.workloads),
    )
