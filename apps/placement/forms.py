"""What is asked on the pages of placement."""

from typing import Any

from django import forms

from apps.catalog import selectors as catalog
from apps.catalog.models import PatternVersion
from apps.inventory.models import Cluster
from apps.placement.asking import LARGEST, claim_from_yaml
from domain import patterns
from domain.errors import InvalidValue
from domain.patterns import Parameter

PREFIX = "param-"


class PatternChoice(forms.Form):
    """A pattern and its parameters, from which a claim is written."""

    def __init__(self, *args: Any, versions: list[PatternVersion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.versions = {one.pattern.slug: one for one in versions}
        names = [(slug, one.pattern.name) for slug, one in self.versions.items()]
        self.fields["pattern"] = forms.ChoiceField(
            choices=[("", "None: I write the claim myself"), *names],
            required=False,
            label="Pattern",
        )
        self.pattern = self._chosen()
        for parameter in self.pattern.parameters if self.pattern else ():
            self.fields[PREFIX + parameter.name] = _field(parameter)

    def _chosen(self) -> patterns.Pattern | None:
        version = self.versions.get(str(self.data.get("pattern", "")))
        return None if version is None else catalog.pattern_of(version)

    def values(self) -> patterns.Values:
        """Raise InvalidValue. What was not filled in yet has its default."""
        assert self.pattern is not None
        given = {
            parameter.name: self.data.get(PREFIX + parameter.name, parameter.default)
            for parameter in self.pattern.parameters
        }
        return patterns.accept(self.pattern, given)


def _field(parameter: Parameter) -> forms.Field:
    label = parameter.label or parameter.name
    if parameter.kind == "choice":
        choices = [(one, one) for one in parameter.choices]
        empty = [("", "any")] if parameter.optional else []
        return forms.ChoiceField(
            choices=[*empty, *choices], required=False, label=label, initial=parameter.default
        )
    bounds = f"{parameter.least or 1} to {parameter.most}" if parameter.most else ""
    return forms.CharField(
        max_length=24, required=False, label=label, initial=str(parameter.default), help_text=bounds
    )


class WhatIf(forms.Form):
    """A claim, and where to try it."""

    def __init__(self, *args: Any, clusters: list[Cluster], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clusters = {one.slug: one for one in clusters}
        self.fields["cluster"] = forms.ChoiceField(
            choices=[(one.slug, one.name) for one in clusters], label="Cluster"
        )
        self.fields["claim"] = forms.CharField(
            label="Claim (YAML)",
            max_length=LARGEST,
            widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false", "class": "mono"}),
            help_text="A ResourceClaim, a ResourceClaimTemplate, or its spec. Nothing is written.",
        )

    def clean_claim(self) -> dict[str, Any]:
        try:
            return claim_from_yaml(self.cleaned_data["claim"])
        except InvalidValue as error:
            raise forms.ValidationError(str(error)) from None


class ShadowForm(forms.Form):
    """Whose workloads to put onto claims of which class."""

    def __init__(
        self,
        *args: Any,
        clusters: list[Cluster],
        classes: list[str],
        resources: list[str],
        tenants: list[tuple[str, str]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.clusters = {one.slug: one for one in clusters}
        self.fields["cluster"] = forms.ChoiceField(
            choices=[(one.slug, one.name) for one in clusters], label="Cluster"
        )
        self.fields["resource"] = forms.ChoiceField(
            choices=[(one, one) for one in resources],
            label="Resource of the device plugin",
            help_text="Pods that hold or want it now.",
        )
        self.fields["device_class"] = forms.ChoiceField(
            choices=[(one, one) for one in classes], label="Device class of the claims"
        )
        self.fields["tenant"] = forms.ChoiceField(
            choices=[("", "All tenants"), *tenants], required=False, label="Tenant"
        )
        self.fields["node_label"] = forms.RegexField(
            r"^[A-Za-z0-9._/-]{1,316}=[A-Za-z0-9._-]{0,63}$",
            required=False,
            label="Node pool",
            help_text="Optional: a node label such as pool=a100.",
        )
        self.fields["as_published"] = forms.BooleanField(
            required=False,
            label="As if the nodes of these pods published their cards",
            help_text="As after a migration. Otherwise only what is published and free now counts.",
        )

    def labels(self) -> dict[str, str]:
        key, found, value = self.cleaned_data["node_label"].partition("=")
        return {key: value} if found else {}


class FragmentsForm(forms.Form):
    """Of which cluster, and of the cards of which class."""

    def __init__(
        self, *args: Any, clusters: list[Cluster], classes: list[str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.clusters = {one.slug: one for one in clusters}
        self.fields["cluster"] = forms.ChoiceField(
            choices=[(one.slug, one.name) for one in clusters], label="Cluster"
        )
        self.fields["device_class"] = forms.ChoiceField(
            choices=[("", "All classes"), *((one, one) for one in classes)],
            required=False,
            label="Device class",
        )
