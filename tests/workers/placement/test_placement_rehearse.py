"""Replica after replica onto what is free, through the worker's answerer."""

from types import SimpleNamespace
from typing import Any

import pytest

from domain.errors import InvalidValue
from domain.placement import Features, Fleet
from workers.placement.rehearsing import rehearse

GPU = "gpu.nvidia.com"


def snapshot(cards: int) -> Any:
    devices = [
        {"name": f"gpu-{n}", "attributes": {"type": {"string": "gpu"}}} for n in range(cards)
    ]
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    objects = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "n1"},
            "spec": {"driver": GPU, "nodeName": "n1", "pool": pool, "devices": devices},
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": GPU},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{GPU}'"}}]},
        },
    ]
    return SimpleNamespace(fleet=Fleet.build(objects), features=Features.preset("1.37"))


def asked(key: str, replicas: int, count: int = 1) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": GPU, "count": count}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "a", "name": "c"},
        "spec": {"devices": {"requests": [request]}},
    }
    return {"key": key, "claims": [claim], "replicas": replicas}


def test_what_came_before_is_taken() -> None:
    answer = rehearse(snapshot(4), {"workloads": [asked("a", 3), asked("b", 2)]})
    first, second = answer["workloads"]
    assert (first["fits"], first["nodes"]) == (3, {"n1": 3})
    assert (second["fits"], second["looked_at"]) == (1, 2)
    assert second["funnels"]
    assert not answer["partial"]


def test_what_is_too_large_fits_not_at_all() -> None:
    [line] = rehearse(snapshot(2), {"workloads": [asked("a", 2, count=4)]})["workloads"]
    assert (line["fits"], line["looked_at"]) == (0, 2)


@pytest.mark.parametrize(
    "workloads",
    ["a", [1], [{"key": "a", "replicas": "2"}], [{"key": "a", "replicas": 10**6, "claims": []}]],
)
def test_questions_that_make_no_sense_are_refused(workloads: Any) -> None:
    with pytest.raises(InvalidValue):
        rehearse(snapshot(1), {"workloads": workloads})
