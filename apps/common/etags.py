"""Parts that did not change: their ETag is made from what they depend on, before it is read."""

from hashlib import blake2b
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control


def etag_of(request: HttpRequest, *depends_on: object) -> str:
    """A quoted ETag for what this person sees at this address while `depends_on` stands."""
    # Empty parameters, which a search form sends along, make no difference.
    query = [(name, values) for name, values in request.GET.lists() if any(values)]
    user: Any = request.user
    words = (settings.SECRET_KEY[:8], user.pk, _roles(user), request.path, query, *depends_on)
    digest = blake2b("\0".join(map(str, words)).encode(), digest_size=16)
    return f'"{digest.hexdigest()}"'


def _roles(user: Any) -> list[str]:
    """Who loses a role must not be told that what they saw with it still stands."""
    return sorted(getattr(user, "platform_roles", ()))


def not_modified(request: HttpRequest, etag: str) -> HttpResponse | None:
    """The 304 answer when the browser already holds this, else None."""
    held = request.headers.get("If-None-Match", "")
    if not etag or etag not in [one.strip().removeprefix("W/") for one in held.split(",")]:
        return None
    response = HttpResponse(status=304)
    response["ETag"] = etag
    return response


def stamp[Response: HttpResponseBase](response: Response, etag: str) -> Response:
    """Mark an answer as this person's own, and with its ETag if it has one."""
    if etag:
        response["ETag"] = etag
    patch_cache_control(response, private=True, no_cache=True)
    return response
