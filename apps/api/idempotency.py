"""A POST that is sent twice with the same Idempotency-Key happens once.

The key's row is written before the work and the answer after it. A request that was cut off between
the two leaves a key whose outcome nobody knows: repeating it says so, rather than risk a double.
"""

import hashlib
import json
from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpResponse
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.errors import KeyInProgress, KeyReused
from apps.api.models import Replay
from apps.tenancy.models import User

HEADER = "Idempotency-Key"
_KEPT_HEADERS = ("Location", "ETag", "Content-Type")
# Not final: the same request may well succeed later.
_NOT_KEPT = (401, 403, 429)


class Replayed(Exception):
    def __init__(self, response: HttpResponse) -> None:
        super().__init__()
        self.response = response


def begin(request: Request, caller: User) -> Replay | None:
    """Claim the request's key, if it has one. Raises Replayed, KeyReused or KeyInProgress."""
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST":
        return None
    if not 1 <= len(key) <= 255 or not key.isascii() or not key.isprintable():
        raise ParseError("An Idempotency-Key has 1 to 255 printable ASCII characters.")
    fingerprint = _fingerprint(request)
    try:
        with transaction.atomic():
            return Replay.objects.create(user=caller, key=key, fingerprint=fingerprint)
    except IntegrityError:
        held = Replay.objects.get(user=caller, key=key)
    if held.fingerprint != fingerprint:
        raise KeyReused
    if held.status == 0:
        raise KeyInProgress
    response = HttpResponse(held.body, status=held.status, headers=held.headers)
    response["Idempotent-Replayed"] = "true"
    raise Replayed(response)


def _fingerprint(request: Request) -> str:
    token = request.auth.pk if request.auth else ""
    body = json.dumps(request.data, sort_keys=True, default=str)
    text = f"{token}\n{request.get_full_path()}\n{body}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def finish(replay: Replay, response: Response) -> None:
    """Keep the rendered answer, or give the key back where the answer is not final."""
    if response.status_code >= 500 or response.status_code in _NOT_KEPT:
        replay.delete()
        return
    headers: dict[str, Any] = {
        name: response[name] for name in _KEPT_HEADERS if response.has_header(name)
    }
    Replay.objects.filter(pk=replay.pk).update(
        status=response.status_code, headers=headers, body=response.content.decode()
    )
