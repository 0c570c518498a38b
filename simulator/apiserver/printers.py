"""The columns of each kind, as the real server prints them."""

from typing import Any

from simulator.apiserver import cells
from simulator.apiserver.columns import (
    AGE,
    CREATED,
    NAME,
    NONE,
    UNKNOWN,
    Column,
    age,
    at,
    from_path,
    joined,
    pairs,
    printer_column,
)
from simulator.apiserver.kinds import Kind
from simulator.apiserver.pod_status import ready_count, reason, restarts


def columns_of(kind: Kind, printer_columns: list[dict[str, Any]]) -> tuple[Column, ...]:
    if kind.custom:
        own = tuple(printer_column(column) for column in printer_columns)
        return (NAME, *(own or (AGE,)))
    return _COLUMNS.get(kind.resource, (NAME, AGE))


_REPLICAS = (
    NAME,
    cells.number("Desired", "spec.replicas"),
    cells.number("Current", "status.replicas"),
    cells.number("Ready", "status.readyReplicas"),
    AGE,
    *cells.containers(),
    cells.selector(),
)
_WEBHOOKS = (NAME, Column("Webhooks", lambda i: len(i.get("webhooks") or ()), type="integer"), AGE)
_BINDING = (
    NAME,
    Column("Role", cells.role),
    AGE,
    cells.subjects("User"),
    cells.subjects("Group"),
    cells.subjects("ServiceAccount"),
)
_COLUMNS: dict[str, tuple[Column, ...]] = {
    "configmaps": (NAME, Column("Data", cells.data), AGE),
    "endpoints": (NAME, Column("Endpoints", cells.endpoints), AGE),
    "events": (
        Column("Last Seen", cells.last_seen),
        from_path("Type", "type"),
        from_path("Reason", "reason"),
        Column("Object", cells.involved),
        from_path("Subobject", "involvedObject.fieldPath", priority=cells.WIDE),
        Column("Source", cells.source, priority=cells.WIDE),
        Column("Message", lambda item: str(item.get("message", "")).strip()),
        Column("First Seen", cells.first_seen, priority=cells.WIDE),
        Column("Count", cells.count, priority=cells.WIDE),
        Column("Name", NAME.cell, priority=cells.WIDE, format="name"),
    ),
    "limitranges": (NAME, CREATED),
    "namespaces": (NAME, from_path("Status", "status.phase"), AGE),
    "nodes": (
        NAME,
        Column("Status", cells.node_status),
        Column("Roles", cells.roles),
        AGE,
        from_path("Version", "status.nodeInfo.kubeletVersion"),
        cells.address("InternalIP"),
        cells.address("ExternalIP"),
        from_path("OS-Image", "status.nodeInfo.osImage", UNKNOWN, priority=cells.WIDE),
        from_path("Kernel-Version", "status.nodeInfo.kernelVersion", UNKNOWN, priority=cells.WIDE),
        from_path(
            "Container-Runtime",
            "status.nodeInfo.containerRuntimeVersion",
            UNKNOWN,
            priority=cells.WIDE,
        ),
    ),
    "pods": (
        NAME,
        Column("Ready", ready_count),
        Column("Status", reason),
        Column("Restarts", restarts),
        AGE,
        from_path("IP", "status.podIP", NONE, priority=cells.WIDE),
        from_path("Node", "spec.nodeName", NONE, priority=cells.WIDE),
        from_path("Nominated Node", "status.nominatedNodeName", NONE, priority=cells.WIDE),
        Column("Readiness Gates", lambda item: NONE, priority=cells.WIDE),
    ),
    "replicationcontrollers": _REPLICAS,
    "resourcequotas": (NAME, cells.quota("Request"), cells.quota("Limit"), AGE),
    "secrets": (NAME, from_path("Type", "type"), Column("Data", cells.data), AGE),
    "serviceaccounts": (NAME, AGE),
    "services": (
        NAME,
        from_path("Type", "spec.type"),
        from_path("Cluster-IP", "spec.clusterIP", NONE),
        Column("External-IP", cells.external),
        Column("Port(s)", cells.ports),
        AGE,
        Column("Selector", lambda item: pairs(at(item, "spec.selector")), priority=cells.WIDE),
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingadmissionpolicies.admissionregistration.k8s.io": (
        NAME,
        Column("Validations", lambda i: len(at(i, "spec.validations", ())), type="integer"),
        Column(
            "ParamKind",
            lambda i: (
                "/".join(
                    filter(None, (at(i, "spec.paramKind.apiVersion"), at(i, "spec.paramKind.kind")))
                )
                or "<unset>"
            ),
        ),
        AGE,
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": (
        NAME,
        from_path("PolicyName", "spec.policyName"),
        Column(
            "ParamRef",
            lambda i: (
                "/".join(
                    filter(None, (at(i, "spec.paramRef.namespace"), at(i, "spec.paramRef.name")))
                )
                or "<unset>"
            ),
        ),
        AGE,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": (
        NAME,
        from_path("Scope", "spec.scope"),
        Column("Versions", lambda i: joined(v["name"] for v in at(i, "spec.versions", ()))),
        CREATED,
        from_path("Group", "spec.group", priority=cells.WIDE),
        from_path("Kind", "spec.names.kind", priority=cells.WIDE),
        Column(
            "ShortNames", lambda i: joined(at(i, "spec.names.shortNames", ())), priority=cells.WIDE
        ),
        Column("Established", cells.established, type="boolean", priority=cells.WIDE),
    ),
    "daemonsets.apps": (
        NAME,
        cells.number("Desired", "status.desiredNumberScheduled"),
        cells.number("Current", "status.currentNumberScheduled"),
        cells.number("Ready", "status.numberReady"),
        cells.number("Up-to-date", "status.updatedNumberScheduled"),
        cells.number("Available", "status.numberAvailable"),
        cells.selector("spec.template.spec.nodeSelector", "Node Selector", 0),
        AGE,
        *cells.containers(),
        cells.selector(),
    ),
    "deployments.apps": (
        NAME,
        Column("Ready", cells.deployment_ready),
        Column("Up-to-date", lambda item: at(item, "status.updatedReplicas", 0)),
        Column("Available", lambda item: at(item, "status.availableReplicas", 0)),
        AGE,
        *cells.containers(),
        cells.selector(),
    ),
    "replicasets.apps": _REPLICAS,
    "statefulsets.apps": (NAME, Column("Ready", cells.deployment_ready), AGE, *cells.containers()),
    "jobs.batch": (
        NAME,
        Column("Status", cells.job_status),
        Column("Completions", cells.completions),
        Column("Duration", cells.job_duration),
        AGE,
        *cells.containers(),
        cells.selector(),
    ),
    "cronjobs.batch": (
        NAME,
        from_path("Schedule", "spec.schedule"),
        from_path("Timezone", "spec.timeZone", NONE),
        from_path("Suspend", "spec.suspend", False, type="boolean"),
        Column("Active", lambda i: len(at(i, "status.active", ())), type="integer"),
        Column("Last Schedule", lambda i: age(at(i, "status.lastScheduleTime"))),
        AGE,
        *cells.containers(),
        cells.selector("spec.jobTemplate.spec.selector"),
    ),
    "leases.coordination.k8s.io": (NAME, from_path("Holder", "spec.holderIdentity"), AGE),
    "networkpolicies.networking.k8s.io": (
        NAME,
        cells.selector("spec.podSelector", "Pod-Selector", 0),
        AGE,
    ),
    "poddisruptionbudgets.policy": (
        NAME,
        Column("Min Available", lambda i: str(at(i, "spec.minAvailable", "N/A"))),
        Column("Max Unavailable", lambda i: str(at(i, "spec.maxUnavailable", "N/A"))),
        cells.number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterroles.rbac.authorization.k8s.io": (NAME, CREATED),
    "roles.rbac.authorization.k8s.io": (NAME, CREATED),
    "devicetaintrules.resource.k8s.io": (
        NAME,
        from_path("Key", "spec.taint.key"),
        from_path("Value", "spec.taint.value"),
        from_path("Effect", "spec.taint.effect"),
        Column("TimeAdded", lambda item: age(at(item, "spec.taint.timeAdded"))),
        AGE,
    ),
    "resourceclaims.resource.k8s.io": (NAME, Column("State", cells.claim_state), AGE),
    "resourceslices.resource.k8s.io": (
        NAME,
        Column("Node", cells.slice_node),
        from_path("Driver", "spec.driver"),
        from_path("Pool", "spec.pool.name"),
        AGE,
    ),
    "priorityclasses.scheduling.k8s.io": (
        NAME,
        cells.number("Value", "value"),
        from_path("Global-Default", "globalDefault", False, type="boolean"),
        AGE,
        from_path("PreemptionPolicy", "preemptionPolicy", "PreemptLowerPriority"),
    ),
}
