"""Registering a cluster and replacing its credentials."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from apps.inventory.models import Cluster, Mode
from kube import credentials
from kube.errors import BadCredentials

_AREA = {"rows": 10, "spellcheck": "false", "class": "mono", "autocomplete": "off"}


class Unshown(forms.Textarea):
    """A text that goes one way: what was typed is not in the page that refuses it."""

    def format_value(self, value: Any) -> str:
        return ""


class CredentialsForm(forms.Form):
    """A kubeconfig, or an address with a CA certificate and a token. `opened` is what came of it.

    What was typed here is never rendered again.
    """

    kubeconfig = forms.CharField(
        required=False,
        max_length=credentials.LARGEST_KUBECONFIG,
        widget=Unshown(attrs=_AREA),
        help_text="The output of kubectl config view --raw --flatten --minify. Commands, files, "
        "proxies and skipped certificate checks in it are refused.",
    )
    server = forms.CharField(
        label="Or: address",
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": "https://api.example.org:6443"}),
    )
    ca = forms.CharField(
        label="CA certificate",
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={**_AREA, "rows": 4}),
        help_text="PEM, or base64 of it. Empty means that a public authority signed.",
    )
    token = forms.CharField(
        required=False,
        max_length=20_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Of a ServiceAccount; the manifest and command for one are shown beside.",
    )

    opened: credentials.Credentials

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        try:
            self.opened = self._open(cleaned)
        except BadCredentials as error:
            raise ValidationError(error.message, code=error.code) from None
        return cleaned

    @staticmethod
    def _open(cleaned: dict[str, Any]) -> credentials.Credentials:
        if cleaned.get("kubeconfig"):
            if cleaned.get("token") or cleaned.get("server"):
                raise BadCredentials("both", "Give a kubeconfig or an address, not both.")
            return credentials.from_kubeconfig(cleaned["kubeconfig"])
        if not cleaned.get("server"):
            raise BadCredentials("neither", "Give a kubeconfig, or an address with a token.")
        return credentials.from_parts(
            server=cleaned["server"], token=cleaned.get("token", ""), ca=cleaned.get("ca", "")
        )


class ClusterForm(CredentialsForm):
    slug = forms.CharField(
        label="Short name",
        max_length=50,
        validators=list(Cluster._meta.get_field("slug").validators),
        help_text="In addresses and lists; lower-case letters, digits and hyphens.",
    )
    name = forms.CharField(max_length=100)

    field_order = ("slug", "name", "kubeconfig", "server", "ca", "token")

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if Cluster.objects.filter(slug=slug).exists():
            raise ValidationError("There is a cluster of this name already.")
        return slug


class ModeForm(forms.Form):
    mode = forms.ChoiceField(choices=Mode.choices, widget=forms.RadioSelect)


class StopForm(forms.Form):
    reason = forms.CharField(
        max_length=200, help_text="Shown wherever something would have been written."
    )
