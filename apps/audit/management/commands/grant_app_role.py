from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection, transaction
from psycopg import sql

GRANTS = (
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
    "REVOKE UPDATE, DELETE, TRUNCATE ON audit_entry FROM {role}",
    "REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON django_migrations FROM {role}",
)


class Command(BaseCommand):
    help = (
        "Give the app's database role what it needs and no more: it cannot change audit rows or "
        "the schema. Run it as the owner after every migrate; it may be repeated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", help="the role in CLAIMYARD_DATABASE_URL of web and workers")

    def handle(self, *args: Any, role: str, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for grant in GRANTS:
                cursor.execute(sql.SQL(grant).format(role=sql.Identifier(role)))
        self.stdout.write(f"{role} may use the tables; audit rows it may only add and read.")
