"""The command line of a model server, read as far as its behaviour depends on it."""

from dataclasses import dataclass

# Flags that vLLM 0.33 knows and that change nothing here; those ending in = take a value.
_VALUES = """
additional-config api-key block-size chat-template compilation-config config cpu-offload-gb
data-parallel-size distributed-executor-backend download-dir dtype
generation-config gpu-memory-utilization hf-overrides hf-token host kv-cache-dtype kv-events-config
kv-transfer-config limit-mm-per-prompt load-format lora-modules max-log-len max-lora-rank max-loras
max-model-len max-num-batched-tokens max-num-queued-reqs max-num-queued-tokens max-num-seqs model
model-impl override-generation-config pipeline-parallel-size port quantization reasoning-parser
revision root-path rope-scaling scheduling-policy seed served-model-name shutdown-timeout
speculative-config ssl-certfile ssl-keyfile swap-space task tensor-parallel-size tokenizer
tokenizer-mode tool-call-parser uvicorn-log-level
""".split()  # noqa: SIM905 - a list of words reads better as words
_SWITCHES = """
async-scheduling disable-log-stats disable-access-log-for-endpoints disable-frontend-multiprocessing
disable-log-requests disable-uvicorn-access-log enable-auto-tool-choice enable-chunked-prefill
enable-expert-parallel enable-fault-tolerance enable-lora enable-prefix-caching
enable-prompt-tokens-details enable-sleep-mode enforce-eager no-enable-chunked-prefill
no-enable-log-requests no-enable-prefix-caching enable-log-requests trust-remote-code
""".split()  # noqa: SIM905

_SHORT = {
    "-tp": "tensor-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-dp": "data-parallel-size",
    "-q": "quantization",
}


class BadArguments(Exception):
    """The server ends with code 2; the text is the last line of its log."""


@dataclass(frozen=True, slots=True)
class Arguments:
    model: str
    served_name: str
    port: int
    parallel: int
    utilization: float
    max_running: int
    max_length: int
    shutdown_seconds: float
    caching: bool


def parse(words: list[str]) -> Arguments:
    """Raises BadArguments as argparse would end the server."""
    given, loose = _split(words)
    loose = [word for word in loose if word not in {"vllm", "serve"}]
    model = given.get("model") or (loose[0] if loose else "")
    if not model:
        raise BadArguments("api_server.py: error: the following arguments are required: --model")
    if ("model" in given and loose) or len(loose) > 1:
        raise BadArguments(f"api_server.py: error: unrecognized arguments: {' '.join(loose)}")
    return Arguments(
        model=model,
        served_name=given.get("served-model-name") or model,
        port=_whole(given, "port", 8000),
        parallel=_whole(given, "tensor-parallel-size", 1)
        * _whole(given, "pipeline-parallel-size", 1),
        utilization=_share(given, "gpu-memory-utilization", 0.9),
        max_running=max(_whole(given, "max-num-seqs", 256), 1),
        max_length=_length(given),
        shutdown_seconds=float(_whole(given, "shutdown-timeout", 0)),
        caching="no-enable-prefix-caching" not in given,
    )


def _split(words: list[str]) -> tuple[dict[str, str], list[str]]:
    given: dict[str, str] = {}
    loose: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if not flag.startswith("-"):
            loose.append(word)
            continue
        # As the server's parser does: short names, and underscores for dashes.
        name = _SHORT.get(flag, flag.removeprefix("--").replace("_", "-"))
        if name in _SWITCHES:
            given[name] = "true"
        elif name in _VALUES:
            if not equals:
                if not rest:
                    raise BadArguments(
                        f"api_server.py: error: argument --{name}: expected one argument"
                    )
                value = rest.pop(0)
            given[name] = value
        else:
            raise BadArguments(f"api_server.py: error: unrecognized arguments: {word}")
    return given, loose


def _whole(given: dict[str, str], name: str, default: int) -> int:
    value = given.get(name)
    if value is None:
        return default
    if not value.isdigit():
        raise BadArguments(f"api_server.py: error: argument --{name}: invalid int value: {value!r}")
    return int(value)


def _length(given: dict[str, str]) -> int:
    """`32k` and `1M` are accepted as the server accepts them; 0 when not given."""
    value = given.get("max-model-len", "0")
    if value == "auto":
        return 0
    scale = {"k": 1000, "m": 10**6, "K": 1024, "M": 2**20}.get(value[-1:], 0)
    if scale and value[:-1].isdigit():
        return int(value[:-1]) * scale
    return _whole(given, "max-model-len", 0)


def _share(given: dict[str, str], name: str, default: float) -> float:
    value = given.get(name)
    if value is None:
        return default
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise BadArguments(
            f"api_server.py: error: argument --{name}: invalid float value: {value!r}"
        )
    return share
