"""What a person has typed into the deploy wizard, kept with their login until it is submitted.

Leaving the wizard, by any link, loses nothing; another tenant has a draft of its own.
"""

from collections.abc import Mapping

from django.http import HttpRequest

from apps.tenancy.models import Tenant

_SESSION = "deployment-drafts"
MOST = 20  # tenants; the oldest draft goes first


def keep(request: HttpRequest, tenant: Tenant, values: Mapping[str, str]) -> None:
    drafts = dict(request.session.get(_SESSION, {}))
    drafts.pop(tenant.slug, None)
    drafts[tenant.slug] = dict(values)
    request.session[_SESSION] = dict(list(drafts.items())[-MOST:])


def kept(request: HttpRequest, tenant: Tenant) -> dict[str, str]:
    found: dict[str, str] = request.session.get(_SESSION, {}).get(tenant.slug, {})
    return found


def forget(request: HttpRequest, tenant: Tenant) -> None:
    drafts = dict(request.session.get(_SESSION, {}))
    if drafts.pop(tenant.slug, None) is not None:
        request.session[_SESSION] = drafts
