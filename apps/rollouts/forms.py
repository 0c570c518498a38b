"""Drawing up a migration: what moves, in which steps, and by which gates."""

from typing import Any

from django import forms

from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.rollouts.access import clusters_to_choose
from apps.rollouts.selectors import movable
from apps.tenancy.models import PlatformRole, Role
from apps.tenancy.selectors import tenants_of
from domain import plainyaml
from domain.errors import InvalidValue
from domain.gates import TEMPLATES
from domain.rollout.settings import Settings, settings_content, settings_from

_PLAIN = Settings()


class MigrationForm(forms.Form):
    """`content` is what the page shows as YAML too; the fields are the usual part of it."""

    name = forms.SlugField(max_length=50, help_text="Lower-case letters, digits and hyphens.")
    scope = forms.ChoiceField(
        choices=[
            ("deployments", "The deployments chosen below"),
            ("tenant", "Everything of these tenants"),
            ("resource", "Everything that uses these device-plugin resources"),
            ("node-pool", "Everything on these node pools, and the nodes themselves"),
        ],
        label="What moves",
        initial="deployments",
    )
    cluster = forms.ModelChoiceField(Cluster.objects.none(), empty_label=None)
    deployments = forms.ModelMultipleChoiceField(
        Deployment.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="The first one is the canary; the others follow in a wave of their own.",
    )
    scope_names = forms.CharField(
        max_length=1000,
        required=False,
        label="Names",
        help_text="Of tenants, resources such as nvidia.com/gpu, or node pools; by commas.",
    )
    steps = forms.CharField(
        initial=", ".join(str(step.weight) for step in _PLAIN.steps),
        help_text="Percent of the requests that the new pool gets, step by step, up to 100.",
    )
    hold_seconds = forms.IntegerField(
        min_value=0, max_value=86400, initial=60, label="Seconds at each step, at least"
    )
    gates = forms.ChoiceField(
        choices=[(name, f"{one.title}: {one.description}") for name, one in TEMPLATES.items()],
        widget=forms.RadioSelect,
        initial="standard",
    )
    on_breach = forms.ChoiceField(
        choices=[
            ("rollback", "Take everything back"),
            ("freeze", "Freeze: leave all as it is and ask"),
        ],
        label="When a gate fails",
        initial="rollback",
    )
    approvals = forms.MultipleChoiceField(
        choices=[("canary", "before the canary"), ("expand", "before the expansion")],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        initial=["canary"],
        label="Ask a person",
        help_text="Whether the old path may be retired is always asked.",
    )
    drill = forms.BooleanField(
        required=False,
        initial=True,
        label="Rehearse the way back before the old path may be retired",
    )
    more = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
        required=False,
        label="Further settings (YAML)",
        help_text="Such as interval_seconds, warm_seconds, drain_seconds, capacity, hooks, or a "
        "list of gates of your own. What is written here wins.",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["deployments"]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        rows = movable()
        if not user.has_platform_role(PlatformRole.ADMIN):
            own = tenants_of(user).filter(members__user=user, members__role__gte=Role.EDITOR)
            rows = rows.filter(tenant__in=own)
        field.queryset = rows.distinct().order_by("tenant__slug", "name")
        clusters = self.fields["cluster"]
        assert isinstance(clusters, forms.ModelChoiceField)
        clusters.queryset = clusters_to_choose(user)
        field.label_from_instance = _label  # type: ignore[method-assign,assignment]

    def content(self) -> dict[str, Any]:
        """The settings, checked; raise InvalidValue naming the field."""
        found: dict[str, Any] = {
            "steps": self._steps(),
            "gates": self.cleaned_data["gates"],
            "on_breach": self.cleaned_data["on_breach"],
            "approvals": self.cleaned_data["approvals"],
            "drill": self.cleaned_data["drill"],
        }
        if text := self.cleaned_data["more"].strip():
            found |= _yaml(text)
        return settings_content(settings_from(found))

    def chosen(self) -> dict[str, Any]:
        """The scope, or what was chosen by name."""
        data = self.cleaned_data
        names = [name.strip() for name in data["scope_names"].split(",") if name.strip()]
        return {"kind": data["scope"], "names": names}

    def _steps(self) -> list[dict[str, int]]:
        hold = self.cleaned_data["hold_seconds"]
        try:
            weights = [int(one) for one in self.cleaned_data["steps"].replace(",", " ").split()]
        except ValueError:
            raise InvalidValue("Whole numbers, such as 5, 25, 50, 100.", field="steps") from None
        return [{"weight": weight, "hold_seconds": hold} for weight in weights]


def _label(deployment: Deployment) -> str:
    return f"{deployment.tenant.slug}/{deployment.name} in {deployment.cluster.slug}"


def _yaml(text: str) -> dict[str, Any]:
    try:
        found = plainyaml.read(text)
    except plainyaml.NotPlain as error:
        raise InvalidValue(str(error), field="more") from None
    if not isinstance(found, dict):
        raise InvalidValue("Names and values, such as interval_seconds: 30.", field="more")
    return found


class ReasonForm(forms.Form):
    reason = forms.CharField(max_length=300, required=False)
