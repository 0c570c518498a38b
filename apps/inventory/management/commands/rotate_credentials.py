from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.common import secrets
from apps.inventory.models import Cluster


class Command(BaseCommand):
    help = (
        "Encrypt every stored credential anew under the first of CLAIMYARD_CREDENTIAL_KEYS, after "
        "which the others can be dropped. It may be repeated, and runs while the portal does."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="only see whether the keys open all of them"
        )

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        closed, count = [], 0
        for pk, name in Cluster.objects.order_by("name").values_list("pk", "name"):
            with transaction.atomic():
                row = Cluster.objects.select_for_update().only("credentials").get(pk=pk)
                if not row.credentials:
                    continue
                try:
                    row.credentials = secrets.rotate(bytes(row.credentials))
                except secrets.Undecryptable:
                    closed.append(name)
                    continue
                count += 1
                if not check:
                    Cluster.objects.filter(pk=pk).update(credentials=row.credentials)
        if closed:
            raise CommandError(
                f"none of CLAIMYARD_CREDENTIAL_KEYS opens the credentials of: {', '.join(closed)}; "
                "add the key they were stored under, or give these clusters new credentials"
            )
        verb = "can be opened" if check else "are encrypted under the first key"
        self.stdout.write(f"{count} credentials {verb}.")
