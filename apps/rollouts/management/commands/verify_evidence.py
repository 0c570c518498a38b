"""Check a bundle of evidence, of this installation or of another: it asks no database."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.rollouts import signing
from domain.evidence import BadBundle

LARGEST = 256 * 1024 * 1024


class Command(BaseCommand):
    help = "Check the signature of a migration's evidence and say what it is of."
    requires_system_checks: Any = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the JSON bundle")
        parser.add_argument(
            "--key",
            default="",
            help="the public key to trust, in base64; without it this portal's own",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        bundle = _read(options["file"])
        trusted = options["key"] or signing.public_key().text
        try:
            content = signing.verify(bundle, trusted)
        except BadBundle as error:
            raise CommandError(f"{options['file']}: NOT VALID. {error}") from None
        migration = content.get("migration") or {}
        samples = sum(len(one["samples"]) for one in content.get("gates") or ())
        self.stdout.write(
            f"{options['file']}: valid, signed by {trusted}\n"
            f"migration {migration.get('name')} in cluster {migration.get('cluster')}: "
            f"{migration.get('state')}, {'final' if content.get('is_final') else 'under way'}, "
            f"made at {content.get('made_at')}\n"
            f"{len(content.get('workloads') or ())} workloads, {samples} samples of gates, "
            f"{len(content.get('decisions') or ())} decisions"
        )


def _read(path: Path) -> object:
    try:
        if path.stat().st_size > LARGEST:
            raise CommandError(f"{path} is larger than any bundle.")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CommandError(f"{path} is not JSON: {error}") from None
