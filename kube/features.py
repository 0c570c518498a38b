"""What a cluster can do for us, by what it serves; never by its version number, since APIs are
switched on and off apart from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Feature:
    """Something a page or a deployment may need. `apis` are the keys of which one must be served;
    `without` says what a cluster lacks that has none of them."""

    code: str
    name: str
    apis: tuple[str, ...]
    without: str
    is_required: bool = False


FEATURES: tuple[Feature, ...] = (
    Feature(
        "dra",
        "Dynamic Resource Allocation",
        ("resource.k8s.io/v1/resourceslices",),
        "Devices are seen only as far as device plugins count them; claims cannot be used. "
        "Kubernetes 1.34 or later serves resource.k8s.io/v1.",
    ),
    Feature(
        "taint-rules",
        "Device taint rules",
        ("resource.k8s.io/v1/devicetaintrules",),
        "Devices can be taken out of service only by their driver (served from 1.37 on).",
    ),
    Feature(
        "admission-policies",
        "Admission policies in CEL",
        ("admissionregistration.k8s.io/v1/validatingadmissionpolicies",),
        "Tenants cannot be held to approved claims, so they get no write access of their own.",
    ),
    Feature(
        "routes",
        "Gateway API",
        ("gateway.networking.k8s.io/v1/httproutes",),
        "Deployments are reachable by their Service only.",
    ),
    Feature(
        "inference-pools",
        "Inference pools",
        (
            "inference.networking.k8s.io/v1/inferencepools",
            "inference.networking.x-k8s.io/v1alpha2/inferencepools",
        ),
        "Requests are spread by the Service, without looking at caches.",
    ),
    Feature(
        "leader-worker-sets",
        "LeaderWorkerSet",
        (
            "leaderworkerset.x-k8s.io/v1/leaderworkersets",
            "leaderworkerset.x-k8s.io/v1beta1/leaderworkersets",
        ),
        "Models must fit on one node.",
    ),
    Feature(
        "kserve",
        "KServe",
        (
            "serving.kserve.io/v1beta1/inferenceservices",
            "serving.kserve.io/v1alpha1/llminferenceservices",
        ),
        "Deployments are plain Kubernetes workloads.",
    ),
    Feature(
        "kuberay",
        "KubeRay",
        ("ray.io/v1/rayservices",),
        "Ray Serve applications cannot be deployed.",
    ),
    Feature(
        "kueue",
        "Kueue",
        ("kueue.x-k8s.io/v1beta2/clusterqueues", "kueue.x-k8s.io/v1beta1/clusterqueues"),
        "Pods start as soon as they fit; there is no queue.",
    ),
    Feature(
        "gpu-operator",
        "NVIDIA GPU Operator",
        ("nvidia.com/v1/clusterpolicies", "nvidia.com/v1alpha1/gpuclusters"),
        "Drivers and MIG layouts are looked after by other means.",
    ),
    Feature(
        "service-monitors",
        "Prometheus Operator",
        ("monitoring.coreos.com/v1/servicemonitors",),
        "Prometheus has to be told of model servers by hand.",
    ),
)


def found(served: Collection[str]) -> dict[str, bool]:
    """Each feature's code and whether the cluster has it; `served` as `Cluster.resources()`."""
    return {feature.code: any(api in served for api in feature.apis) for feature in FEATURES}
