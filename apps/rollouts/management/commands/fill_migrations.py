from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.inventory.models import Cluster
from apps.rollouts import demo
from apps.tenancy.models import User
from domain.errors import DomainError


class Command(BaseCommand):
    help = "Start the demo's migrations, after fill_demo. Repeatable: what is there stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--cluster", default="demo", help="short name of the cluster")

    def handle(self, *_: Any, cluster: str, **__: Any) -> None:
        row = Cluster.objects.filter(slug=cluster).first()
        admin = User.objects.filter(username="admin").first()
        if row is None or admin is None:
            raise CommandError("fill_demo has to run first")
        try:
            made = demo.fill(admin, row)
        except DomainError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Started: {', '.join(made) or 'nothing new'}.")
