"""A person's own page: who they are here, and their API tokens."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.api import services
from apps.api.forms import TokenForm
from apps.api.models import Token
from apps.tenancy.models import User
from domain.errors import DomainError


@never_cache
@require_http_methods(["GET", "POST"])
@login_required
def tokens(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    form = TokenForm(request.POST or None, user=user)
    made, secret = None, ""
    if request.method == "POST" and form.is_valid():
        try:
            made, secret = services.create_token(actor=user, **form.asked())
            form = TokenForm(user=user)
        except DomainError as refusal:
            form.add_error(None, str(refusal))
    context = {
        "form": form,
        "made": made,
        "secret": secret,
        "tokens": Token.objects.filter(user=user).select_related("tenant"),
        "memberships": user.memberships.select_related("tenant").order_by("tenant__slug"),
    }
    status = 422 if form.errors else 200
    return render(request, "account/tokens.html", context, status=status)


@require_POST
@login_required
def revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    user = cast(User, request.user)
    get_object_or_404(Token, user=user, pk=token_id)
    try:
        token = services.revoke_token(actor=user, token_id=token_id)
        messages.success(request, f"The token {token.name} is revoked: it stopped working now.")
    except DomainError as refusal:
        messages.warning(request, str(refusal))
    return redirect("account")
