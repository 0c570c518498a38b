"""A deployment as objects: what must be there, and that hostile text stays text."""

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from domain import diffs
from domain.errors import InvalidValue
from domain.manifests import Env, OwnImage, Pool, Serving, parallel_args, preset, render

CLAIM = {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "h100"}}]}}
IMAGE = "docker.io/vllm/vllm-openai:v0.33.0"


def serving(*pools: Pool, **changes: Any) -> Serving:
    server = preset("vllm", image=IMAGE, model="m/m", served_name="llama", **changes)
    return Serving(
        tenant="vision",
        namespace="team-vision",
        name="llama",
        server=server,
        pools=pools or (Pool("main", "dra", 2, claim=CLAIM),),
        service_account="claimyard-server",
    )


def made(kind: str, whole: Serving) -> dict[str, Any]:
    return next(one for one in render(whole) if one["kind"] == kind)


def container(whole: Serving) -> dict[str, Any]:
    found: dict[str, Any] = made("Deployment", whole)["spec"]["template"]["spec"]["containers"][0]
    return found


def test_objects_come_in_apply_order() -> None:
    kinds = [one["kind"] for one in render(serving())]
    assert kinds == ["ResourceClaimTemplate", "Deployment", "PodDisruptionBudget", "Service"]


def test_a_template_is_named_by_its_content() -> None:
    other = {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "l40s"}}]}}
    names = {
        made("ResourceClaimTemplate", serving(Pool("main", "dra", 1, claim=claim)))["metadata"][
            "name"
        ]
        for claim in (CLAIM, dict(CLAIM), other)
    }
    assert len(names) == 2
    whole = serving()
    pod = made("Deployment", whole)["spec"]["template"]["spec"]
    template = made("ResourceClaimTemplate", whole)["metadata"]["name"]
    assert pod["resourceClaims"][0]["resourceClaimTemplateName"] == template


def test_claims_made_from_the_template_carry_the_labels() -> None:
    template = made("ResourceClaimTemplate", serving())
    assert template["spec"]["metadata"]["labels"]["claimyard.dev/pool"] == "main"


def test_three_probes_that_let_a_model_load() -> None:
    found = container(serving(startup_minutes=40))
    startup, live = found["startupProbe"], found["livenessProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 40 * 60
    assert startup["httpGet"]["path"] == "/v1/models"
    assert live["httpGet"]["path"] == "/health"
    assert found["readinessProbe"]["failureThreshold"] == 3


def test_grace_covers_waiting_finishing_and_a_rest() -> None:
    whole = serving()
    pod = made("Deployment", whole)["spec"]["template"]["spec"]
    wait = container(whole)["lifecycle"]["preStop"]["sleep"]["seconds"]
    finish = next(arg for arg in container(whole)["args"] if "--shutdown-timeout" in arg)
    assert pod["terminationGracePeriodSeconds"] > wait + int(finish.partition("=")[2])


def test_without_room_for_a_surge_pods_are_replaced_one_by_one() -> None:
    def strategy(*, surge: bool) -> dict[str, int]:
        whole = serving(Pool("main", "dra", 2, claim=CLAIM, surge=surge))
        found: dict[str, int] = made("Deployment", whole)["spec"]["strategy"]["rollingUpdate"]
        return found

    assert strategy(surge=False) == {"maxSurge": 0, "maxUnavailable": 1}
    assert strategy(surge=True) == {"maxSurge": 1, "maxUnavailable": 0}


def test_the_service_selects_by_deployment_and_the_workload_by_pool() -> None:
    two = serving(Pool("one", "dra", 1, claim=CLAIM), Pool("two", "dra", 1, claim=CLAIM))
    assert "claimyard.dev/pool" not in made("Service", two)["spec"]["selector"]
    selectors = [
        one["spec"]["selector"]["matchLabels"] for one in render(two) if one["kind"] == "Deployment"
    ]
    assert selectors[0] != selectors[1]


def test_on_the_device_plugin_path_there_are_limits_and_node_labels() -> None:
    requirements = (
        {"key": "product", "operator": "In", "values": ["H100"]},
        {"key": "memory", "operator": "Gt", "values": ["40959"]},
    )
    pool = Pool("main", "device-plugin", 1, limits={"nvidia.com/gpu": 2}, requirements=requirements)
    whole = serving(pool, memory="64Gi")
    pod = made("Deployment", whole)["spec"]["template"]["spec"]
    assert container(whole)["resources"]["limits"] == {"memory": "64Gi", "nvidia.com/gpu": "2"}
    assert pod["nodeSelector"] == {"product": "H100"}
    affinity = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert affinity["nodeSelectorTerms"][0]["matchExpressions"] == [requirements[1]]
    assert not any(one["kind"] == "ResourceClaimTemplate" for one in render(whole))


def test_secrets_go_by_reference() -> None:
    env = [Env("TOKEN", secret="hub", key="token"), Env("LEVEL", "info")]
    assert container(serving(env=env))["env"] == [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        {"name": "LEVEL", "value": "info"},
    ]


@pytest.mark.parametrize(
    ("runtime", "args", "devices", "extra"),
    [
        ("vllm", (), 1, ()),
        ("vllm", (), 4, ("--tensor-parallel-size=4",)),
        ("vllm", ("--tensor-parallel-size=2",), 4, ()),
        ("vllm", ("-tp", "2"), 4, ()),
        ("own", (), 4, ()),
    ],
)
def test_a_server_is_told_of_all_its_devices(
    runtime: Any, args: tuple[str, ...], devices: int, extra: tuple[str, ...]
) -> None:
    assert parallel_args(runtime, args, devices) == extra


HOSTILE = st.text(min_size=1, max_size=200).filter(str.isprintable)


@given(value=HOSTILE, arg=HOSTILE)
def test_any_text_survives_yaml_and_stays_in_its_place(value: str, arg: str) -> None:
    whole = serving(env=[Env("A", value)], args=[arg])
    objects = render(whole)
    text = "---\n".join(diffs.to_yaml(one) for one in objects)
    assert list(yaml.safe_load_all(text)) == objects
    found = container(whole)
    assert found["env"] == [{"name": "A", "value": value}]
    assert found["args"][-1] == arg


@pytest.mark.parametrize(
    "image",
    ["", "UPPER/x", "a b", "x:tag:tag", "-x", "x\n", "a/../b", "x@sha256:12", "a" * 301, "$(id)"],
)
def test_what_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        preset("vllm", image=image, model="m")
    assert refused.value.field == "image"


@pytest.mark.parametrize(
    "image",
    ["vllm", "vllm/vllm-openai:v0.33.0", "localhost:5000/a/b:1", "x.io/y@sha256:" + "0" * 64],
)
def test_images_as_registries_name_them(image: str) -> None:
    assert preset("vllm", image=image, model="m").image == image


@pytest.mark.parametrize(
    ("own", "field"),
    [
        (OwnImage(port=0), "port"),
        (OwnImage(ready_path="health"), "ready_path"),
        (OwnImage(live_path="/x\ny"), "live_path"),
        (OwnImage(command=("",)), "command[0]"),
    ],
)
def test_an_own_image_is_checked_field_by_field(own: OwnImage, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        preset("own", image="x", own=own)
    assert refused.value.field == field


def test_an_own_image_keeps_its_command_and_paths() -> None:
    own = OwnImage(port=9000, command=("serve",), ready_path="/ready", live_path="/live")
    server = preset("own", image="x", own=own, args=["--a"])
    assert (server.port, server.command, server.args) == (9000, ("serve",), ("--a",))
    assert (server.startup.path, server.liveness.path) == ("/ready", "/live")
    assert replace(server, port=1).port == 1
