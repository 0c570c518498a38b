"""One spelling of JSON per value, so that equal content has an equal hash on every machine."""

import hashlib
import json
from typing import Any


def text(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, UTF-8 as it is."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """The SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(text(value).encode("utf-8", "surrogatepass")).hexdigest()
