"""`python -m workers.placement`: answer placement asks until told to stop.

It wakes by NOTIFY and looks every second all the same, so a lost notification costs a second. It
ends by itself above its memory limit, for its supervisor to start it anew: Python callbacks of the
CEL library leak a little for each evaluation.
"""

import os
import resource
import signal
import sys
import time
from pathlib import Path
from types import FrameType

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
django.setup()

import psycopg  # noqa: E402 - settings come first
import structlog  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import Error, close_old_connections, connection  # noqa: E402

from apps.common import asks  # noqa: E402
from workers.placement.service import Service  # noqa: E402

log = structlog.get_logger("workers.placement")
IDLE_SECONDS = 1.0
WARM_EVERY_SECONDS = 5.0


class Stopped(BaseException):
    """SIGTERM or SIGINT. Not an Exception: nothing that catches those may swallow it."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


def main() -> int:
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    service = Service()
    service.register()
    log.info("placement worker ready")
    try:
        while True:
            try:
                _serve(service)
            except (Error, psycopg.Error) as error:
                log.warning("database away", error=str(error).splitlines()[0])
                time.sleep(IDLE_SECONDS)
                close_old_connections()
                connection.close()
            else:
                log.warning("memory limit reached, restarting", mib=_memory_mib())
                return 0
    except Stopped:
        return 0


def _serve(service: Service) -> None:
    """Until memory is over the limit; returns then."""
    with connection.cursor() as cursor:
        cursor.execute(f'LISTEN "{asks.CHANNEL}"')
    warmed = 0.0
    while _memory_mib() < settings.PLACEMENT_MEMORY_MIB:
        service.serve()
        if time.monotonic() - warmed > WARM_EVERY_SECONDS:
            service.keep_warm()
            warmed = time.monotonic()
        _sleep_until_asked()


def _sleep_until_asked() -> None:
    raw = connection.connection
    if raw is None:
        time.sleep(IDLE_SECONDS)
        return
    for _ in raw.notifies(timeout=IDLE_SECONDS, stop_after=1):
        return


def _memory_mib() -> int:
    """Resident memory now, not the highest there ever was: a cold build peaks and gives back."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() // 2**20


if __name__ == "__main__":
    sys.exit(main())
