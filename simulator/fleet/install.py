"""What an administrator installs before any work: classes, drivers as DaemonSets, tenants' objects.

Each object is made once and never again, so that what somebody deletes stays deleted: a ConfigMap
in kube-system remembers that a scenario has been installed.
"""

import logging
from typing import Any

from simulator.fleet import gatewayapi
from simulator.fleet.api import (
    CLASSES,
    CONFIG_MAPS,
    DAEMON_SETS,
    NAMESPACES,
    Api,
    ApiError,
    Kind,
)
from simulator.fleet.labels import DEPLOY_DRA, DEPLOY_PLUGIN
from simulator.fleet.scenario import NodeSpec, Scenario

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_MARK = "simulated-fleet"
_DRA_IMAGE = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu"
_PLUGIN_IMAGE = "nvcr.io/nvidia/k8s-device-plugin"


async def install(api: Api, scenario: Scenario) -> None:
    """Repeatable; raises ApiError."""
    try:
        await api.get(CONFIG_MAPS, "kube-system", _MARK)
    except ApiError as error:
        if not error.is_missing:
            raise
    else:
        return
    for kind, body in _objects(scenario):
        await _create(api, kind, body)
    mark = {
        "metadata": {"name": _MARK, "namespace": "kube-system"},
        "data": {"scenario": scenario.name, "seed": str(scenario.seed)},
    }
    await _create(api, CONFIG_MAPS, mark)
    log.info("installed scenario %s", scenario.name)


async def _create(api: Api, kind: Kind, body: Json) -> None:
    try:
        await api.create(kind, body)
    except ApiError as error:
        if not error.is_conflict:
            raise


def _objects(scenario: Scenario) -> list[tuple[Kind, Json]]:
    spaces = ["kube-system", "kube-node-lease", "nvidia-dra-driver-gpu", "gpu-operator"]
    objects: list[tuple[Kind, Json]] = [
        (NAMESPACES, {"metadata": {"name": name}}) for name in spaces
    ]
    objects += [(CLASSES, body) for body in _classes()]
    objects += [(DAEMON_SETS, body) for body in _daemon_sets(scenario.nodes)]
    if scenario.gateway:
        objects += gatewayapi.installed(*scenario.gateway.split("/"))
    objects += [(_kind(body), body) for body in scenario.manifests]
    return objects


def _kind(body: Json) -> Kind:
    """The plural by rule; enough for the kinds that scenarios hold."""
    word = str(body["kind"])
    plural = word.lower() + ("es" if word.endswith(("s", "ss")) else "s")
    if word.endswith("y") and word[-2] not in "aeiou":
        plural = word.lower()[:-1] + "ies"
    namespaced = "namespace" in body["metadata"]
    return Kind(str(body["apiVersion"]), plural, word, namespaced=namespaced)


def _classes() -> list[Json]:
    """The classes of the driver's chart, as the GPU Operator sets them: no extended resource."""

    def device_class(name: str, rule: str) -> Json:
        return {
            "metadata": {"name": name},
            "spec": {"selectors": [{"cel": {"expression": rule}}]},
        }

    own = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == "
    domain = (
        "device.driver == 'compute-domain.nvidia.com' && "
        "device.attributes['compute-domain.nvidia.com'].type == "
    )
    return [
        device_class("gpu.nvidia.com", f"{own}'gpu'"),
        device_class("mig.nvidia.com", f"{own}'mig'"),
        device_class("compute-domain-daemon.nvidia.com", f"{domain}'daemon'"),
        device_class(
            "compute-domain-default-channel.nvidia.com",
            f"{domain}'channel' && device.attributes['compute-domain.nvidia.com'].id == 0",
        ),
    ]


def _daemon_sets(nodes: tuple[NodeSpec, ...]) -> list[Json]:
    """One per version of a driver, since a DaemonSet's pods all run the same."""
    sets: list[Json] = []
    dra = _by_version(nodes, "dra")
    for version in dra:
        suffix = "" if len(dra) == 1 else f"-{version.replace('.', '-')}"
        sets.append(
            _daemon_set(
                f"dra-driver-nvidia-gpu-kubelet-plugin{suffix}",
                "nvidia-dra-driver-gpu",
                "dra-driver-nvidia-gpu",
                ["compute-domains", "gpus"],
                f"{_DRA_IMAGE}:{version}",
                _where(DEPLOY_DRA, dra, version),
            )
        )
    plugin = _by_version(nodes, "plugin")
    for version in plugin:
        suffix = "" if len(plugin) == 1 else f"-{version.replace('.', '-')}"
        sets.append(
            _daemon_set(
                f"nvidia-device-plugin-daemonset{suffix}",
                "gpu-operator",
                "nvidia-device-plugin-daemonset",
                ["nvidia-device-plugin"],
                f"{_PLUGIN_IMAGE}:{version}",
                _where(DEPLOY_PLUGIN, plugin, version),
            )
        )
    return sets


def _by_version(nodes: tuple[NodeSpec, ...], which: str) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for node in nodes:
        wanted = node.publishes_slices if which == "dra" else node.has_plugin
        if wanted:
            version = node.dra_version if which == "dra" else node.plugin_version
            groups.setdefault(version, []).append(node.name)
    return groups


def _where(label: str, by_version: dict[str, list[str]], version: str) -> list[Json]:
    """Nodes that want this driver: each version on its own, the most used one on all others too."""
    most = max(by_version, key=lambda one: len(by_version[one]))
    others = [name for one, names in by_version.items() if one != version for name in names]
    rules: list[Json] = [{"key": label, "operator": "In", "values": ["true"]}]
    host = "kubernetes.io/hostname"
    if version != most:
        rules.append({"key": host, "operator": "In", "values": by_version[version]})
    elif others:
        rules.append({"key": host, "operator": "NotIn", "values": others})
    return rules


def _daemon_set(
    name: str, namespace: str, app: str, containers: list[str], image: str, rules: list[Json]
) -> Json:
    labels = {"app": name, "app.kubernetes.io/name": app}
    term = {"matchExpressions": rules}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "priorityClassName": "system-node-critical",
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [term]
                            }
                        }
                    },
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": part, "image": image} for part in containers],
                },
            },
        },
    }
