from django import forms

from apps.tenancy.models import Role


class TenantForm(forms.Form):
    slug = forms.CharField(
        max_length=50,
        label="Short name",
        help_text="In addresses and labels: lower-case letters, digits and hyphens. It stays.",
    )
    name = forms.CharField(max_length=100, label="Name")


class MemberForm(forms.Form):
    username = forms.CharField(max_length=150, label="Login name")
    role = forms.TypedChoiceField(
        choices=Role.choices,
        coerce=lambda value: Role(int(value)),
        initial=Role.VIEWER,
        help_text="A viewer looks, an editor deploys, an owner also manages members.",
    )
