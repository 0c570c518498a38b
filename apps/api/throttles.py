"""Requests per minute and caller. Counted in the cache: while that is away, nobody is held back."""

import time
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import cache
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

WINDOW_SECONDS = 60
log = structlog.get_logger(__name__)


class PerMinute(BaseThrottle):
    """Reads and writes are counted apart, so that a busy dashboard cannot block a deployment."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        writes = request.method not in SAFE_METHODS
        limit: int = settings.API_WRITES_PER_MINUTE if writes else settings.API_READS_PER_MINUTE
        window = int(time.time() // WINDOW_SECONDS)
        key = f"throttle:{'w' if writes else 'r'}:{_caller(request)}:{window}"
        try:
            cache.add(key, 0, timeout=2 * WINDOW_SECONDS)
            return cache.incr(key) <= limit
        except Exception as error:  # noqa: BLE001 - a lost cache must not close the API
            log.warning("throttle not counted", error=type(error).__name__)
            return True

    def wait(self) -> float:
        return WINDOW_SECONDS - time.time() % WINDOW_SECONDS


def _caller(request: Request) -> str:
    token: Any = request.auth
    if token is not None:
        return f"token:{token.pk}"
    return f"user:{request.user.pk}" if request.user.pk else f"address:{_address(request)}"


def _address(request: Request) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
