from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.common import vendored


class Command(BaseCommand):
    help = "Compare the files in static/vendor with the hashes in VENDOR.md."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        faults = vendored.faults(settings.BASE_DIR / "static" / "vendor")
        if faults:
            raise CommandError("\n".join(faults))
        self.stdout.write("Vendored files are as listed.")
