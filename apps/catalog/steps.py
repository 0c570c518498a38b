"""From a draft to the approvers and back: the steps that classes and patterns share."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from apps.catalog import services
from apps.catalog.models import ClassVersion, PatternVersion
from apps.common import refusals

Version = ClassVersion | PatternVersion


def saved(request: HttpRequest, version: Version) -> None:
    """Saved as a draft, or at once put before the approvers; says which."""
    actor: Any = request.user
    if "submit" in request.POST:
        services.submit(actor=actor, version=version)
        messages.success(request, f"{version} waits for an approver.")
    else:
        messages.success(request, f"{version} is saved as a draft.")


def take(
    request: HttpRequest,
    step: str,
    *,
    draft: Version | None,
    approved: Version | None,
    consequence: str,
) -> None:
    """Submit `draft` or withdraw `approved`, and say so; a refusal is said too."""
    actor: Any = request.user
    try:
        if step == "submit" and draft is not None:
            services.submit(actor=actor, version=draft)
            messages.success(request, f"{draft} waits for an approver.")
        elif step == "withdraw" and approved is not None:
            text = request.POST.get("text", "")
            services.withdraw(actor=actor, version=approved, text=text)
            messages.success(request, f"{approved} is withdrawn: {consequence}.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
