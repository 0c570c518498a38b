"""Leases on rows, so that two workers never act on one object at a time.

Claim with one conditional UPDATE, work outside any transaction, and write the result with an
UPDATE that still names the token. A worker that outlived its lease changes nothing.
"""

import uuid
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from apps.common.models import Leased


def claim(rows: QuerySet[Any], *, seconds: int) -> uuid.UUID | None:
    """Take the lease on the single row in `rows`; None when another worker holds it."""
    token = uuid.uuid4()
    # The database's clock: workers on several machines must agree on what has expired.
    free = Q(lease_until=None) | Q(lease_until__lt=Now())
    until = Now() + timedelta(seconds=seconds)
    taken = rows.filter(free).update(lease_token=token, lease_until=until)
    return token if taken == 1 else None


def finish(rows: QuerySet[Any], token: uuid.UUID, **changes: Any) -> bool:
    """Write `changes` and give the lease back; False when it had passed to someone else."""
    changes |= {"lease_token": None, "lease_until": None}
    return rows.filter(lease_token=token).update(**changes) == 1


__all__ = ["Leased", "claim", "finish"]
