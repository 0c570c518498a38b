"""Settings come from the environment and from nowhere else.

Each reader takes the variable's name without its `CLAIMYARD_` prefix and a sentence of help, and
records both, so that docs/settings.md can be checked against what is really read. A value that
cannot be used stops the start with a sentence that names the variable.
"""

import base64
import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

PREFIX = "CLAIMYARD_"


class BadSetting(SystemExit):
    """A variable whose value cannot be used. The message is for the person who set it."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{PREFIX}{name} {problem}")


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    default: str
    help: str
    is_secret: bool = False
    is_optional: bool = False


KNOWN: dict[str, Setting] = {}


def _read(name: str, default: str | None, help: str, *, is_secret: bool = False) -> str | None:
    KNOWN[name] = Setting(PREFIX + name, "" if default is None else default, help, is_secret)
    value = os.environ.get(PREFIX + name)
    if value is not None and f"{PREFIX}{name}_FILE" in os.environ:
        raise BadSetting(name, f"is set together with {PREFIX}{name}_FILE; set only one of them")
    return default if value is None else value


def text(name: str, default: str, help: str) -> str:
    return _read(name, default, help) or ""


def flag(name: str, default: bool, help: str) -> bool:
    value = _read(name, "true" if default else "false", help)
    if value not in ("true", "false"):
        raise BadSetting(name, f"is {value!r}; it must be true or false")
    return value == "true"


def number(name: str, default: int, help: str, *, least: int = 0) -> int:
    value = _read(name, str(default), help) or ""
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise BadSetting(name, f"is {value!r}; it must be a whole number, {least} or more")
    return int(value)


def words(name: str, default: str, help: str) -> list[str]:
    """A list separated by commas; blanks around each word are dropped."""
    value = _read(name, default, help) or ""
    return [word.strip() for word in value.split(",") if word.strip()]


def secret(name: str, default: str | None, help: str) -> str:
    """The variable itself, or the content of the file that NAME_FILE names (its last newline cut).

    Without a default, leaving both unset stops the start.
    """
    value = _secret(name, default, help)
    if not value:
        raise BadSetting(name, f"is not set; set it or {PREFIX}{name}_FILE ({help})")
    return value


def secrets(name: str, default: str | None, help: str) -> list[str]:
    """Several, separated by commas or line breaks; without a default at least one must be set."""
    value = _secret(name, default, help)
    found = [one.strip() for one in value.replace("\n", ",").split(",") if one.strip()]
    if not found and default is None:
        raise BadSetting(name, f"is not set; set it or {PREFIX}{name}_FILE ({help})")
    return found


def key(name: str, help: str) -> str:
    """An optional secret of 32 bytes in base64; "" when it is not set."""
    value = _secret(name, "", help)
    try:
        size = len(base64.b64decode(value, validate=True))
    except ValueError:
        size = -1
    if value and size != 32:
        raise BadSetting(name, "must be 32 bytes in base64, as `openssl rand -base64 32` prints")
    return value


def _secret(name: str, default: str | None, help: str) -> str:
    value = _read(name, None, help, is_secret=True)
    if default is not None:
        KNOWN[name] = replace(KNOWN[name], is_optional=True)
    path = os.environ.get(f"{PREFIX}{name}_FILE")
    if path is not None:
        try:
            value = Path(path).read_text(encoding="utf-8").rstrip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(f"{name}_FILE", f"cannot be read: {error}") from None
    return (default or "") if value is None else value


def database(name: str, default: str | None, help: str) -> dict[str, object]:
    """A PostgreSQL URL, postgresql://user:password@host:port/name, as Django's DATABASES entry.

    A path in `?host=` is a Unix socket's folder.
    """
    url = secret(name, default, help)
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql") or not parts.path.strip("/"):
        raise BadSetting(name, "must look like postgresql://user:password@host:port/name")
    try:
        port = parts.port
    except ValueError:
        raise BadSetting(name, "has a port that is not a number") from None
    query = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    host = unquote(query.pop("host", "")) or parts.hostname or ""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(port or ""),
        "OPTIONS": {key: unquote(value) for key, value in query.items()},
    }
