"""A deployment that is there, as the fields of the wizard: what may change of it, filled in."""

from collections.abc import Iterator
from typing import Any

from django import forms

from apps.catalog.models import PatternVersion, VersionState
from apps.deployments.forms import PREFIX, ModelStep, SizeStep
from apps.deployments.models import ModelPool
from domain.asked import Asked, asked_from, content_of
from domain.manifests.spec import Env


class ServerForm(ModelStep):
    """What runs. The name stays: it is the address that others call."""

    name = None  # type: ignore[assignment]


class PoolForm(SizeStep):
    """One model pool: replicas, the pattern's version and parameters."""

    def __init__(self, *args: Any, pool: ModelPool, **kwargs: Any) -> None:
        held = pool.pattern_version
        super().__init__(*args, version=held, prefix=pool.name, **kwargs)
        self.pool = pool
        numbers = list(
            PatternVersion.objects.filter(pattern=held.pattern_id, state=VersionState.APPROVED)
            .exclude(pk=held.pk)
            .order_by("-number")
            .values_list("number", flat=True)
        )
        self.fields["version"] = forms.TypedChoiceField(
            coerce=int,
            choices=[(held.number, f"v{held.number}, as now"), *((n, f"v{n}") for n in numbers)],
            label=f"Version of the pattern {held.pattern.name}",
        )

    @property
    def said(self) -> dict[str, Any]:
        """The values of this pool that the form decides, as domain.asked names them."""
        data = self.cleaned_data
        return {"replicas": data["replicas"], "version": data["version"], "params": self.params()}


def server_initial(asked: Asked) -> dict[str, Any]:
    own = content_of(asked)["own"]
    return {
        "runtime": asked.runtime,
        "model": asked.model,
        "image": asked.image,
        "args": "\n".join(asked.args),
        "env": "\n".join(map(_line, asked.env)),
        "cpu": asked.cpu,
        "memory": asked.memory,
        "startup_minutes": asked.startup_minutes,
        **own,
        "command": "\n".join(asked.own.command),
    }


def _line(variable: Env) -> str:
    if variable.secret:
        return f"{variable.name}=secret:{variable.secret}/{variable.key}"
    return f"{variable.name}={variable.value}"


def pool_initial(asked: Asked, pool: ModelPool) -> dict[str, Any]:
    one = next(one for one in asked.pools if one.name == pool.name)
    params = {f"{PREFIX}{name}": value for name, value in one.params.items()}
    return {"replicas": one.replicas, "version": pool.pattern_version.number, **params}


def needs_yaml(asked: Asked) -> bool:
    """Some value does not survive fields that hold one item a line."""
    return any(text != text.strip() or "\n" in text or not text for text in _items(asked)) or any(
        one.value.startswith("secret:") for one in asked.env
    )


def _items(asked: Asked) -> Iterator[str]:
    yield from asked.args
    yield from asked.own.command
    yield from (_line(one) for one in asked.env)


def changed(asked: Asked, server: ServerForm, pools: list[PoolForm]) -> Asked:
    """`asked` with what the valid forms say; raise InvalidValue.

    What the forms do not show, such as weights and paths, stays as it is.
    """
    said = {form.pool.name: form.said for form in pools}
    content = content_of(asked)
    held = [{**pool, **said.get(pool["name"], {})} for pool in content["pools"]]
    return asked_from({**content, **server.content(), "pools": held})
