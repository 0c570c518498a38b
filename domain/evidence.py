"""The form of a signed bundle of evidence: what is signed, byte for byte, and how two figures are
compared. Signing itself needs a key and is elsewhere."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from domain import canonical

FORMAT = "claimyard.dev/evidence/v1"
DECIMALS = 9
Json = dict[str, Any]


class BadBundle(ValueError):
    """Not a bundle of this format, or not the one that was signed; the message says what."""


def settled(value: Any) -> Any:
    """The same in a spelling that survives any JSON reader and database: whole numbers without a
    point, others with nine decimals at most, no infinities."""
    if isinstance(value, bool) or value is None or isinstance(value, int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        rounded = round(value, DECIMALS)
        return int(rounded) if rounded == int(rounded) and abs(rounded) < 2**53 else rounded
    if isinstance(value, dict):
        return {str(key): settled(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [settled(one) for one in value]
    raise BadBundle(f"{type(value).__name__} has no place in JSON.")


def signed_bytes(content: Json) -> bytes:
    """What the signature is of: format and content as canonical JSON in UTF-8."""
    return canonical.text({"format": FORMAT, "content": content}).encode()


def parts(bundle: object) -> tuple[Json, Json]:
    """Content and signature of a bundle whose digest is right; raises BadBundle."""
    if not isinstance(bundle, dict) or bundle.get("format") != FORMAT:
        raise BadBundle(f"This is not a bundle of the format {FORMAT}.")
    content, signature = bundle.get("content"), bundle.get("signature")
    if not isinstance(content, dict) or not isinstance(signature, dict):
        raise BadBundle("The bundle has no content or no signature.")
    if bundle.get("digest") != canonical.digest({"format": FORMAT, "content": content}):
        raise BadBundle("The content is not what the digest is of: it was changed.")
    return content, signature


# --- Old against new
Direction = Literal["lower", "higher"]
SAME_PERCENT = 5.0


@dataclass(frozen=True, slots=True)
class Line:
    """One figure on both paths. `better` is the direction that is wished for."""

    key: str
    title: str
    unit: str
    better: Direction
    old: float | None
    new: float | None
    old_state: str = "live"
    new_state: str = "live"

    @property
    def change_percent(self) -> float | None:
        """None where one side is missing, or the old one is nothing."""
        if self.old is None or self.new is None or not self.old:
            return None
        return (self.new - self.old) / abs(self.old) * 100

    @property
    def verdict(self) -> str:
        """better, worse, same, or unknown; within five percent is the same."""
        if self.old is None or self.new is None:
            return "unknown"
        change = self.change_percent
        if change is None:
            return "same" if self.new == self.old else _word(self.new < self.old, self.better)
        if abs(change) <= SAME_PERCENT:
            return "same"
        return _word(change < 0, self.better)

    def as_dict(self) -> Json:
        return {
            "key": self.key,
            "title": self.title,
            "unit": self.unit,
            "better": self.better,
            "old": {"value": self.old, "state": self.old_state},
            "new": {"value": self.new, "state": self.new_state},
            "change_percent": self.change_percent,
            "verdict": self.verdict,
        }


def _word(is_less: bool, better: Direction) -> str:
    return "better" if is_less == (better == "lower") else "worse"
