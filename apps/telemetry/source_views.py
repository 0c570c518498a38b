"""The page on which a platform admin says where a cluster's metrics come from, and tries it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.common import asks
from apps.inventory.models import Cluster
from apps.telemetry import services, trying
from apps.telemetry.forms import SourceForm
from apps.telemetry.measure import source_of
from apps.telemetry.models import MetricsSource
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform
from domain.errors import InvalidValue


@require_http_methods(["GET", "POST"])
@login_required
def source(request: HttpRequest, cluster: str) -> HttpResponse:
    """Everyone of the platform sees it; admins may change it."""
    require_platform(request.user, *PlatformRole)
    user: Any = request.user
    found = get_object_or_404(Cluster, slug=cluster, retired_at=None)
    held = source_of(found)
    is_admin = user.has_platform_role(PlatformRole.ADMIN)
    if request.method == "POST":
        require_platform(user, PlatformRole.ADMIN)
    form = SourceForm(request.POST or None, instance=held)
    if request.method == "POST" and form.is_valid():
        given = dict(form.cleaned_data)
        token: str | None = given.pop("token") or None
        if given.pop("forget_token"):
            token = ""
        try:
            services.set_source(actor=user, cluster=found, token=token, **given)
        except InvalidValue as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))
        else:
            messages.success(request, "Saved. Try it to see whether it answers.")
            return redirect("telemetry:source", found.slug)
    context = {
        "cluster": found,
        "source": MetricsSource.objects.filter(cluster=found).first() or held,
        "form": form,
        "is_admin": is_admin,
        "role": _role(held),
    }
    return render(request, "telemetry/source.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
def try_source(request: HttpRequest, cluster: str) -> HttpResponse:
    """Ask a worker to reach it; what it found is shown on the page."""
    require_platform(request.user, PlatformRole.ADMIN)
    held = get_object_or_404(MetricsSource, cluster__slug=cluster, cluster__retired_at=None)
    ask = asks.wait(trying.ask_try(request.user, held))
    if not ask.is_settled:
        messages.info(request, "Still asking; look again in a moment.")
    elif not ask.answer or ask.answer.get("problem"):
        messages.error(request, (ask.answer or {}).get("problem") or ask.problem)
    else:
        told = ask.answer
        messages.success(
            request, f"Prometheus {told['version']} answers, with {told['targets']} targets."
        )
    return redirect("telemetry:source", cluster)


def _role(source: MetricsSource) -> str:
    """The least right that the portal's user needs for the service proxy, as a manifest."""
    if source.kind != MetricsSource.Kind.SERVICE:
        return ""
    prefix = "https:" if source.service_tls else ""
    return (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n"
        f"  name: claimyard-prometheus\n  namespace: {source.service_namespace}\nrules:\n"
        '- apiGroups: [""]\n  resources: [services/proxy]\n  verbs: [get]\n'
        f'  resourceNames: ["{prefix}{source.service_name}:{source.service_port}"]\n'
    )
