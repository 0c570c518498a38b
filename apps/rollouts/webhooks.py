"""Signed calls to other people's programs: one delivery a point, retried, and logged.

The signature is HMAC-SHA256 over "<time>.<body>" with the migration's own secret, in the header
`Claimyard-Signature: t=<unix time>,v1=<hex>`: a receiver refuses what is old or not signed.
2xx accepts, 4xx refuses, everything else is tried again.
"""

import hashlib
import hmac
import json
import secrets as random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings as django_settings

from apps.common import secrets
from apps.rollouts import calling
from apps.rollouts.models import Delivery, Migration
from domain.rollout.settings import Settings

MOST_ATTEMPTS = 8
#: `confirm` asks until somebody agrees, with this pause.
ASK_AGAIN_SECONDS = 30
LONGEST_ANSWER = 2000
_STATES = Delivery.State


def new_secret() -> bytes:
    """A sealed signing key."""
    return secrets.seal(random.token_hex(32).encode())


def secret_of(migration: Migration) -> str:
    """The key that receivers check signatures with."""
    return secrets.unseal(bytes(migration.hook_secret)).decode()


def put(
    migration: Migration, settings: Settings, point_key: str, reason: str, now: datetime
) -> Delivery:
    """Write the delivery of "hook:point:key"; the sweep sends it. Repeatable."""
    name, point, _ = point_key.split(":", 2)
    hook = next(one for one in settings.hooks if one.name == name)
    found, _ = Delivery.objects.get_or_create(
        migration=migration,
        hook=name,
        key=point_key,
        defaults={
            "point": point,
            "url": hook.url,
            "body": body_of(migration, point_key, reason),
            "next_at": now,
        },
    )
    return found


def body_of(migration: Migration, point_key: str, reason: str) -> dict[str, Any]:
    _, point, key = point_key.split(":", 2)
    return {
        "migration": migration.name,
        "cluster": migration.cluster.slug,
        "tenant": migration.tenant.slug if migration.tenant else None,
        "point": point,
        "key": key,
        "stage": migration.stage,
        "state": migration.state,
        "reason": reason,
        "url": f"{django_settings.PUBLIC_URL}/migrations/{migration.pk}/",
    }


def sign(secret: str, body: bytes, at: int) -> str:
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


@dataclass(frozen=True, slots=True)
class _Outcome:
    state: str
    status: int | None
    answer: str


def deliver(delivery_id: int, now: datetime) -> None:
    """Try one delivery. A second worker that tries it at the same time sends the same key, which
    receivers tell apart by `Claimyard-Delivery`.
    """
    rows = Delivery.objects.filter(pk=delivery_id, state=_STATES.WAITING, next_at__lte=now)
    # Taken by moving its next time on: whoever dies while calling is followed a minute later.
    if not rows.update(next_at=now + timedelta(seconds=60)):
        return
    delivery = Delivery.objects.select_related("migration").get(pk=delivery_id)
    outcome = _call(delivery, now)
    attempts = delivery.attempts + 1
    changes: dict[str, Any] = {
        "attempts": attempts,
        "status": outcome.status,
        "answer": outcome.answer,
        "state": outcome.state,
    }
    if outcome.state == _STATES.REFUSED and delivery.point == "confirm":
        changes |= {"state": _STATES.WAITING}
        changes["next_at"] = now + timedelta(seconds=ASK_AGAIN_SECONDS)
    elif outcome.state == _STATES.WAITING and attempts >= MOST_ATTEMPTS:
        changes |= {"state": _STATES.GIVEN_UP, "finished_at": now}
    elif outcome.state == _STATES.WAITING:
        changes["next_at"] = now + timedelta(seconds=min(2**attempts, 300))
    else:
        changes["finished_at"] = now
    Delivery.objects.filter(pk=delivery_id).update(**changes)


def _call(delivery: Delivery, now: datetime) -> _Outcome:
    body = json.dumps(delivery.body, sort_keys=True).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "claimyard",
        "Claimyard-Delivery": f"{delivery.migration.name}:{delivery.key}",
    }
    try:
        secret = secret_of(delivery.migration)
        headers["Claimyard-Signature"] = sign(secret, body, int(now.timestamp()))
        status, answer = calling.post(delivery.url, body, headers)
    except secrets.Undecryptable as error:
        return _Outcome(_STATES.WAITING, None, str(error))
    except calling.NotCalled as error:
        return _Outcome(_STATES.WAITING, None, str(error))
    text = answer[:LONGEST_ANSWER]
    if 200 <= status < 300:
        return _Outcome(_STATES.ACCEPTED, status, text)
    refused = 400 <= status < 500 and status not in (408, 425, 429)
    return _Outcome(_STATES.REFUSED if refused else _STATES.WAITING, status, text)
