"""Messages are hints and rows are truth: a message that cannot be sent must fail nobody's work."""

from typing import Any

import structlog
from celery import Task
from kombu.exceptions import OperationalError

log = structlog.get_logger(__name__)


class Hint(Task):
    """What every task of the portal is. While the broker is away its sweep will find the row."""

    def apply_async(self, *args: Any, **options: Any) -> Any:
        try:
            return super().apply_async(*args, **options)
        except OperationalError as error:
            log.warning("message not sent", task=self.name, why=str(error)[:200])
            return None
