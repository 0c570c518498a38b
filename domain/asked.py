"""What somebody asks for when they deploy a model: one shape for form, YAML and API."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from domain import plainyaml
from domain.errors import InvalidValue
from domain.manifests.runtimes import OwnImage, Runtime, preset
from domain.manifests.spec import Env, Path, Server

LARGEST_YAML = 64 * 1024
MOST_REPLICAS = 1000


@dataclass(frozen=True, slots=True)
class PoolAsked:
    """`version` 0 means the newest approved version of the pattern; `weight` None says nothing
    about its part of the requests, see domain.routing.weights."""

    pattern: str
    replicas: int = 1
    params: Mapping[str, int | str] = field(default_factory=dict)
    path: Path = "dra"
    version: int = 0
    name: str = "main"
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    name: str
    cluster: str
    image: str
    pools: tuple[PoolAsked, ...]
    runtime: Runtime = "vllm"
    model: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Env, ...] = ()
    cpu: str = ""
    memory: str = ""
    startup_minutes: int = 30
    own: OwnImage = field(default_factory=OwnImage)

    def server(self) -> Server:
        """The container to run; raise InvalidValue naming the field."""
        return preset(
            self.runtime,
            image=self.image,
            model=self.model,
            served_name=self.name,
            args=self.args,
            env=self.env,
            cpu=self.cpu,
            memory=self.memory,
            startup_minutes=self.startup_minutes,
            own=self.own,
        )


def asked_from(content: object) -> Asked:
    """Read JSON-like content; raise InvalidValue with the path of what is wrong."""
    try:
        asked = msgspec.convert(content, Asked, strict=True)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at ")
        raise InvalidValue(f"{text}.", field=path.strip("`").removeprefix("$.")) from None
    _refuse_strangers(content, content_of(asked), "")
    if not 1 <= len(asked.pools) <= 4:
        raise InvalidValue("A deployment has 1 to 4 model pools.", field="pools")
    for index, pool in enumerate(asked.pools):
        if not 0 <= pool.replicas <= MOST_REPLICAS:
            raise InvalidValue(f"0 to {MOST_REPLICAS} replicas.", field=f"pools[{index}].replicas")
    return asked


def asked_from_yaml(text: str) -> Asked:
    if len(text) > LARGEST_YAML:
        raise InvalidValue("This is larger than any deployment (64 KiB).", field="yaml")
    try:
        content = plainyaml.read(text)
    except plainyaml.NotPlain as error:
        raise InvalidValue(str(error), field="yaml") from None
    return asked_from(content)


def content_of(asked: Asked) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.to_builtins(asked)
    return content


def short_content(asked: Asked) -> dict[str, Any]:
    """The content without what is a default, for people to read and edit."""
    content = content_of(asked)
    content["pools"] = [_without_defaults(pool, _POOL_DEFAULTS) for pool in content["pools"]]
    return _without_defaults(content, _DEFAULTS)


_DEFAULTS: dict[str, Any] = content_of(Asked("", "", "", ()))
_POOL_DEFAULTS: dict[str, Any] = msgspec.to_builtins(PoolAsked(""))
_ALWAYS: frozenset[Literal["name", "replicas", "runtime", "path"]] = frozenset(
    {"name", "replicas", "runtime", "path"}
)


def _without_defaults(content: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in content.items() if key in _ALWAYS or value != defaults.get(key)
    }


def _refuse_strangers(given: object, known: object, path: str) -> None:
    """A misspelt key must not pass unseen."""
    if isinstance(given, dict) and isinstance(known, dict):
        for key, value in given.items():
            here = f"{path}.{key}" if path else str(key)
            if key not in known:
                raise InvalidValue(f"There is no field {here[:80]!r}.", field=here)
            _refuse_strangers(value, known[key], here)
    elif isinstance(given, list | tuple) and isinstance(known, list | tuple):
        for index, (left, right) in enumerate(zip(given, known, strict=False)):
            _refuse_strangers(left, right, f"{path}[{index}]")
