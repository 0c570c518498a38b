from typing import Any

import pytest

from domain.asked import Asked, asked_from


def asked(**changes: Any) -> Asked:
    """A request for one replica with one card."""
    return asked_from(
        {
            "name": "llama",
            "cluster": "lab",
            "image": "docker.io/vllm/vllm-openai:v0.33.0",
            "model": "meta-llama/Llama-3.1-8B",
            "pools": [{"pattern": "h100-cards"}],
        }
        | changes
    )


def pools(replicas: int, **params: Any) -> list[dict[str, Any]]:
    return [{"pattern": "h100-cards", "replicas": replicas, "params": params}]


@pytest.fixture
def ready(pattern: Any, quota: Any, namespace: Any) -> None:
    """Everything that a deployment needs: class, pattern, namespace, quota."""
