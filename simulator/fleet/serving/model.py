"""How large and how fast a model is on given cards, from its name and the data sheets.

Weights come from the parameter count in the name (`Llama-3.1-8B`, `Qwen3-30B-A3B`, `…-FP8`); a
decode step reads them once, a prompt token costs two operations a parameter. The efficiencies are
what such servers commonly reach of the sheet's peak.
"""

import re
from dataclasses import dataclass

from simulator.fleet.serving.engine import EngineConfig

_MIB = 2**20
_BANDWIDTH_REACHED = 0.6
_COMPUTE_REACHED = 0.45
_STEP_OVERHEAD = 0.003
_ACTIVATIONS_MIB = 1536


@dataclass(frozen=True, slots=True)
class Share:
    """What of a card a container got; fraction is of its compute and bandwidth."""

    memory_mib: int
    tflops: float
    bandwidth_gbps: float


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    parameters: float
    active: float
    bytes_each: float

    @property
    def weights_mib(self) -> int:
        return int(self.parameters * self.bytes_each / _MIB)

    @property
    def kv_bytes(self) -> int:
        """Bytes of keys and values for one token: 128 KiB at 8B, 320 KiB at 70B."""
        return int(131072 * (self.parameters / 8e9) ** 0.42)


def model_of(name: str) -> Model:
    """A name without a size counts as 8B."""
    text = name.lower()
    sizes = re.findall(r"(?<![a-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", text)
    experts, size = sizes[0] if sizes else ("", "8")
    parameters = float(size) * 1e9 * (int(experts) if experts else 1)
    active = re.search(r"(?<![a-z0-9])a(\d+(?:\.\d+)?)b(?![a-z0-9])", text)
    used = float(active[1]) * 1e9 if active else parameters / (int(experts) / 2 if experts else 1)
    return Model(name, parameters, used, _bytes_each(text))


def _bytes_each(text: str) -> float:
    if re.search(r"awq|gptq|int4|fp4|w4a16", text):
        return 0.55
    return 1.0 if re.search(r"fp8|int8|w8a8", text) else 2.0


class OutOfMemory(Exception):
    """The model does not fit; the text is what the server's log says."""


def engine_config(
    model: Model, shares: list[Share], *, utilization: float, max_running: int, max_length: int
) -> EngineConfig:
    """Raises OutOfMemory in the words of the server."""
    count = len(shares)
    smallest = min(share.memory_mib for share in shares)
    weights = model.weights_mib / count
    if weights > smallest:
        raise OutOfMemory(
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
            f"{weights / 64:.2f} MiB. GPU 0 has a total capacity of {smallest / 1024:.2f} GiB"
        )
    cache_mib = smallest * utilization - weights - _ACTIVATIONS_MIB
    blocks = int(cache_mib * _MIB * count // (16 * model.kv_bytes))
    if blocks <= 0:
        raise OutOfMemory(
            "ValueError: No available memory for the cache blocks. Try increasing "
            "`gpu_memory_utilization` when initializing the engine."
        )
    if max_length > blocks * 16:
        needed = max_length * model.kv_bytes / 2**30 / count
        raise OutOfMemory(
            f"ValueError: To serve at least one request with the models's max seq len "
            f"({max_length}), ({needed:.2f} GiB KV cache is needed, which is larger than the "
            f"available KV cache memory ({cache_mib / 1024:.2f} GiB)."
        )
    bandwidth = sum(share.bandwidth_gbps for share in shares) * 1e9 * _BANDWIDTH_REACHED
    compute = sum(share.tflops for share in shares) * 1e12 * _COMPUTE_REACHED
    return EngineConfig(
        blocks=blocks,
        step_seconds=model.active * model.bytes_each / bandwidth + _STEP_OVERHEAD,
        prefill_token_seconds=2 * model.active / compute,
        context_token_seconds=model.kv_bytes / bandwidth,
        max_running=max_running,
    )
