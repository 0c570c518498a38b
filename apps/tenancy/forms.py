from django import forms

from apps.tenancy.models import PlatformRole, Role


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


class PersonForm(forms.Form):
    username = forms.CharField(
        max_length=150,
        label="Login name",
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )
    full_name = forms.CharField(
        required=False, max_length=150, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password = forms.CharField(
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Hand it over on another way; twelve characters or more, and no common word.",
    )
    platform_roles = forms.TypedMultipleChoiceField(
        required=False,
        choices=PlatformRole.choices,
        coerce=PlatformRole,
        widget=forms.CheckboxSelectMultiple,
        label="Roles on the platform",
        help_text="None for people who only work in tenants. Each role stands alone.",
    )


class RolesForm(forms.Form):
    platform_roles = forms.MultipleChoiceField(
        required=False,
        choices=PlatformRole.choices,
        widget=forms.CheckboxSelectMultiple,
        label="Roles on the platform",
    )
    is_active = forms.BooleanField(required=False, label="May log in")
    password = forms.CharField(
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        label="New password",
        help_text="Only for local accounts; empty leaves it as it is.",
    )
