"""Values that the API server fills in, for the kinds that people read here."""

from collections.abc import Callable
from typing import Any

from simulator.apiserver.kinds import Kind
from simulator.apiserver.schema import ANY, Type

Item = dict[str, Any]
_EVICTION_SECONDS = 300


def fill_defaults(kind: Kind, item: Item, kind_type: Type) -> None:
    """Complete `item` in place; repeatable."""
    if kind.custom:
        _from_schema(item, kind_type)
    elif filler := _FILLERS.get(kind.resource):
        filler(item)


def _from_schema(value: Any, kind: Type) -> None:
    if isinstance(value, dict):
        for name, below in kind.fields.items():
            if name not in value and below.default is not None and name != "metadata":
                value[name] = below.default
        for name, part in value.items():
            if name != "metadata":
                _from_schema(part, kind.child(name))
    elif isinstance(value, list):
        for part in value:
            _from_schema(part, kind.element or ANY)


def _set(item: Item, **values: Any) -> None:
    for name, value in values.items():
        item.setdefault(name, value)


def _pod(item: Item) -> None:
    spec = item["spec"] if isinstance(item.get("spec"), dict) else item.setdefault("spec", {})
    _pod_spec(spec)
    account = spec.setdefault("serviceAccountName", spec.get("serviceAccount") or "default")
    spec.setdefault("serviceAccount", account)
    _set(spec, enableServiceLinks=True, priority=0, preemptionPolicy="PreemptLowerPriority")
    _tolerate_outages(spec)
    status = item.setdefault("status", {})
    _set(status, phase="Pending", qosClass=_quality(spec))


def _tolerate_outages(spec: Item) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for trouble in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{trouble}"
        if not any(t.get("key") == key or not t.get("key") for t in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _EVICTION_SECONDS,
                }
            )


def _quality(spec: Item) -> str:
    kinds = []
    for container in spec.get("containers", ()):
        resources = container.get("resources") or {}
        limits = {
            k: v for k, v in (resources.get("limits") or {}).items() if k in ("cpu", "memory")
        }
        requests = resources.get("requests") or {}
        asked = {k: v for k, v in requests.items() if k in ("cpu", "memory")}
        if not limits and not asked:
            kinds.append("BestEffort")
        else:
            kinds.append("Guaranteed" if len(limits) == 2 and asked == limits else "Burstable")
    return kinds[0] if kinds and len(set(kinds)) == 1 else "Burstable" if kinds else "BestEffort"


def _pod_spec(spec: Item) -> None:
    _set(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    for container in [*spec.get("containers", ()), *spec.get("initContainers", ())]:
        _container(container)
    for volume in spec.get("volumes", ()):
        _volume(volume)


def _container(container: Item) -> None:
    image = container.get("image", "")
    latest = ":" not in image.rsplit("/", 1)[-1] or image.endswith(":latest")
    _set(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy="Always" if latest and "@" not in image else "IfNotPresent",
    )
    limits = container["resources"].get("limits")
    if limits:
        requests = container["resources"].setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe := container.get(name):
            _probe(probe)
    for source in container.get("env", ()):
        if reference := source.get("valueFrom", {}).get("fieldRef"):
            reference.setdefault("apiVersion", "v1")
    for action in (container.get("lifecycle") or {}).values():
        if isinstance(action, dict) and (http := action.get("httpGet")):
            _set(http, path="/", scheme="HTTP")


def _probe(probe: Item) -> None:
    _set(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    if http := probe.get("httpGet"):
        _set(http, path="/", scheme="HTTP")
    if grpc := probe.get("grpc"):
        grpc.setdefault("service", "")


def _volume(volume: Item) -> None:
    for name in ("configMap", "secret", "projected", "downwardAPI"):
        if isinstance(source := volume.get(name), dict):
            source.setdefault("defaultMode", 420)
    if len(volume) == 1:
        volume["emptyDir"] = {}
    if path := volume.get("hostPath"):
        path.setdefault("type", "")


def _template(spec: Item) -> None:
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    _pod_spec(template.setdefault("spec", {}))


def _deployment(item: Item) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), maxUnavailable="25%", maxSurge="25%")
    _template(spec)
    item.setdefault("status", {})


def _replica_set(item: Item) -> None:
    spec = item.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    if "template" in spec:
        _template(spec)
    item.setdefault("status", {"replicas": 0})


def _stateful_set(item: Item) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    spec.setdefault(
        "persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Retain", "whenScaled": "Retain"}
    )
    _template(spec)
    item.setdefault("status", {"replicas": 0, "availableReplicas": 0})


def _daemon_set(item: Item) -> None:
    spec = item.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), maxUnavailable=1, maxSurge=0)
    _template(spec)
    item.setdefault(
        "status",
        {
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
    )


def _job(item: Item) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, parallelism=1, backoffLimit=6, completionMode="NonIndexed", suspend=False)
    if "completions" not in spec and spec["parallelism"] == 1:
        spec["completions"] = 1
    _set(spec, manualSelector=False, podReplacementPolicy="TerminatingOrFailed")
    if "template" in spec:
        _template(spec)
    item.setdefault("status", {})


def _service(item: Item) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName":
        address = spec.setdefault("clusterIP", _cluster_address(item["metadata"]))
        _set(spec, clusterIPs=[address], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    item.setdefault("status", {}).setdefault("loadBalancer", {})


def _cluster_address(meta: Item) -> str:
    """An address of 10.96.0.0/16 that stays the same for the same name."""
    from zlib import crc32

    number = crc32(f"{meta.get('namespace')}/{meta.get('name')}".encode()) % 65000 + 10
    return f"10.96.{number // 256}.{number % 256}"


def _namespace(item: Item) -> None:
    item["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = item["metadata"][
        "name"
    ]
    item.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    item.setdefault("status", {}).setdefault("phase", "Active")


def _claim(item: Item) -> None:
    _claim_spec(item.setdefault("spec", {}))
    item.setdefault("status", {})


def _claim_template(item: Item) -> None:
    template = item.setdefault("spec", {})
    template.setdefault("metadata", {})
    _claim_spec(template.setdefault("spec", {}))


def _claim_spec(spec: Item) -> None:
    devices = spec.setdefault("devices", {})
    for request in devices.get("requests", ()):
        for part in [request.get("exactly"), *request.get("firstAvailable", ())]:
            if not isinstance(part, dict):
                continue
            if part.setdefault("allocationMode", "ExactCount") == "ExactCount":
                part["count"] = part.get("count") or 1
            for toleration in part.get("tolerations", ()):
                toleration.setdefault("operator", "Equal")


def _slice(item: Item) -> None:
    spec = item.get("spec", {})
    for device in spec.get("devices", ()):
        for taint in device.get("taints", ()):
            taint.setdefault("timeAdded", _now())


def _taint_rule(item: Item) -> None:
    if taint := item.get("spec", {}).get("taint"):
        taint.setdefault("timeAdded", _now())
    item.setdefault("status", {})


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _node(item: Item) -> None:
    item.setdefault("spec", {})
    item.setdefault("status", {})
    capacity = item["status"].get("capacity")
    if capacity:
        item["status"].setdefault("allocatable", dict(capacity))


def _secret(item: Item) -> None:
    item.setdefault("type", "Opaque")
    texts = item.pop("stringData", None) or {}
    if texts:
        from base64 import b64encode

        data = item.setdefault("data", {})
        data.update({name: b64encode(text.encode()).decode() for name, text in texts.items()})


def _role_binding(item: Item) -> None:
    for subject in item.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")
    item.get("roleRef", {}).setdefault("apiGroup", "rbac.authorization.k8s.io")


def _policy(item: Item) -> None:
    spec = item.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _match(spec.setdefault("matchConstraints", {}))
    item.setdefault("status", {})


def _match(match: Item) -> None:
    _set(match, namespaceSelector={}, objectSelector={}, matchPolicy="Equivalent")
    for rule in match.get("resourceRules", ()):
        rule.setdefault("scope", "*")


def _policy_binding(item: Item) -> None:
    if isinstance(match := item.get("spec", {}).get("matchResources"), dict):
        _match(match)


def _disruption_budget(item: Item) -> None:
    status = item.setdefault("status", {})
    _set(status, disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0, expectedPods=0)


def _quota(item: Item) -> None:
    item.setdefault("spec", {})
    item.setdefault("status", {})


_FILLERS: dict[str, Callable[[Item], None]] = {
    "pods": _pod,
    "nodes": _node,
    "namespaces": _namespace,
    "secrets": _secret,
    "services": _service,
    "resourcequotas": _quota,
    "deployments.apps": _deployment,
    "replicasets.apps": _replica_set,
    "statefulsets.apps": _stateful_set,
    "daemonsets.apps": _daemon_set,
    "jobs.batch": _job,
    "resourceclaims.resource.k8s.io": _claim,
    "resourceclaimtemplates.resource.k8s.io": _claim_template,
    "resourceslices.resource.k8s.io": _slice,
    "devicetaintrules.resource.k8s.io": _taint_rule,
    "rolebindings.rbac.authorization.k8s.io": _role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _role_binding,
    "poddisruptionbudgets.policy": _disruption_budget,
    "validatingadmissionpolicies.admissionregistration.k8s.io": _policy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding,
}
