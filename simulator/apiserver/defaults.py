"""Values that the API server fills in, for the kinds that people read here."""

from collections.abc import Callable
from typing import Any

from simulator.apiserver.kinds import Kind
from simulator.apiserver.schema import ANY, Type

Item = dict[str, Any]


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
    spec = item.setdefault("spec", {})
    _pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)


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


def _replica_set(item: Item) -> None:
    spec = item.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    if "template" in spec:
        _template(spec)


def _stateful_set(item: Item) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    _set(spec, serviceName="")
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), partition=0, maxUnavailable=1)
    spec.setdefault(
        "persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Retain", "whenScaled": "Retain"}
    )
    _template(spec)


def _daemon_set(item: Item) -> None:
    spec = item.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), maxUnavailable=1, maxSurge=0)
    _template(spec)


def _job(item: Item) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, parallelism=1, backoffLimit=6, completionMode="NonIndexed", suspend=False)
    if "completions" not in spec and spec["parallelism"] == 1:
        spec["completions"] = 1
    _set(spec, manualSelector=False, podReplacementPolicy="TerminatingOrFailed")
    if "template" in spec:
        _template(spec)


def _service(item: Item) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _namespace(item: Item) -> None:
    item["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = item["metadata"][
        "name"
    ]


def _claim(item: Item) -> None:
    _claim_spec(item.setdefault("spec", {}))


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


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _node(item: Item) -> None:
    item.setdefault("spec", {})
    capacity = item.setdefault("status", {}).get("capacity")
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


def _match(match: Item) -> None:
    _set(match, namespaceSelector={}, objectSelector={}, matchPolicy="Equivalent")
    for rule in match.get("resourceRules", ()):
        rule.setdefault("scope", "*")


def _policy_binding(item: Item) -> None:
    if isinstance(match := item.get("spec", {}).get("matchResources"), dict):
        _match(match)


def _definition(item: Item) -> None:
    spec = item.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if kind := names.get("kind"):
        _set(names, singular=kind.lower(), listKind=f"{kind}List")
    _set(spec, conversion={"strategy": "None"})


_FILLERS: dict[str, Callable[[Item], None]] = {
    "pods": _pod,
    "nodes": _node,
    "namespaces": _namespace,
    "secrets": _secret,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
    "services": _service,
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
    "validatingadmissionpolicies.admissionregistration.k8s.io": _policy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding,
}
