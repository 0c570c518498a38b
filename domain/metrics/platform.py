"""What cards and the control plane export, and what the portal counts from its own rows."""

from domain.metrics.terms import Kind, Metric, Origin, Term, terms

MIB = 2.0**20


def _card(name: str, title: str, unit: str, names: tuple[Term, ...], *, mean: bool) -> Metric:
    return Metric(
        name,
        title,
        unit,
        Kind.GAUGE,
        names,
        join="mean" if mean else "sum",
        origin=Origin.CARD,
    )


# FB_* are MiB, GPU_UTIL is percent and missing on cards in MIG mode.
CARDS = (
    _card(
        "gpu_memory",
        "GPU memory used",
        "bytes",
        (Term("DCGM_FI_DEV_FB_USED", (), MIB), Term("nvidia_gpu_memory_used_bytes")),
        mean=False,
    ),
    _card(
        "gpu_memory_free",
        "GPU memory free",
        "bytes",
        (Term("DCGM_FI_DEV_FB_FREE", (), MIB),),
        mean=False,
    ),
    _card(
        "gpu_busy",
        "GPU busy",
        "share",
        (
            Term("DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
            Term("DCGM_FI_DEV_GPU_UTIL", (), 0.01),
            Term("nvidia_gpu_utilization_ratio"),
        ),
        mean=True,
    ),
)


def _control(
    name: str, title: str, unit: str, kind: Kind, names: tuple[Term, ...], statistic: str = "mean"
) -> Metric:
    return Metric(name, title, unit, kind, names, origin=Origin.CONTROL, statistic=statistic)


# Names before and after the rename of 1.37; all are alpha upstream.
CONTROLS = (
    _control(
        "claims_made",
        "Claims made for pods",
        "claims",
        Kind.COUNTER,
        terms(
            "dynamic_resource_allocation_resourceclaim_creates_total",
            "resourceclaim_controller_creates_total",
            "scheduler_resourceclaim_creates_total",
        ),
        "rate",
    ),
    _control(
        "claims_held",
        "Claims in the cluster",
        "claims",
        Kind.GAUGE,
        terms(
            "dynamic_resource_allocation_resource_claims",
            "resourceclaim_controller_resource_claims",
            "resourceclaim_controller_allocated_resource_claims",
        ),
    ),
    _control(
        "unschedulable",
        "Pods that no node's devices fit",
        "pods",
        Kind.GAUGE,
        (Term("scheduler_unschedulable_pods", (("plugin", "DynamicResources"),)),),
    ),
    _control(
        "scheduling_time",
        "Scheduler's time for devices",
        "s",
        Kind.HISTOGRAM,
        (Term("scheduler_plugin_execution_duration_seconds", (("plugin", "DynamicResources"),)),),
        "p95",
    ),
    _control(
        "prepare_time",
        "Kubelet's time to prepare claims",
        "s",
        Kind.HISTOGRAM,
        terms("dra_operations_duration_seconds", "dra_grpc_operations_duration_seconds"),
        "p95",
    ),
    _control(
        "taint_evictions",
        "Pods evicted for a tainted device",
        "pods",
        Kind.COUNTER,
        terms("device_taint_eviction_controller_pod_deletions_total"),
        "increase",
    ),
)


def _rows(name: str, title: str, unit: str, statistic: str = "mean") -> Metric:
    return Metric(name, title, unit, Kind.ROWS, origin=Origin.PORTAL, statistic=statistic)


PORTAL = (
    _rows("alloc_failures", "Claim allocation failures", "pods", "increase"),
    _rows("pending", "Claim pending time", "s", "p95"),
    _rows("starting", "Time from allocation to running", "s", "p95"),
    _rows("waiting", "Claims waiting now", "claims"),
    _rows("matches", "Devices that a class matches", "devices"),
    _rows("matches_free", "Matching devices that are free", "devices"),
    _rows("ready", "Model servers ready", "share"),
    _rows("alive", "Containers running", "share"),
    _rows("allocation", "Cards in use", "share"),
    _rows("held_idle", "Devices held but idle", "devices"),
    _rows("fragmentation", "Fragmentation", "share"),
    _rows("attributed", "GPU time given to a tenant", "share", "ratio"),
)
