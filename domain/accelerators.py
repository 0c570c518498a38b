"""Which drivers, resources and labels speak of accelerators, and what they mean by their words.

Sources: the drivers' own code and documentation (NVIDIA, AMD, Intel, Google, HAMi). A driver that
is not named here is taken for one that publishes whole accelerators, unless it marks partitions.
"""

from __future__ import annotations

import re

# Slices of these publish channels, networks and CPUs; none of them is a card.
OTHER_DRIVERS = frozenset(
    {
        "compute-domain.nvidia.com",
        "dra.net",
        "dra.cpu",
        "dra.memory",
        "dranet.net",
        "sriovnetwork.k8snetworkplumbingwg.io",
        "sriovnetwork.openshift.io",
    }
)
PARTITION_TYPES = frozenset({"mig", "amdgpu-partition", "partition"})
OTHER_TYPES = frozenset({"channel", "daemon", "nic", "cpu"})

# Labels worth keeping with a node: accelerators, where it is, who made it.
LABEL_PREFIXES = (
    "nvidia.com/",
    "amd.com/",
    "gpu.intel.com/",
    "intel.feature.node.kubernetes.io/",
    "habana.ai/",
    "tpu.google.com/",
    "cloud.google.com/gke-",
    "hami.io/",
    "topology.kubernetes.io/",
    "topology.k8s.aws/network-node-layer",
    "cloud.google.com/gce-topology-",
    "oci.oraclecloud.com/rdma.",
    "kueue.x-k8s.io/topology",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/hostname",
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "hypershift.openshift.io/nodePool",
    "claimyard.dev/node-pool",
)

_WHOLE = re.compile(
    r"nvidia\.com/gpu(\.shared)?|amd\.com/gpu|gpu\.intel\.com/(i915|xe)|habana\.ai/gaudi"
    r"|google\.com/tpu|aws\.amazon\.com/neuron(device)?|huawei\.com/Ascend[0-9A-Z]+"
)
_MIG = re.compile(r"nvidia\.com/mig-(?P<profile>[0-9]+g\.[0-9]+gb[a-z0-9.+-]*?)(\.shared)?")
_AMD_PARTITION = re.compile(r"amd\.com/(?P<profile>[sdqct]px_nps[0-9])")

_HANDED_OUT = re.compile(r"(-MIG-[0-9]+g\.[0-9]+gb[a-z0-9.+]*|-MIG-INVALID)?(-SHARED)?\Z")
_BOARD = re.compile(r"\b[A-Z]+[0-9]+-(SXM[0-9]?|PCIE)-[0-9]+GB\b")
_PROFILE = re.compile(r"(?:([0-9]+)c\.)?([0-9]+)g\.([0-9]+)gb")
_SMALL = re.compile(r"\bA30\b|\bRTX PRO [0-9]+\b")
MIG_NAME = re.compile(r"(gpu-[0-9]+)-mig-.+")


def is_accelerator(resource: str) -> bool:
    """True for the resource names that device plugins give to accelerators and parts of them."""
    return bool(
        _WHOLE.fullmatch(resource) or _MIG.fullmatch(resource) or _AMD_PARTITION.fullmatch(resource)
    )


def is_whole(resource: str) -> bool:
    """True where one unit is a card, or a share of one."""
    return bool(_WHOLE.fullmatch(resource))


def profile_of(resource: str) -> str:
    """The partition type of a resource name, "" for whole cards: "nvidia.com/mig-1g.10gb"."""
    found = _MIG.fullmatch(resource) or _AMD_PARTITION.fullmatch(resource)
    return found["profile"] if found else ""


def is_renamed_share(resource: str) -> bool:
    """The plugin's `renameByDefault`: the name itself says that a unit is a share."""
    return resource.endswith(".shared")


def spelled(label: str) -> str:
    """A product as its driver spells it, from feature discovery's label, which puts hyphens for
    blanks and says in a suffix how the card is handed out: "NVIDIA-H100-80GB-HBM3-SHARED".

    Boards before Hopper have hyphens of their own ("NVIDIA A100-SXM4-80GB"), which stay.
    """
    plain = _HANDED_OUT.sub("", label)
    kept = _BOARD.sub(lambda found: found[0].replace("-", "\0"), plain)
    return kept.replace("-", " ").replace("_", " ").replace("\0", "-")


def profile_key(profile: str) -> tuple[int, int, str]:
    """Sorts profiles as people list them: 1g.10gb before 2g.20gb before 7g.80gb."""
    found = _PROFILE.match(profile)
    return (int(found[2]), int(found[3]), profile) if found else (99, 0, profile)


def memory_slices(product: str) -> int:
    """How many memory slices a card is cut into: eight, but for the smaller cards four."""
    return 4 if _SMALL.search(product) else 8


def compute_slices(profile: str) -> int | None:
    """How many of a card's compute slices a MIG profile takes: 3 for "3g.40gb"."""
    found = _PROFILE.match(profile)
    return int(found[2]) if found else None
