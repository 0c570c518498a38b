"""What stands in the cells of tables, for kinds that need more than one field for it."""

from datetime import datetime

from simulator.apiserver.columns import (
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
    selector_text,
)

WIDE = 1


def containers(priority: int = WIDE) -> tuple[Column, Column]:
    def listed(item: Item, field: str) -> str:
        spec = at(item, "spec.jobTemplate.spec.template.spec") or at(item, "spec.template.spec", {})
        return joined(container.get(field, "") for container in spec.get("containers", ()))

    return (
        Column("Containers", lambda item: listed(item, "name"), priority=priority),
        Column("Images", lambda item: listed(item, "image"), priority=priority),
    )


def selector(path: str = "spec.selector", name: str = "Selector", priority: int = WIDE) -> Column:
    return Column(name, lambda item: selector_text(at(item, path)), priority=priority)


def number(name: str, path: str) -> Column:
    return from_path(name, path, 0, type="integer")


def involved(item: Item) -> str:
    about = item.get("involvedObject", {})
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def source(item: Item) -> str:
    source = item.get("source", {})
    name = source.get("component") or item.get("reportingComponent", "")
    host = source.get("host") or item.get("reportingInstance", "")
    return f"{name}, {host}" if host else str(name)


def last_seen(item: Item) -> str:
    series = at(item, "series.lastObservedTime")
    return age(series or item.get("lastTimestamp") or item.get("eventTime"))


def first_seen(item: Item) -> str:
    return age(item.get("firstTimestamp") or item.get("eventTime"))


def count(item: Item) -> str:
    return str(at(item, "series.count") or item.get("count") or 1)


def node_status(item: Item) -> str:
    status = UNKNOWN.strip("<>").capitalize()
    for condition in at(item, "status.conditions", ()):
        if condition.get("type") == "Ready":
            status = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{status},SchedulingDisabled" if at(item, "spec.unschedulable") else status


def roles(item: Item) -> str:
    mark = "node-role.kubernetes.io/"
    labels = at(item, "metadata.labels", {})
    return joined(sorted(k.removeprefix(mark) for k in labels if k.startswith(mark))) or NONE


def address(kind: str) -> Column:
    def cell(item: Item) -> str:
        found = (a["address"] for a in at(item, "status.addresses", ()) if a.get("type") == kind)
        return next(found, NONE)

    names = {"InternalIP": "Internal-IP", "ExternalIP": "External-IP"}
    return Column(names[kind], cell, priority=WIDE)


def ports(item: Item) -> str:
    listed = []
    for port in at(item, "spec.ports", ()):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        listed.append(f"{port['port']}{node}/{port.get('protocol', 'TCP')}")
    return joined(listed) or NONE


def external(item: Item) -> str:
    kind = at(item, "spec.type")
    if kind == "ExternalName":
        return str(at(item, "spec.externalName", NONE))
    return joined(at(item, "spec.externalIPs", ())) or (
        "<pending>" if kind == "LoadBalancer" else NONE
    )


def claim_state(item: Item) -> str:
    words = [
        ("deleted", at(item, "metadata.deletionTimestamp")),
        ("allocated", at(item, "status.allocation")),
        ("reserved", at(item, "status.reservedFor")),
    ]
    states = [word for word, holds in words if holds]
    return joined(states) if "allocated" in states else joined([*states, "pending"])


def slice_node(item: Item) -> str:
    if at(item, "spec.nodeName"):
        return str(at(item, "spec.nodeName"))
    return (
        "<multiple>"
        if at(item, "spec.allNodes")
        else "<selector>"
        if at(item, "spec.nodeSelector")
        else NONE
    )


def job_status(item: Item) -> str:
    for condition in at(item, "status.conditions", ()):
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return str(condition["type"])
    if at(item, "metadata.deletionTimestamp"):
        return "Terminating"
    return "Suspended" if at(item, "spec.suspend") else "Running"


def job_duration(item: Item) -> str:
    begun, done = moment(at(item, "status.startTime")), moment(at(item, "status.completionTime"))
    if begun is None:
        return ""
    return duration(((done or datetime.now(begun.tzinfo)) - begun).total_seconds())


def role(item: Item) -> str:
    return f"{at(item, 'roleRef.kind')}/{at(item, 'roleRef.name')}"


def subjects(kind: str) -> Column:
    def cell(item: Item) -> str:
        found = [s for s in item.get("subjects") or () if s.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{s.get('namespace', '')}/{s['name']}" for s in found)
        return ", ".join(s["name"] for s in found)

    return Column(f"{kind}s", cell, priority=WIDE)


def quota(field: str) -> Column:
    def cell(item: Item) -> str:
        hard = at(item, "status.hard") or at(item, "spec.hard", {})
        used = at(item, "status.used", {})
        chosen = sorted(name for name in hard if name.startswith("limits.") == (field == "Limit"))
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in chosen)

    return Column(field, cell)


def endpoints(item: Item) -> str:
    found = [
        f"{address['ip']}:{port['port']}"
        for subset in item.get("subsets") or ()
        for address in subset.get("addresses") or ()
        for port in subset.get("ports") or ()
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return joined(found[:3]) + more or NONE


def data(item: Item) -> int:
    return len(item.get("data") or {}) + len(item.get("binaryData") or {})


def deployment_ready(item: Item) -> str:
    return f"{at(item, 'status.readyReplicas', 0)}/{at(item, 'spec.replicas', 0)}"


def completions(item: Item) -> str:
    wanted = at(item, "spec.completions")
    done = at(item, "status.succeeded", 0)
    return (
        f"{done}/{wanted}" if wanted is not None else f"{done}/1 of {at(item, 'spec.parallelism')}"
    )


def established(item: Item) -> bool:
    return any(
        c.get("type") == "Established" and c.get("status") == "True"
        for c in at(item, "status.conditions", ())
    )
