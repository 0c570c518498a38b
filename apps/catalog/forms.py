"""Classes and patterns as forms, and the same content as YAML."""

from typing import Any

from django import forms

from apps.catalog.models import DeviceClass
from apps.inventory.models import Cluster
from apps.tenancy.models import Tenant
from domain import deviceclasses, patterns, plainyaml
from domain.diffs import to_yaml
from domain.errors import InvalidValue

LARGEST_YAML = 64 * 1024
_AREA = {"rows": 14, "spellcheck": "false", "class": "mono"}


def from_yaml(text: str) -> Any:
    """Plain values from YAML; raise InvalidValue with the line."""
    if len(text) > LARGEST_YAML:
        raise InvalidValue("This is too long (64 KiB at most).", field="content")
    try:
        return plainyaml.read(text)
    except plainyaml.NotPlain as error:
        raise InvalidValue(str(error), field="content") from None


class ClassContentForm(forms.Form):
    selectors = forms.CharField(
        label="Selectors (CEL)",
        max_length=40_000,
        widget=forms.Textarea(attrs={**_AREA, "rows": 6}),
        help_text="One expression; separate several by a line with only ---. All must hold. "
        'Begin with the driver: device.driver == "gpu.nvidia.com" && …',
    )
    extended_resource_name = forms.CharField(
        required=False,
        max_length=253,
        help_text="Optional: pods may then ask for it by limits, such as nvidia.com/gpu.",
    )
    note = forms.CharField(
        required=False, max_length=400, label="Note to the approver", help_text="What and why."
    )

    def content(self) -> dict[str, Any]:
        parts = self.cleaned_data["selectors"].replace("\r\n", "\n").split("\n---\n")
        return {
            "selectors": [part.strip() for part in parts],
            "extended_resource_name": self.cleaned_data["extended_resource_name"],
        }


class ClassForm(ClassContentForm):
    name = forms.CharField(
        max_length=200,
        label="Name",
        help_text="The DeviceClass's name in clusters, such as h100 or h100.example.org. It stays.",
    )
    description = forms.CharField(required=False, max_length=300)
    clusters = forms.ModelMultipleChoiceField(
        Cluster.objects.filter(retired_at=None),
        to_field_name="slug",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Where it is applied once it is approved. More can be added later.",
    )
    field_order = ["name", "description", "selectors", "extended_resource_name", "clusters", "note"]


def class_initial(content: dict[str, Any]) -> dict[str, Any]:
    return {
        "selectors": "\n---\n".join(content.get("selectors", [])),
        "extended_resource_name": content.get("extended_resource_name", ""),
    }


class DecisionForm(forms.Form):
    content_hash = forms.CharField(widget=forms.HiddenInput, max_length=64)
    text = forms.CharField(
        required=False,
        max_length=2000,
        label="Your words",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="A denial needs them: say what to change.",
    )


class WithdrawForm(forms.Form):
    text = forms.CharField(max_length=400, label="Why")


class PlaceForm(forms.Form):
    cluster = forms.ModelChoiceField(
        Cluster.objects.filter(retired_at=None), to_field_name="slug", label="Cluster"
    )
    adopt = forms.BooleanField(
        required=False, label="Take over a DeviceClass of this name that is there already"
    )


class PatternMetaForm(forms.Form):
    slug = forms.CharField(
        max_length=50,
        label="Short name",
        help_text="Tenants name it in YAML and in the API. It stays.",
    )
    name = forms.CharField(max_length=100, label="Name")
    description = forms.CharField(required=False, max_length=300)
    tenants = forms.ModelMultipleChoiceField(
        Tenant.objects.filter(retired_at=None),
        to_field_name="slug",
        required=False,
        help_text="Who may use it; none chosen means every tenant.",
    )


class PatternTenantsForm(forms.Form):
    tenants = forms.ModelMultipleChoiceField(
        Tenant.objects.filter(retired_at=None),
        to_field_name="slug",
        required=False,
        label="Only these tenants",
        help_text="None chosen means every tenant.",
    )


class PatternYamlForm(forms.Form):
    content = forms.CharField(
        label="Pattern (YAML)",
        max_length=LARGEST_YAML,
        widget=forms.Textarea(attrs={**_AREA, "rows": 24}),
    )
    note = forms.CharField(
        required=False, max_length=400, label="Note to the approver", help_text="What and why."
    )

    def pattern_content(self) -> Any:
        return from_yaml(self.cleaned_data["content"])


class PatternForm(forms.Form):
    """The usual pattern: one request, a number of devices, a few choices. Others are YAML."""

    device_class = forms.ModelChoiceField(
        DeviceClass.objects.all(), to_field_name="name", label="Device class"
    )
    most = forms.IntegerField(
        min_value=1, max_value=32, initial=8, label="Most devices of a replica"
    )
    default_count = forms.IntegerField(
        min_value=1, max_value=32, initial=1, label="Devices unless chosen otherwise"
    )
    memory_key = forms.CharField(
        required=False,
        max_length=100,
        initial="gpu.nvidia.com/memory",
        label="Capacity to choose at least of",
        help_text="Empty: tenants cannot ask for a size of memory.",
    )
    memory_default = forms.CharField(
        required=False, max_length=24, initial="40Gi", label="At least, unless chosen otherwise"
    )
    memory_most = forms.CharField(
        required=False, max_length=24, initial="80Gi", label="The most that can be asked for"
    )
    choice_key = forms.CharField(
        required=False,
        max_length=100,
        label="Attribute to choose from a list",
        help_text="Such as gpu.nvidia.com/productName or gpu.nvidia.com/profile; empty for none.",
    )
    choices = forms.CharField(
        required=False,
        max_length=4000,
        label="Choices, one a line",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Products or MIG profiles exactly as the driver publishes them. The first is "
        "the default.",
    )
    match_attribute = forms.CharField(
        required=False,
        max_length=100,
        label="Attribute that all devices share",
        help_text="Such as resource.kubernetes.io/pcieRoot; empty for none.",
    )
    plugin_resource = forms.CharField(
        required=False,
        max_length=253,
        label="Resource on the device-plugin path",
        help_text="Such as nvidia.com/gpu. With {choice} in it, the chosen value is filled in, as "
        "in nvidia.com/mig-{choice}. Empty: only claims.",
    )
    plugin_label = forms.CharField(
        required=False,
        max_length=200,
        label="Node label on that path",
        help_text="Such as nvidia.com/gpu.product=NVIDIA-L40S; empty for none.",
    )
    note = forms.CharField(
        required=False, max_length=400, label="Note to the approver", help_text="What and why."
    )

    def pattern_content(self) -> dict[str, Any]:
        """The content that the fields describe; domain.patterns judges it."""
        data = self.cleaned_data
        parameters = [
            {
                "name": "count",
                "kind": "count",
                "label": "Devices",
                "default": data["default_count"],
                "most": data["most"],
            }
        ]
        terms: list[dict[str, Any]] = []
        if data["memory_key"] and data["memory_default"]:
            parameters.append(_memory(data))
            terms.append({"op": "at-least", "key": data["memory_key"], "parameter": "memory"})
        choices = [one.strip() for one in data["choices"].splitlines() if one.strip()]
        if data["choice_key"] and choices:
            parameters.append(_choice(data["choice_key"], choices))
            terms.append({"op": "equals", "key": data["choice_key"], "parameter": "choice"})
        content: dict[str, Any] = {
            "parameters": parameters,
            "requests": [
                {
                    "name": "devices",
                    "device_class": data["device_class"].name,
                    "count_parameter": "count",
                    "terms": terms,
                }
            ],
            "match_attributes": [data["match_attribute"]] if data["match_attribute"] else [],
        }
        if data["plugin_resource"]:
            content["device_plugin"] = _plugin(data, choices)
        return content


def _memory(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "memory",
        "kind": "memory",
        "label": "Memory of each device, at least",
        "default": data["memory_default"],
        "most": data["memory_most"],
    }


def _choice(key: str, choices: list[str]) -> dict[str, Any]:
    return {
        "name": "choice",
        "kind": "choice",
        "label": key.rpartition("/")[2],
        "default": choices[0],
        "choices": choices,
    }


def _plugin(data: dict[str, Any], choices: list[str]) -> dict[str, Any]:
    resource = data["plugin_resource"]
    form: dict[str, Any] = {"resource": resource}
    if "{choice}" in resource:
        form = {
            "parameter": "choice",
            "resource_by_choice": {one: resource.replace("{choice}", one) for one in choices},
        }
    label, equals, value = data["plugin_label"].partition("=")
    if equals:
        form["node_labels"] = [{"op": "equals", "label": label, "value": value}]
    return form


def pattern_yaml(content: dict[str, Any]) -> str:
    """Content as people edit it: in a fixed order, and what is empty is left out."""
    return to_yaml(plain_pattern(content))


def plain_pattern(content: dict[str, Any]) -> Any:
    # Stored JSON has no order of its own.
    return _slim(patterns.content_of(patterns.pattern_from(content)))


def plain_class(content: dict[str, Any]) -> Any:
    return _slim(deviceclasses.content_of(deviceclasses.class_from(content)))


def _slim(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _slim(one)
            for key, one in value.items()
            if one not in ("", None, [], {}, False) or key == "default"
        }
    if isinstance(value, list):
        return [_slim(one) for one in value]
    return value
