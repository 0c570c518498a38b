import getpass
import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.tenancy import services
from apps.tenancy.models import PlatformRole, User


class Command(BaseCommand):
    help = (
        "Make a local account with platform roles, or give roles to one that exists. The first "
        "administrator of a new installation comes from here."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--role",
            action="append",
            choices=PlatformRole.values,
            help="may be given several times; admin if it is not given",
        )
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from standard input instead of asking for it",
        )

    def handle(
        self, *args: Any, username: str, role: list[str] | None, password_stdin: bool, **_: Any
    ) -> None:
        roles = [PlatformRole(one) for one in role or [PlatformRole.ADMIN]]
        try:
            if user := User.objects.filter(username__iexact=username).first():
                held = [PlatformRole(one) for one in user.platform_roles]
                services.set_platform_roles(actor=None, user=user, roles=[*held, *roles])
            else:
                password = self._password(password_stdin)
                services.create_account(
                    actor=None, username=username, password=password, platform_roles=roles
                )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"{username} has the platform roles {', '.join(roles)} now.")

    def _password(self, from_stdin: bool) -> str:
        if from_stdin:
            return sys.stdin.readline().rstrip("\n")
        password = getpass.getpass("Password: ")
        if password != getpass.getpass("Again: "):
            raise CommandError("the two passwords differ; nothing was made")
        return password
