"""Node labels as node feature discovery and GPU feature discovery (0.20) publish them."""

import re

from simulator.fleet.cards import Card, stable_uuid
from simulator.fleet.hardware import MigProfile
from simulator.fleet.scenario import NodeSpec

_PREFIX = "nvidia.com/"
DEPLOY_PLUGIN = _PREFIX + "gpu.deploy.device-plugin"
DEPLOY_DRA = _PREFIX + "gpu.deploy.dra-driver"
DEPLOYS = (DEPLOY_PLUGIN, DEPLOY_DRA)
"""Set once, when a node joins; whoever changes them later decides which drivers run there."""


def sanitised(product: str) -> str:
    """`NVIDIA H100 80GB HBM3` → `NVIDIA-H100-80GB-HBM3`."""
    return "-".join(re.sub(r"[^A-Za-z0-9\-_. ]", "", product).split())


def node_labels(seed: int, node: NodeSpec, cards: tuple[Card, ...]) -> dict[str, str]:
    labels = {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "feature.node.kubernetes.io/cpu-model.vendor_id": "AMD",
        "feature.node.kubernetes.io/pci-10de.present": "true",
        "feature.node.kubernetes.io/pci-0302_10de.present": "true",
        "feature.node.kubernetes.io/kernel-version.full": "6.8.0-85-generic",
    }
    labels |= {_PREFIX + key: value for key, value in _gpu_labels(seed, node, cards).items()}
    if node.pool:
        labels["karpenter.sh/nodepool"] = node.pool
    return labels | node.labels


def _gpu_labels(seed: int, node: NodeSpec, cards: tuple[Card, ...]) -> dict[str, str]:
    model = node.model
    cuda = node.cuda_version.split(".")
    driver = node.driver_version.split(".")
    product = sanitised(model.product)
    shared = node.has_plugin and node.replicas > 1
    labels = {
        "gpu.present": "true",
        "gpu.product": product + ("-SHARED" if shared and not node.renamed else ""),
        "gpu.count": str(len(cards)),
        "gpu.replicas": _replicas(node, cards),
        "gpu.sharing-strategy": "time-slicing" if shared else "none",
        "gpu.memory": str(model.memory_mib),
        "gpu.family": model.family,
        "gpu.compute.major": str(model.compute[0]),
        "gpu.compute.minor": str(model.compute[1]),
        "gpu.mode": "compute",
        "gpu.machine": "PowerEdge-XE9680" if len(cards) == 8 else "PowerEdge-R760xa",
        "cuda.driver-version.full": node.driver_version,
        "cuda.driver-version.major": driver[0],
        "cuda.driver-version.minor": driver[1] if len(driver) > 1 else "0",
        "cuda.driver-version.revision": driver[2] if len(driver) > 2 else "",
        "cuda.runtime-version.full": node.cuda_version,
        "cuda.runtime-version.major": cuda[0],
        "cuda.runtime-version.minor": cuda[1] if len(cuda) > 1 else "0",
        "mig.capable": "true" if model.profiles else "false",
        "mps.capable": "true",
    }
    if node.mig in {"mixed", "single"}:
        labels |= {
            "mig.strategy": node.mig,
            "mig.config": "custom",
            "mig.config.state": "success",
        }
        labels |= _mixed(cards) if node.mig == "mixed" else _single(product, cards)
    if model.nvlink and len(cards) == 8:
        labels["gpu.clique"] = f"{stable_uuid(seed, 'fabric', node.name)}.0"
    return labels | _operator(node)


def _replicas(node: NodeSpec, cards: tuple[Card, ...]) -> str:
    """The factor per card; 0 when every card is in MIG mode under the mixed strategy."""
    if node.mig == "mixed" and all(card.instances for card in cards):
        return "0"
    return str(node.replicas if node.has_plugin else 1)


def _operator(node: NodeSpec) -> dict[str, str]:
    return {
        "gpu.deploy.driver": "true",
        "gpu.deploy.dra-driver": "true" if node.publishes_slices else "false",
        "gpu.deploy.device-plugin": "true" if node.has_plugin else "false",
        "gpu.deploy.gpu-feature-discovery": "true",
        "gpu.deploy.dcgm-exporter": "true",
    }


def _by_profile(cards: tuple[Card, ...]) -> dict[str, tuple[MigProfile, int]]:
    counts: dict[str, tuple[MigProfile, int]] = {}
    for card in cards:
        for instance in card.instances:
            profile, count = counts.get(instance.profile.name, (instance.profile, 0))
            counts[instance.profile.name] = (profile, count + 1)
    return counts


def _mixed(cards: tuple[Card, ...]) -> dict[str, str]:
    labels: dict[str, str] = {}
    product = sanitised(cards[0].model.product)
    for name, (profile, count) in _by_profile(cards).items():
        prefix = f"mig-{name.replace('+', '.')}"
        labels |= {f"{prefix}.{key}": value for key, value in _instance(profile).items()}
        labels |= {
            f"{prefix}.count": str(count),
            f"{prefix}.product": f"{product}-MIG-{name.replace('+', '.')}",
            f"{prefix}.replicas": "1",
            f"{prefix}.sharing-strategy": "none",
        }
    return labels


def _single(product: str, cards: tuple[Card, ...]) -> dict[str, str]:
    """Under `single` the card's labels speak of instances; anything uneven is MIG-INVALID."""
    profiles = _by_profile(cards)
    if len(profiles) != 1 or any(not card.instances for card in cards):
        return {
            "gpu.product": f"{product}-MIG-INVALID",
            "gpu.count": "0",
            "gpu.replicas": "0",
            "gpu.memory": "0",
            "gpu.sharing-strategy": "",
        }
    [(name, (profile, count))] = profiles.items()
    labels = {f"gpu.{key}": value for key, value in _instance(profile).items()}
    return labels | {"gpu.product": f"{product}-MIG-{name}", "gpu.count": str(count)}


def _instance(profile: MigProfile) -> dict[str, str]:
    return {
        "memory": str(profile.memory_mib),
        "multiprocessors": str(profile.multiprocessors),
        "slices.gi": str(profile.slices),
        "slices.ci": str(profile.slices),
        "engines.copy": str(profile.copy_engines),
        "engines.decoder": str(profile.decoders),
        "engines.encoder": "0",
        "engines.jpeg": str(profile.jpeg_engines),
        "engines.ofa": str(profile.ofa_engines),
    }
