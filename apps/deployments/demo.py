"""What the demo shows: three teams on one cluster, made by the same services as everything else."""

from typing import Any

GPU = "gpu.nvidia.com"


def _selector(kind: str, product: str) -> str:
    return (
        f'device.driver == "{GPU}" && '
        f'device.attributes["{GPU}"].?type.orValue("") == "{kind}" && '
        f'device.attributes["{GPU}"].?productName.orValue("").startsWith("{product}")'
    )


CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "h100": (
        "Whole NVIDIA H100 80 GB cards with NVLink",
        {"selectors": [_selector("gpu", "NVIDIA H100")]},
    ),
    "a100-mig": (
        "Partitions of NVIDIA A100 80 GB cards",
        {"selectors": [_selector("mig", "NVIDIA A100")]},
    ),
    "l40s": (
        "Whole NVIDIA L40S 48 GB cards",
        {"selectors": [_selector("gpu", "NVIDIA L40S")]},
    ),
}

_PROFILES = ["1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"]


def _count(most: int) -> dict[str, Any]:
    return {"name": "count", "kind": "count", "label": "Cards", "default": 1, "most": most}


PATTERNS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "h100-cards": (
        "H100 cards",
        "One to eight whole H100 cards of one node, for models up to some 300 billion parameters",
        {
            "parameters": [
                _count(8),
                {
                    "name": "memory",
                    "kind": "memory",
                    "label": "Memory of each card, at least",
                    "default": "40Gi",
                    "least": "1Gi",
                    "most": "80Gi",
                },
            ],
            "requests": [
                {
                    "name": "gpus",
                    "device_class": "h100",
                    "count_parameter": "count",
                    "terms": [{"op": "at-least", "key": f"{GPU}/memory", "parameter": "memory"}],
                }
            ],
            "device_plugin": {
                "resource": "nvidia.com/gpu",
                "node_labels": [
                    {
                        "op": "equals",
                        "label": "nvidia.com/gpu.product",
                        "value": "NVIDIA-H100-80GB-HBM3",
                    },
                    {
                        "op": "at-least",
                        "label": "nvidia.com/gpu.memory",
                        "parameter": "memory",
                    },
                ],
            },
        },
    ),
    "a100-partition": (
        "A100 partition",
        "One MIG partition of an A100, for small models and experiments",
        {
            "parameters": [
                {
                    "name": "profile",
                    "kind": "choice",
                    "label": "MIG profile",
                    "default": "2g.20gb",
                    "choices": _PROFILES,
                }
            ],
            "requests": [
                {
                    "name": "partition",
                    "device_class": "a100-mig",
                    "terms": [{"op": "equals", "key": f"{GPU}/profile", "parameter": "profile"}],
                }
            ],
            "device_plugin": {
                "parameter": "profile",
                "resource_by_choice": {
                    profile: f"nvidia.com/mig-{profile}" for profile in _PROFILES
                },
            },
        },
    ),
    "l40s-card": (
        "L40S cards",
        "Whole L40S cards, by claims or through the device plugin",
        {
            "parameters": [_count(4)],
            "requests": [{"name": "gpus", "device_class": "l40s", "count_parameter": "count"}],
            "device_plugin": {
                "resource": "nvidia.com/gpu",
                "node_labels": [
                    {"op": "equals", "label": "nvidia.com/gpu.product", "value": "NVIDIA-L40S"}
                ],
            },
        },
    ),
}

#: The pattern that waits for the approver when the demo starts.
WAITING = (
    "h100-pair",
    "H100 pair on one PCIe root",
    "Two cards that share a PCIe root complex, for tensor parallelism without NVLink",
    {
        "parameters": [],
        "requests": [{"name": "gpus", "device_class": "h100", "count": 2}],
        "match_attributes": ["resource.kubernetes.io/pcieRoot"],
    },
)

TENANTS: dict[str, tuple[str, dict[str, int]]] = {
    "chat": ("Chat assistants", {"h100": 8, "a100-mig": 2}),
    "search": ("Search and ranking", {"a100-mig": 6, "l40s": 4, "h100": 2}),
    "research": ("Research", {"h100": 8, "l40s": 4}),
}

IMAGE = "docker.io/vllm/vllm-openai:v0.33.0"


def _pool(pattern: str, replicas: int, path: str = "dra", **params: Any) -> list[dict[str, Any]]:
    return [{"pattern": pattern, "replicas": replicas, "params": params, "path": path}]


# The simulated cluster has this Gateway, and its pickers need no real image.
GATEWAY: dict[str, Any] = {
    "namespace": "gateways",
    "name": "shared",
    "domain": "models.example.com",
    "picker_image": "registry.example.com/endpoint-picker:v1.5.0",
}

DEPLOYMENTS: list[tuple[str, dict[str, Any]]] = [
    (
        "chat",
        {
            "name": "llama-8b",
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "pools": _pool("h100-cards", 2, count=1, memory="40Gi"),
        },
    ),
    # On the device plugin still: the demo's first migration moves it.
    (
        "chat",
        {
            "name": "assistant",
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "pools": _pool("h100-cards", 2, path="device-plugin", count=1),
        },
    ),
    (
        "search",
        {
            "name": "embedder",
            "model": "Qwen/Qwen3-4B",
            "pools": _pool("a100-partition", 2, profile="2g.20gb"),
        },
    ),
    (
        "search",
        {
            "name": "ranker",
            "model": "Qwen/Qwen3-8B",
            "pools": _pool("h100-cards", 1, path="device-plugin", count=1),
        },
    ),
    # Waits for ever: an 80 GB card has 79.6 GiB, as the funnel of its claim shows.
    (
        "research",
        {
            "name": "mixtral",
            "model": "mistralai/Mixtral-8x7B-Instruct-v0.1",
            "pools": _pool("h100-cards", 1, count=2, memory="80Gi"),
        },
    ),
]
