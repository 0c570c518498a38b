"""The columns of each kind, as the real server prints them."""

from datetime import datetime
from typing import Any

from simulator.apiserver.columns import (
    AGE,
    CREATED,
    NAME,
    NONE,
    UNKNOWN,
    Column,
    Item,
    age,
    at,
    duration,
    from_path,
    joined,
    moment,
    pairs,
    printer_column,
    selector_text,
)
from simulator.apiserver.kinds import Kind
from simulator.apiserver.pod_status import ready_count, reason, restarts

WIDE = 1


def columns_of(kind: Kind, printer_columns: list[dict[str, Any]]) -> tuple[Column, ...]:
    if kind.custom:
        own = tuple(printer_column(column) for column in printer_columns)
        return (NAME, *(own or (AGE,)))
    return _COLUMNS.get(kind.resource, (NAME, AGE))


def _containers(priority: int = WIDE) -> tuple[Column, Column]:
    def listed(item: Item, field: str) -> str:
        spec = at(item, "spec.jobTemplate.spec.template.spec") or at(item, "spec.template.spec", {})
        return joined(container.get(field, "") for container in spec.get("containers", ()))

    return (
        Column("Containers", lambda item: listed(item, "name"), priority=priority),
        Column("Images", lambda item: listed(item, "image"), priority=priority),
    )


def _selector(path: str = "spec.selector", name: str = "Selector", priority: int = WIDE) -> Column:
    return Column(name, lambda item: selector_text(at(item, path)), priority=priority)


def _number(name: str, path: str) -> Column:
    return from_path(name, path, 0, type="integer")


def _object(item: Item) -> str:
    about = item.get("involvedObject", {})
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _source(item: Item) -> str:
    source = item.get("source", {})
    name = source.get("component") or item.get("reportingComponent", "")
    host = source.get("host") or item.get("reportingInstance", "")
    return f"{name}, {host}" if host else str(name)


def _last_seen(item: Item) -> str:
    series = at(item, "series.lastObservedTime")
    return age(series or item.get("lastTimestamp") or item.get("eventTime"))


def _first_seen(item: Item) -> str:
    return age(item.get("firstTimestamp") or item.get("eventTime"))


def _count(item: Item) -> str:
    return str(at(item, "series.count") or item.get("count") or 1)


def _node_status(item: Item) -> str:
    status = UNKNOWN.strip("<>").capitalize()
    for condition in at(item, "status.conditions", ()):
        if condition.get("type") == "Ready":
            status = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if at(item, "spec.unschedulable") else status


def _roles(item: Item) -> str:
    mark = "node-role.kubernetes.io/"
    labels = at(item, "metadata.labels", {})
    return joined(sorted(k.removeprefix(mark) for k in labels if k.startswith(mark))) or NONE


def _address(kind: str) -> Column:
    def cell(item: Item) -> str:
        found = (a["address"] for a in at(item, "status.addresses", ()) if a.get("type") == kind)
        return next(found, NONE)

    names = {"InternalIP": "Internal-IP", "ExternalIP": "External-IP"}
    return Column(names[kind], cell, priority=WIDE)


def _ports(item: Item) -> str:
    listed = []
    for port in at(item, "spec.ports", ()):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        listed.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    return joined(listed) or NONE


def _external(item: Item) -> str:
    kind = at(item, "spec.type")
    if kind == "ExternalName":
        return str(at(item, "spec.externalName", NONE))
    return joined(at(item, "spec.externalIPs", ())) or (
        "<pending>" if kind == "LoadBalancer" else NONE
    )


def _claim_state(item: Item) -> str:
    words = [
        ("deleted", at(item, "metadata.deletionTimestamp")),
        ("allocated", at(item, "status.allocation")),
        ("reserved", at(item, "status.reservedFor")),
    ]
    states = [word for word, holds in words if holds]
    return joined(states) if "allocated" in states else joined([*states, "pending"])


def _slice_node(item: Item) -> str:
    if at(item, "spec.nodeName"):
        return str(at(item, "spec.nodeName"))
    return (
        "<multiple>"
        if at(item, "spec.allNodes")
        else "<selector>"
        if at(item, "spec.nodeSelector")
        else NONE
    )


def _job_status(item: Item) -> str:
    for condition in at(item, "status.conditions", ()):
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return str(condition["type"])
    if at(item, "metadata.deletionTimestamp"):
        return "Terminating"
    return "Suspended" if at(item, "spec.suspend") else "Running"


def _job_duration(item: Item) -> str:
    begun, done = moment(at(item, "status.startTime")), moment(at(item, "status.completionTime"))
    if begun is None:
        return ""
    return duration(((done or datetime.now(begun.tzinfo)) - begun).total_seconds())


def _role(item: Item) -> str:
    return f"{at(item, 'roleRef.kind')}/{at(item, 'roleRef.name')}"


def _subjects(kind: str) -> Column:
    def cell(item: Item) -> str:
        found = [s for s in item.get("subjects") or () if s.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{s.get('namespace', '')}/{s['name']}" for s in found)
        return ", ".join(s["name"] for s in found)

    return Column(f"{kind}s", cell, priority=WIDE)


def _quota(field: str) -> Column:
    def cell(item: Item) -> str:
        hard = at(item, "status.hard") or at(item, "spec.hard", {})
        used = at(item, "status.used", {})
        chosen = sorted(name for name in hard if name.startswith("limits.") == (field == "Limit"))
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in chosen)

    return Column(field, cell)


def _endpoints(item: Item) -> str:
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in item.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ()
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return joined(found[:3]) + more or NONE


def _data(item: Item) -> int:
    return len(item.get("data") or {}) + len(item.get("binaryData") or {})


def _deployment_ready(item: Item) -> str:
    return f"{at(item, 'status.readyReplicas', 0)}/{at(item, 'spec.replicas', 0)}"


def _completions(item: Item) -> str:
    wanted = at(item, "spec.completions")
    done = at(item, "status.succeeded", 0)
    return (
        f"{done}/{wanted}" if wanted is not None else f"{done}/1 of {at(item, 'spec.parallelism')}"
    )


def _established(item: Item) -> bool:
    return any(
        c.get("type") == "Established" and c.get("status") == "True"
        for c in at(item, "status.conditions", ())
    )


_REPLICAS = (
    NAME,
    _number("Desired", "spec.replicas"),
    _number("Current", "status.replicas"),
    _number("Ready", "status.readyReplicas"),
    AGE,
    *_containers(),
    _selector(),
)
_WEBHOOKS = (NAME, Column("Webhooks", lambda i: len(i.get("webhooks") or ()), type="integer"), AGE)
_BINDING = (
    NAME,
    Column("Role", _role),
    AGE,
    _subjects("User"),
    _subjects("Group"),
    _subjects("ServiceAccount"),
)
_COLUMNS: dict[str, tuple[Column, ...]] = {
    "configmaps": (NAME, Column("Data", _data), AGE),
    "endpoints": (NAME, Column("Endpoints", _endpoints), AGE),
    "events": (
        Column("Last Seen", _last_seen),
        from_path("Type", "type"),
        from_path("Reason", "reason"),
        Column("Object", _object),
        from_path("Subobject", "involvedObject.fieldPath", priority=WIDE),
        Column("Source", _source, priority=WIDE),
        Column("Message", lambda item: str(item.get("message", "")).strip()),
        Column("First Seen", _first_seen, priority=WIDE),
        Column("Count", _count, priority=WIDE),
        Column("Name", NAME.cell, priority=WIDE, format="name"),
    ),
    "limitranges": (NAME, CREATED),
    "namespaces": (NAME, from_path("Status", "status.phase"), AGE),
    "nodes": (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _roles),
        AGE,
        from_path("Version", "status.nodeInfo.kubeletVersion"),
        _address("InternalIP"),
        _address("ExternalIP"),
        from_path("OS-Image", "status.nodeInfo.osImage", UNKNOWN, priority=WIDE),
        from_path("Kernel-Version", "status.nodeInfo.kernelVersion", UNKNOWN, priority=WIDE),
        from_path(
            "Container-Runtime", "status.nodeInfo.containerRuntimeVersion", UNKNOWN, priority=WIDE
        ),
    ),
    "pods": (
        NAME,
        Column("Ready", ready_count),
        Column("Status", reason),
        Column("Restarts", restarts),
        AGE,
        from_path("IP", "status.podIP", NONE, priority=WIDE),
        from_path("Node", "spec.nodeName", NONE, priority=WIDE),
        from_path("Nominated Node", "status.nominatedNodeName", NONE, priority=WIDE),
        Column("Readiness Gates", lambda item: NONE, priority=WIDE),
    ),
    "replicationcontrollers": _REPLICAS,
    "resourcequotas": (NAME, _quota("Request"), _quota("Limit"), AGE),
    "secrets": (NAME, from_path("Type", "type"), Column("Data", _data), AGE),
    "serviceaccounts": (NAME, AGE),
    "services": (
        NAME,
        from_path("Type", "spec.type"),
        from_path("Cluster-IP", "spec.clusterIP", NONE),
        Column("External-IP", _external),
        Column("Port(s)", _ports),
        AGE,
        Column("Selector", lambda item: pairs(at(item, "spec.selector")), priority=WIDE),
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
        from_path("Group", "spec.group", priority=WIDE),
        from_path("Kind", "spec.names.kind", priority=WIDE),
        Column("ShortNames", lambda i: joined(at(i, "spec.names.shortNames", ())), priority=WIDE),
        Column("Established", _established, type="boolean", priority=WIDE),
    ),
    "daemonsets.apps": (
        NAME,
        _number("Desired", "status.desiredNumberScheduled"),
        _number("Current", "status.currentNumberScheduled"),
        _number("Ready", "status.numberReady"),
        _number("Up-to-date", "status.updatedNumberScheduled"),
        _number("Available", "status.numberAvailable"),
        _selector("spec.template.spec.nodeSelector", "Node Selector", 0),
        AGE,
        *_containers(),
        _selector(),
    ),
    "deployments.apps": (
        NAME,
        Column("Ready", _deployment_ready),
        Column("Up-to-date", lambda item: at(item, "status.updatedReplicas", 0)),
        Column("Available", lambda item: at(item, "status.availableReplicas", 0)),
        AGE,
        *_containers(),
        _selector(),
    ),
    "replicasets.apps": _REPLICAS,
    "statefulsets.apps": (NAME, Column("Ready", _deployment_ready), AGE, *_containers()),
    "jobs.batch": (
        NAME,
        Column("Status", _job_status),
        Column("Completions", _completions),
        Column("Duration", _job_duration),
        AGE,
        *_containers(),
        _selector(),
    ),
    "cronjobs.batch": (
        NAME,
        from_path("Schedule", "spec.schedule"),
        from_path("Timezone", "spec.timeZone", NONE),
        from_path("Suspend", "spec.suspend", False, type="boolean"),
        Column("Active", lambda i: len(at(i, "status.active", ())), type="integer"),
        Column("Last Schedule", lambda i: age(at(i, "status.lastScheduleTime"))),
        AGE,
        *_containers(),
        _selector("spec.jobTemplate.spec.selector"),
    ),
    "leases.coordination.k8s.io": (NAME, from_path("Holder", "spec.holderIdentity"), AGE),
    "networkpolicies.networking.k8s.io": (
        NAME,
        _selector("spec.podSelector", "Pod-Selector", 0),
        AGE,
    ),
    "poddisruptionbudgets.policy": (
        NAME,
        Column("Min Available", lambda i: str(at(i, "spec.minAvailable", "N/A"))),
        Column("Max Unavailable", lambda i: str(at(i, "spec.maxUnavailable", "N/A"))),
        _number("Allowed Disruptions", "status.disruptionsAllowed"),
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
    "resourceclaims.resource.k8s.io": (NAME, Column("State", _claim_state), AGE),
    "resourceslices.resource.k8s.io": (
        NAME,
        Column("Node", _slice_node),
        from_path("Driver", "spec.driver"),
        from_path("Pool", "spec.pool.name"),
        AGE,
    ),
    "priorityclasses.scheduling.k8s.io": (
        NAME,
        _number("Value", "value"),
        from_path("Global-Default", "globalDefault", False, type="boolean"),
        AGE,
        from_path("PreemptionPolicy", "preemptionPolicy", "PreemptLowerPriority"),
    ),
}
