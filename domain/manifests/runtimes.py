"""Runtime presets: how to start, probe and drain a model server.

vLLM: `/v1/models` answers only once the model is loaded, `/health` once the engine is up; requests
under way are aborted on SIGTERM unless --shutdown-timeout is given. A liveness probe without a
startup probe would kill the server while it loads.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from domain import quantity
from domain.errors import InvalidValue
from domain.manifests.spec import Drain, Env, Probe, Server
from domain.patterns.names import is_label_key, is_subdomain

Runtime = Literal["vllm", "own"]

VLLM_PORT = 8000
LONGEST_ARGUMENT = 4000
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,252}")
_IMAGE = re.compile(
    r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?::[0-9]{1,5})?"  # registry, or the first part of a path
    r"(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)


@dataclass(frozen=True, slots=True)
class OwnImage:
    """What we cannot know of an image that is not one of the presets."""

    port: int = 8080
    command: tuple[str, ...] = ()
    ready_path: str = "/health"
    live_path: str = "/health"
    metrics_path: str = "/metrics"


def preset(
    runtime: Runtime,
    *,
    image: str,
    model: str = "",
    served_name: str = "",
    args: Sequence[str] = (),
    env: Sequence[Env] = (),
    cpu: str = "",
    memory: str = "",
    startup_minutes: int = 30,
    own: OwnImage = OwnImage(),
) -> Server:
    """The server that a runtime makes of what a tenant gave; raise InvalidValue with the field."""
    _check_image(image)
    _check_texts(args, "args")
    _check_env(env)
    _check_size(cpu, "cpu")
    _check_size(memory, "memory")
    if not 1 <= startup_minutes <= 180:
        raise InvalidValue("Starting may take 1 to 180 minutes.", field="startup_minutes")
    if runtime == "vllm":
        return _vllm(image, model, served_name, args, env, cpu, memory, startup_minutes)
    return _own(image, args, env, cpu, memory, startup_minutes, own)


def _vllm(
    image: str,
    model: str,
    served_name: str,
    args: Sequence[str],
    env: Sequence[Env],
    cpu: str,
    memory: str,
    startup_minutes: int,
) -> Server:
    if not model or model.startswith("-") or len(model) > 300 or not model.isprintable():
        raise InvalidValue("Name the model, such as meta-llama/Llama-3.1-8B.", field="model")
    drain = Drain()
    fixed = [
        model,
        f"--port={VLLM_PORT}",
        *([f"--served-model-name={served_name}"] if served_name else []),
        f"--shutdown-timeout={drain.finish_seconds}",
    ]
    return Server(
        image=image,
        port=VLLM_PORT,
        command=("vllm", "serve"),
        args=(*fixed, *args),
        env=tuple(env),
        cpu=cpu,
        memory=memory,
        startup=Probe("/v1/models", 10, startup_minutes * 6),
        readiness=Probe("/v1/models", 5, 3),
        liveness=Probe("/health", 10, 3),
        drain=drain,
    )


def _own(
    image: str,
    args: Sequence[str],
    env: Sequence[Env],
    cpu: str,
    memory: str,
    startup_minutes: int,
    own: OwnImage,
) -> Server:
    if not 1 <= own.port <= 65535:
        raise InvalidValue("A port is a number from 1 to 65535.", field="port")
    _check_texts(own.command, "command")
    for field in ("ready_path", "live_path", "metrics_path"):
        _check_path(getattr(own, field), field)
    return Server(
        image=image,
        port=own.port,
        command=own.command,
        args=tuple(args),
        env=tuple(env),
        cpu=cpu,
        memory=memory,
        startup=Probe(own.ready_path, 10, startup_minutes * 6),
        readiness=Probe(own.ready_path, 5, 3),
        liveness=Probe(own.live_path, 10, 3),
        metrics_path=own.metrics_path,
    )


def parallel_args(runtime: Runtime, args: Sequence[str], devices: int) -> tuple[str, ...]:
    """vLLM uses one device unless told otherwise; what the tenant says goes first."""
    flag = "--tensor-parallel-size"
    told = any(one.split("=")[0] in (flag, "-tp", "--pipeline-parallel-size") for one in args)
    if runtime != "vllm" or devices <= 1 or told:
        return ()
    return (f"{flag}={devices}",)


def is_image(image: str) -> bool:
    """Whether this can name an image; nothing is asked of a registry."""
    return len(image) <= 300 and _IMAGE.fullmatch(image) is not None


def _check_image(image: str) -> None:
    if not is_image(image):
        raise InvalidValue(
            "This is not an image such as docker.io/vllm/vllm-openai:v0.33.0.", field="image"
        )


def _check_texts(texts: Sequence[str], field: str) -> None:
    if len(texts) > 100:
        raise InvalidValue("At most 100 arguments.", field=field)
    for index, text in enumerate(texts):
        if not is_plain(text, longest=LONGEST_ARGUMENT):
            raise InvalidValue(
                f"An argument is a line of {LONGEST_ARGUMENT} printable characters at most.",
                field=f"{field}[{index}]",
            )


def is_plain(text: str, *, longest: int) -> bool:
    """A line without control characters or broken Unicode, which YAML and JSON both carry."""
    return 0 < len(text) <= longest and text.isprintable()


def _check_path(path: str, field: str) -> None:
    if not path.startswith("/") or not path.isascii() or not is_plain(path, longest=200):
        raise InvalidValue("A path starts with / and has 200 characters at most.", field=field)


def _check_size(text: str, field: str) -> None:
    if not text:
        return
    try:
        usable = len(text) <= 24 and quantity.parse(text) > 0
    except quantity.BadQuantity:
        usable = False
    if not usable:
        raise InvalidValue("Use a quantity such as 8 or 64Gi.", field=field)


def _check_env(env: Sequence[Env]) -> None:
    if len(env) > 100:
        raise InvalidValue("At most 100 variables.", field="env")
    seen: set[str] = set()
    for index, one in enumerate(env):
        field = f"env[{index}]"
        if _VARIABLE.fullmatch(one.name) is None or one.name in seen:
            raise InvalidValue(
                "A variable's name has letters, digits and underscores, and is used once.",
                field=f"{field}.name",
            )
        seen.add(one.name)
        _check_variable(one, field)


def _check_variable(one: Env, field: str) -> None:
    if one.secret and one.value:
        raise InvalidValue("Give a value or a Secret, one of them.", field=field)
    if one.secret and not (is_subdomain(one.secret) and is_label_key(one.key)):
        raise InvalidValue("Name a Secret and a key in it.", field=f"{field}.secret")
    if one.value and not is_plain(one.value, longest=LONGEST_ARGUMENT):
        raise InvalidValue("A value is one line of printable text.", field=f"{field}.value")
