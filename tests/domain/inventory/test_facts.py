"""What a node tells beyond its numbers."""

from dataclasses import replace

import pytest

from domain.accelerators import spelled
from domain.devices import PodUse, pools_of
from domain.inventory import facts_of
from tests.domain.inventory.fleets import gpu, node, slice_of


def test_the_drivers_word_goes_before_the_labels() -> None:
    one = node(labels={"gpu.product": "Sanitised-Name", "cuda.driver-version.full": "1.2.3"})
    pools = pools_of([slice_of(gpu(0, driver_version="580.95.5"))])
    found = facts_of(one, pools)
    assert found.product == "NVIDIA H100 80GB HBM3" and found.driver_version == "580.95.5"
    assert found.driver == "gpu.nvidia.com" and found.cdi


def test_labels_tell_of_what_a_plugin_serves() -> None:
    labels = {
        "gpu.product": "Tesla-T4",
        "mig.strategy": "mixed",
        "mig.config": "all-balanced",
        "mig.config.state": "success",
        "device-plugin.config": "shared",
        "gpu.sharing-strategy": "time-slicing",
        "gpu.clique": "abc.1",
    }
    found = facts_of(node(labels=labels, gpu=4), [])
    assert found.mig == "mixed: all-balanced (success)" and found.driver == "device plugin"
    assert (found.plugin_config, found.sharing, found.clique) == ("shared", "time-slicing", "abc.1")
    assert found.cdi == ""


def test_both_ways_of_handing_out_are_named() -> None:
    found = facts_of(node(gpu=4), pools_of([slice_of(gpu(0))]))
    assert found.driver == "gpu.nvidia.com, device plugin"


def test_the_node_pool_by_any_providers_label() -> None:
    one = replace(node(), labels={"karpenter.sh/nodepool": "gpus"})
    assert facts_of(one, []).node_pool == "gpus"


def test_what_is_not_told_stays_empty() -> None:
    found = facts_of(None, [])
    assert set(vars_of(found)) == {""}


def vars_of(found: object) -> list[object]:
    return [getattr(found, name) for name in found.__slots__]  # type: ignore[attr-defined]


def test_the_drivers_own_pods_tell_what_they_run() -> None:
    image = "nvcr.io/nvidia/k8s-device-plugin:v0.18.0@sha256:0123"
    pods = [PodUse("u", "gpu-operator", "p", serves="device-plugin", image=image)]
    assert facts_of(node(gpu=4), [], pods).serving == "k8s-device-plugin:v0.18.0"


def test_where_the_cards_and_the_node_lie() -> None:
    labels = {
        "topology.kubernetes.io/region": "north",
        "topology.kubernetes.io/zone": "north-1",
        "topology.k8s.aws/network-node-layer-1": "nn-a",
        "topology.k8s.aws/network-node-layer-3": "nn-c",
    }
    cards = [gpu(n, numa_node=n // 2, pcie_root=f"pci0000:{n:02x}") for n in range(4)]
    found = facts_of(replace(node(), labels=labels), pools_of([slice_of(*cards)]))
    assert (found.region, found.zone, found.network) == ("north", "north-1", "nn-a / nn-c")
    assert found.numa == "NUMA nodes 0, 1; 4 PCIe roots"


@pytest.mark.parametrize(
    ("label", "product"),
    [
        ("NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.5gb-SHARED", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA-A100-80GB-PCIe-SHARED", "NVIDIA A100 80GB PCIe"),
        ("Tesla-V100-PCIE-16GB", "Tesla V100-PCIE-16GB"),
        ("Tesla-T4-SHARED", "Tesla T4"),
        ("NVIDIA-A30-MIG-INVALID", "NVIDIA A30"),
        ("", ""),
    ],
)
def test_a_label_is_spelled_as_the_driver_spells_the_product(label: str, product: str) -> None:
    found = facts_of(node(labels={"gpu.product": label}), [])
    assert found.product == spelled(label) == product
