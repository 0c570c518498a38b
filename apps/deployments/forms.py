"""The steps of the deploy wizard. Together they make one domain.asked.Asked."""

from typing import Any

from django import forms

from apps.catalog import selectors as catalog
from apps.catalog.models import PatternVersion
from apps.deployments.models import AllocationPath, Runtime
from apps.quotas import selectors as quotas
from apps.tenancy.models import Tenant
from domain.asked import Asked, asked_from
from domain.errors import InvalidValue
from domain.patterns import Parameter

PREFIX = "param-"
_TEXT = {"rows": 3, "spellcheck": "false", "class": "mono"}


OWN_IMAGE = ("command", "port", "ready_path", "live_path", "metrics_path")


class PatternStep(forms.Form):
    """Where, on which pattern, by which path."""

    def __init__(self, *args: Any, tenant: Tenant, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        places = [(one.slug, one.name) for one in quotas.clusters_of(tenant)]
        versions = catalog.usable_patterns(tenant)
        self.fields["cluster"] = forms.ChoiceField(choices=places, label="Cluster")
        self.fields["pattern"] = forms.ChoiceField(
            choices=[
                (one.pattern.slug, f"{one.pattern.name} · {one.pattern.description}")
                for one in versions
            ],
            widget=forms.RadioSelect,
            label="Pattern",
        )
        self.fields["path"] = forms.ChoiceField(
            choices=AllocationPath.choices,
            initial=AllocationPath.DRA,
            label="Allocation path",
            help_text="Claims, unless the devices are still handed out by a device plugin. "
            "Both take from the same quota.",
        )


class ModelStep(forms.Form):
    """What runs."""

    name = forms.CharField(
        max_length=40,
        label="Name",
        help_text="The address of the endpoint begins with it; the model answers to it.",
    )
    runtime = forms.ChoiceField(choices=Runtime.choices, initial=Runtime.VLLM)
    model = forms.CharField(
        required=False,
        max_length=300,
        label="Model",
        help_text="For vLLM: a name such as meta-llama/Llama-3.1-8B-Instruct, or a path.",
    )
    image = forms.CharField(
        max_length=300, initial="docker.io/vllm/vllm-openai:v0.33.0", label="Image"
    )
    args = forms.CharField(
        required=False,
        label="More arguments, one a line",
        max_length=40_000,
        widget=forms.Textarea(attrs=_TEXT),
    )
    env = forms.CharField(
        required=False,
        label="Environment, one a line",
        max_length=40_000,
        widget=forms.Textarea(attrs=_TEXT),
        help_text="NAME=value, or NAME=secret:SECRET/KEY for a key of a Secret in the namespace.",
    )
    cpu = forms.CharField(required=False, max_length=24, label="CPU of a replica", initial="4")
    memory = forms.CharField(
        required=False, max_length=24, label="Memory of a replica", initial="16Gi"
    )
    startup_minutes = forms.IntegerField(
        min_value=1, max_value=180, initial=30, label="Minutes that loading may take"
    )
    command = forms.CharField(
        required=False,
        label="Command, one word a line",
        max_length=4000,
        widget=forms.Textarea(attrs=_TEXT),
        help_text="Empty: the image's own.",
    )
    port = forms.IntegerField(
        required=False, min_value=1, max_value=65535, label="Port", initial=8080
    )
    ready_path = forms.CharField(
        required=False, max_length=200, label="Path that answers once loaded"
    )
    live_path = forms.CharField(
        required=False, max_length=200, label="Path that answers while alive"
    )
    metrics_path = forms.CharField(required=False, max_length=200, label="Path of its metrics")

    @property
    def always(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in OWN_IMAGE]

    @property
    def own_image(self) -> list[forms.BoundField]:
        """What only an image without a preset needs."""
        return [self[name] for name in OWN_IMAGE]

    @property
    def is_own_image(self) -> bool:
        return bool(self["runtime"].value() == Runtime.OWN)

    def content(self) -> dict[str, Any]:
        data = self.cleaned_data
        own = {
            name: data[name]
            for name in ("port", "ready_path", "live_path", "metrics_path")
            if data["runtime"] == Runtime.OWN and data[name]
        }
        if data["runtime"] == Runtime.OWN and data["command"]:
            own["command"] = _lines(data["command"])
        return {
            **{name: data[name] for name in ("runtime", "model", "image")},
            **{name: data[name] for name in ("cpu", "memory", "startup_minutes")},
            "args": _lines(data["args"]),
            "env": [_variable(line) for line in _lines(data["env"])],
            "own": own,
        }


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _variable(line: str) -> dict[str, str]:
    name, equals, value = line.partition("=")
    if not equals:
        raise InvalidValue(f"{line[:40]!r} is not NAME=value.", field="env")
    if value.startswith("secret:"):
        secret, _, key = value.removeprefix("secret:").partition("/")
        return {"name": name, "secret": secret, "key": key}
    return {"name": name, "value": value}


class SizeStep(forms.Form):
    """How many replicas, and the pattern's parameters."""

    replicas = forms.IntegerField(min_value=0, max_value=1000, initial=1, label="Replicas")

    def __init__(self, *args: Any, version: PatternVersion | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        parameters = catalog.pattern_of(version).parameters if version else ()
        for one in parameters:
            self.fields[PREFIX + one.name] = _field(one)

    def params(self) -> dict[str, Any]:
        return {
            name.removeprefix(PREFIX): value
            for name, value in self.cleaned_data.items()
            if name.startswith(PREFIX) and value not in (None, "")
        }


def _field(parameter: Parameter) -> forms.Field:
    label = parameter.label or parameter.name
    if parameter.kind == "count":
        return forms.IntegerField(
            min_value=int(parameter.least or 1),
            max_value=int(parameter.most or 32),
            initial=parameter.default,
            label=label,
        )
    if parameter.kind == "choice":
        choices = [(one, one) for one in parameter.choices]
        if parameter.optional:
            choices.insert(0, ("", "Any"))
        return forms.ChoiceField(
            choices=choices,
            initial=parameter.default,
            required=not parameter.optional,
            label=label,
        )
    bounds = f"{parameter.least or '0'} to {parameter.most or 'any amount'}"
    return forms.CharField(
        max_length=24, initial=parameter.default, label=label, help_text=f"A quantity, {bounds}."
    )


class YamlForm(forms.Form):
    yaml = forms.CharField(
        label="Deployment (YAML)",
        max_length=64 * 1024,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "mono"}),
    )


class ScaleForm(forms.Form):
    replicas = forms.IntegerField(min_value=0, max_value=1000)
    generation = forms.IntegerField(widget=forms.HiddenInput)


def asked_by(pattern: PatternStep, model: ModelStep, size: SizeStep) -> Asked:
    """What the three valid steps say; raise InvalidValue."""
    chosen = pattern.cleaned_data
    return asked_from(
        {
            **model.content(),
            "name": model.cleaned_data["name"],
            "cluster": chosen["cluster"],
            "pools": [
                {
                    "pattern": chosen["pattern"],
                    "path": chosen["path"],
                    "replicas": size.cleaned_data["replicas"],
                    "params": size.params(),
                }
            ],
        }
    )
