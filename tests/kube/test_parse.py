"""API objects into the domain's words, in every spelling that drivers have used."""

import pytest

from kube import parse
from kube.client import Json
from kube.parse import Malformed
from tests.workers import fleet


def named(raw: Json) -> Json:
    raw["metadata"].setdefault("uid", "u1")
    return raw


def device(attributes: Json, driver: str = "gpu.nvidia.com", **more: object) -> Json:
    return named(
        {
            "metadata": {"name": "s"},
            "spec": {
                "driver": driver,
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 2, "resourceSliceCount": 1},
                "devices": [{"name": "gpu-0", "attributes": attributes, **more}],
            },
        }
    )


def test_a_slice_as_the_nvidia_driver_publishes_it() -> None:
    found = parse.slice_(named(fleet.resource_slice("n1")))
    first = found.devices[0]
    assert (found.pool, found.generation, len(found.devices)) == ("n1", 1, 8)
    assert first.uuid == "GPU-n1-0" and first.memory_mib == 81559
    assert first.pci_bus_id == "0000:00:00.0" and first.driver_version == "580.95.5"


@pytest.mark.parametrize("key", ["resource.kubernetes.io/pciBusID", "pciBusID", "pcieBusID"])
def test_the_pci_address_in_all_three_spellings(key: str) -> None:
    found = parse.slice_(device({key: {"string": "0000:3b:00.0"}}))
    assert found.devices[0].pci_bus_id == "0000:3b:00.0"


@pytest.mark.parametrize(
    "value",
    [{"int": 1}, {"ints": [1]}],
)
def test_the_numa_node_as_a_number_or_a_list_of_one(value: Json) -> None:
    found = parse.slice_(device({"resource.kubernetes.io/numaNode": value}))
    assert found.devices[0].numa_node == 1


def test_the_drivers_own_domain_may_be_spelled_out() -> None:
    found = parse.slice_(device({"gpu.nvidia.com/uuid": {"string": "GPU-1"}}))
    assert found.devices[0].uuid == "GPU-1"


def test_the_first_beta_keeps_devices_one_level_deeper() -> None:
    raw = device({})
    raw["spec"]["devices"] = [
        {"name": "gpu-0", "basic": {"attributes": {"uuid": {"string": "GPU-1"}}}}
    ]
    assert parse.slice_(raw).devices[0].uuid == "GPU-1"


def test_an_amd_partition_knows_its_card() -> None:
    raw = device(
        {
            "type": {"string": "amdgpu-partition"},
            "parentPciAddr": {"string": "0003:00:01.0"},
            "partitionProfile": {"string": "dpx_nps1"},
        },
        driver="gpu.amd.com",
    )
    found = parse.slice_(raw).devices[0]
    assert (found.profile, found.pci_bus_id) == ("dpx_nps1", "0003:00:01.0")


def test_missing_memory_is_not_zero() -> None:
    assert parse.slice_(device({})).devices[0].memory_mib is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw.pop("spec"),
        lambda raw: raw["spec"].pop("pool"),
        lambda raw: raw["spec"]["pool"].update(generation="many"),
        lambda raw: raw["spec"].update(devices=[None]),
        lambda raw: raw["spec"].update(devices=[{"attributes": {}}]),
        lambda raw: raw["spec"]["devices"][0].update(capacity={"memory": {"value": "lots"}}),
        lambda raw: raw["metadata"].pop("uid"),
    ],
)
def test_what_cannot_be_read_is_named(spoil: object) -> None:
    raw = named(fleet.resource_slice("n1"))
    spoil(raw)  # type: ignore[operator]
    with pytest.raises(Malformed, match="n1-gpu"):
        parse.parsed(parse.slice_, raw)


@pytest.mark.parametrize("raw", [None, [], "text", {}, {"metadata": None}])
def test_what_is_no_object_is_malformed_too(raw: object) -> None:
    with pytest.raises(Malformed):
        parse.parsed(parse.slice_, raw)  # type: ignore[arg-type]


def test_a_claim_with_a_choice_knows_the_class_it_got() -> None:
    raw = named(fleet.claim("c") | {"status": fleet.allocation("n1", "gpu-0")})
    raw["spec"]["devices"]["requests"] = [
        {
            "name": "gpu",
            "firstAvailable": [
                {"name": "big", "deviceClassName": "h200"},
                {"name": "small", "deviceClassName": "h100"},
            ],
        }
    ]
    raw["status"]["allocation"]["devices"]["results"][0]["request"] = "gpu/small"
    found = parse.claim(raw)
    assert found.class_of(found.results[0].request) == "h100"
    assert (found.state, found.node_name, found.pods) == ("reserved", "n1", ("server",))


def test_resources_that_a_scheduler_made_claim_covers_are_not_counted_twice() -> None:
    """KEP-5004: nvidia.com/gpu of a pod that DRA serves lies in its claim (kueue#9868)."""
    raw = named(fleet.pod("p", "n1", **{"nvidia.com/gpu": "2"}))
    assert parse.pod(raw).requests == {"nvidia.com/gpu": 2}
    raw["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "p-extended",
        "requestMappings": [
            {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "r"}
        ],
    }
    found = parse.pod(raw)
    assert found.requests == {} and found.claims == ("p-extended",)


def test_init_containers_count_by_the_largest_and_sidecars_with_the_rest() -> None:
    def container(name: str, amount: str, **more: str) -> Json:
        return {"name": name, "resources": {"limits": {"nvidia.com/gpu": amount}}, **more}

    raw = named(fleet.pod("p", "n1"))
    raw["spec"]["containers"] = [container("a", "1"), container("b", "1")]
    raw["spec"]["initContainers"] = [
        container("load", "4"),
        container("side", "1", restartPolicy="Always"),
    ]
    assert parse.pod(raw).requests == {"nvidia.com/gpu": 4}


def test_claims_made_from_templates_are_known_by_their_own_names() -> None:
    raw = named(fleet.pod("p", "n1"))
    raw["spec"]["resourceClaims"] = [
        {"name": "a", "resourceClaimName": "mine"},
        {"name": "b", "resourceClaimTemplateName": "t"},
        {"name": "c", "resourceClaimTemplateName": "not-made-yet"},
    ]
    raw["status"]["resourceClaimStatuses"] = [{"name": "b", "resourceClaimName": "p-b-x1"}]
    assert parse.pod(raw).claims == ("mine", "p-b-x1")


@pytest.mark.parametrize(
    "text",
    [
        "GPU-1,10,24576,100,NVIDIA A10,0,true:GPU-2,10,24576,100,NVIDIA A10,0,true:",
        '[{"id":"GPU-1","devmem":24576,"type":"NVIDIA A10"},'
        '{"id":"GPU-2","devmem":24576,"type":"NVIDIA A10"}]',
    ],
)
def test_hamis_register_in_both_of_its_forms(text: str) -> None:
    raw = named(fleet.node("n1"))
    raw["metadata"]["annotations"] = {
        "hami.io/node-nvidia-register": text,
        "hami.io/node-handshake-nvidia": "Requesting_2026",
    }
    assert [card[0] for card in parse.node(raw).hami_cards] == ["GPU-1", "GPU-2"]


def test_a_rule_without_a_selector_matches_nothing_and_an_empty_one_everything() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    nothing = named({"metadata": {"name": "r"}, "spec": {"taint": taint}})
    assert parse.taint_rule(nothing) is None
    nothing["spec"]["deviceSelector"] = {}
    rule = parse.taint_rule(nothing)
    assert rule is not None and rule.matches("any", "pool", "device")


def test_a_driver_pod_is_known_by_its_daemonset_and_label() -> None:
    raw = named(fleet.pod("p", "n1"))
    raw["metadata"]["labels"] = {"app": "nvidia-device-plugin-daemonset"}
    assert parse.pod(raw).serves == ""  # anybody can set a label
    raw["metadata"]["ownerReferences"] = [{"kind": "DaemonSet"}]
    assert parse.pod(raw).serves == "device-plugin"
