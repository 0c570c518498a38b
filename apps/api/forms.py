from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from apps.tenancy.models import PlatformRole, User
from apps.tenancy.selectors import tenants_of


class TokenForm(forms.Form):
    """What a new token may do: one tenant, or the platform roles of the person."""

    PLATFORM = "platform:"

    name = forms.CharField(max_length=100, help_text="What will use it, such as CI of team vision.")
    scope = forms.ChoiceField(label="For")
    can_write = forms.ChoiceField(
        label="May",
        choices=[("false", "read only"), ("true", "read and write")],
        widget=forms.RadioSelect,
        initial="false",
    )
    days = forms.TypedChoiceField(
        label="Expires in",
        coerce=int,
        choices=[(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "a year")],
        initial=30,
    )

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data)
        self.user = user
        tenants = [
            (slug, f"tenant {slug}") for slug in self._tenants().values_list("slug", flat=True)
        ]
        labels = dict(PlatformRole.choices)
        roles = [(self.PLATFORM + role, f"role {labels[role]}") for role in user.platform_roles]
        self.fields["scope"].choices = [*roles, *tenants]  # type: ignore[attr-defined]

    def _tenants(self) -> Any:
        return tenants_of(self.user).filter(members__user=self.user)

    def asked(self) -> dict[str, Any]:
        """The arguments of services.create_token."""
        data = self.cleaned_data
        scope: str = data["scope"]
        is_platform = scope.startswith(self.PLATFORM)
        return {
            "name": data["name"],
            "can_write": data["can_write"] == "true",
            "expires_at": timezone.now() + timedelta(days=data["days"]),
            "tenant": None if is_platform else self._tenants().get(slug=scope),
            "platform_roles": [scope.removeprefix(self.PLATFORM)] if is_platform else [],
        }
