"""The command line of a model server, read as far as its behaviour depends on it."""

from dataclasses import dataclass

# Flags that vLLM 0.33 knows, with a value and without; most change nothing here.
_VALUES = """
additional-config all2all-backend allowed-headers allowed-local-media-path allowed-methods
allowed-origins api-key api-server-count attention-backend block-size chat-template
chat-template-content-format code-revision collect-detailed-traces compilation-config config
config-format convert cpu-offload-gb cuda-graph-sizes custom-histogram-buckets
data-parallel-address data-parallel-backend data-parallel-rank data-parallel-rpc-port
data-parallel-size data-parallel-size-local distributed-executor-backend download-dir dtype
eplb-config generation-config gpu-memory-utilization guided-decoding-backend hf-config-path
hf-overrides hf-token host io-processor-plugin kv-cache-dtype kv-events-config
kv-offloading-backend kv-offloading-size kv-transfer-config limit-mm-per-prompt load-format
log-config-file logits-processors logprobs-mode long-prefill-token-threshold lora-modules
mamba-cache-dtype mamba-ssm-cache-dtype master-addr master-port max-log-len max-logprobs
max-long-partial-prefills max-lora-rank max-loras max-model-len max-num-batched-tokens
max-num-partial-prefills max-num-queued-reqs max-num-queued-tokens max-num-seqs
max-parallel-loading-workers middleware mm-encoder-tp-mode mm-processor-cache-gb
mm-processor-kwargs model model-impl model-loader-extra-config nnodes node-rank
num-gpu-blocks-override otlp-traces-endpoint override-generation-config override-pooler-config
pipeline-parallel-size pooler-config port prefix-caching-hash-algo quantization reasoning-parser
response-role revision root-path rope-scaling rope-theta runner scheduler-cls scheduling-policy
seed served-model-name show-hidden-metrics-for-version shutdown-timeout speculative-config
ssl-ca-certs ssl-cert-reqs ssl-certfile ssl-keyfile structured-outputs-config swap-space task
tensor-parallel-size tokenizer tokenizer-mode tokenizer-revision tool-call-parser
tool-parser-plugin tool-server uvicorn-log-level worker-cls worker-extension-cls
""".split()  # noqa: SIM905
_SWITCHES = """
async-scheduling calculate-kv-scales disable-access-log-for-endpoints disable-cascade-attn
disable-custom-all-reduce disable-fastapi-docs disable-frontend-multiprocessing
disable-hybrid-kv-cache-manager disable-log-requests disable-log-stats disable-sliding-window
disable-uvicorn-access-log enable-auto-tool-choice enable-chunked-prefill enable-dbo enable-eplb
enable-expert-parallel enable-fault-tolerance enable-force-include-usage enable-log-outputs
enable-log-requests enable-lora enable-lora-bias enable-mm-embeds enable-prefix-caching
enable-prompt-embeds enable-prompt-tokens-details enable-request-id-headers
enable-server-load-tracking enable-sleep-mode enable-ssl-refresh enable-tokenizer-info-endpoint
enforce-eager exclude-tools-when-tool-choice-none fully-sharded-loras headless
interleave-mm-strings kv-sharing-fast-prefill language-model-only no-async-scheduling
no-enable-chunked-prefill no-enable-expert-parallel no-enable-log-requests no-enable-prefix-caching
ray-workers-use-nsight return-tokens-as-token-ids skip-mm-profiling skip-tokenizer-init
trust-remote-code use-tqdm-on-load
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
