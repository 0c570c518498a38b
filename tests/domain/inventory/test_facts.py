"""What a node tells beyond its numbers."""

from dataclasses import replace

from domain.devices import pools_of
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
