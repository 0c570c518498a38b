"""How a cluster's metrics are read, as a person fills it in."""

from typing import Any

from cryptography import x509
from django import forms

from apps.telemetry.models import MetricsSource


class SourceForm(forms.ModelForm):
    """An empty token leaves the stored one; `forget_token` takes it away."""

    token = forms.CharField(
        label="Bearer token",
        required=False,
        max_length=8000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Kept sealed, never shown again. Leave it empty to keep the one that is there.",
    )
    forget_token = forms.BooleanField(label="Take the stored token away", required=False)

    class Meta:
        model = MetricsSource
        fields = (
            "kind",
            "url",
            "service_namespace",
            "service_name",
            "service_port",
            "service_tls",
            "service_path",
            "ca",
            "tenant_header",
            "tenant_value",
        )
        labels = {
            "kind": "Read from",
            "url": "Prometheus' URL",
            "service_namespace": "Namespace of the Service",
            "service_name": "Service",
            "service_port": "Port, by number or name",
            "service_tls": "The Service speaks TLS",
            "service_path": "Path in front of /api/v1",
            "ca": "CA in PEM form",
            "tenant_header": "Tenant header",
            "tenant_value": "Its value",
        }
        help_texts = {
            "url": "Such as https://prometheus.example.org, without /api/v1.",
            "ca": "Only where the system's certificates do not do.",
            "tenant_header": "X-Scope-OrgID for Mimir, Cortex and Thanos receive.",
        }
        widgets = {"ca": forms.Textarea(attrs={"rows": 4, "class": "mono"})}

    def clean_ca(self) -> str:
        text = str(self.cleaned_data["ca"]).strip()
        if text:
            try:
                x509.load_pem_x509_certificates(text.encode())
            except ValueError:
                raise forms.ValidationError("This is no certificate in PEM form.") from None
        return text

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        kind = found.get("kind")
        if kind == MetricsSource.Kind.PROMETHEUS and not found.get("url"):
            self.add_error("url", "Name the URL of the Prometheus.")
        if kind == MetricsSource.Kind.SERVICE:
            for name in ("service_namespace", "service_name", "service_port"):
                if not found.get(name):
                    self.add_error(name, "Name it: the API server's proxy needs it.")
        if found.get("tenant_header") and not found.get("tenant_value"):
            self.add_error("tenant_value", "A tenant header needs a value.")
        return found
