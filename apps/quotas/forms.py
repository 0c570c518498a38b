from typing import Any

from django import forms

from apps.inventory.models import Cluster
from apps.quotas.services import LARGEST_LIMIT


class NamespaceForm(forms.Form):
    cluster = forms.ModelChoiceField(
        Cluster.objects.filter(retired_at=None), to_field_name="slug", label="Cluster"
    )
    namespace = forms.CharField(max_length=63, label="Namespace")
    adopt = forms.BooleanField(
        required=False,
        label="It exists there already: label it and take it over",
    )


class QuotasForm(forms.Form):
    """A number of devices per class; empty means that the tenant may not use the class."""

    def __init__(self, *args: Any, classes: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.classes = classes
        for name in classes:
            self.fields[name] = forms.IntegerField(
                required=False,
                min_value=0,
                max_value=LARGEST_LIMIT,
                label=name,
                help_text="devices",
            )

    def limits(self) -> dict[str, int | None]:
        return {name: self.cleaned_data.get(name) for name in self.classes}
