"""Semantic versions as the semver library of Kubernetes' CEL reads and orders them."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple

MAX_NUMBER = 2**64 - 1
DIGITS = re.compile(r"[0-9]*", re.ASCII)
WORD = re.compile(r"[0-9A-Za-z-]*", re.ASCII)


class InvalidSemver(ValueError):
    """The text is no semantic version; the message is upstream's."""


class Semver(NamedTuple):
    """`order` sorts as semver 2.0.0 says; build metadata is not part of it."""

    major: int
    minor: int
    patch: int
    order: tuple[tuple[int, int | str], ...]
    text: str

    @property
    def key(self) -> tuple[int, int, int, bool, tuple[tuple[int, int | str], ...]]:
        return self.major, self.minor, self.patch, not self.order, self.order


@lru_cache(maxsize=16384)
def parse_semver(text: str) -> Semver:
    """Raises InvalidSemver."""
    if not text:
        raise InvalidSemver("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise InvalidSemver("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    rest, dash, prerelease = rest.partition("-")
    patch = _number("patch", rest)
    order = tuple(_identifier(part) for part in prerelease.split(".")) if dash else ()
    if plus:
        _check_build(build)
    return Semver(major, minor, patch, order, text)


def _number(name: str, text: str) -> int:
    if not DIGITS.fullmatch(text):
        raise InvalidSemver(f"Invalid character(s) found in {name} number {json.dumps(text)}")
    if len(text) > 1 and text[0] == "0":
        raise InvalidSemver(
            f"{name.capitalize()} number must not contain leading zeroes {json.dumps(text)}"
        )
    if not text:
        raise InvalidSemver('strconv.ParseUint: parsing "": invalid syntax')
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if int(text) > MAX_NUMBER:
        raise InvalidSemver(f"strconv.ParseUint: parsing {json.dumps(text)}: value out of range")
    return int(text)


def _identifier(text: str) -> tuple[int, int | str]:
    if not text:
        raise InvalidSemver("Prerelease is empty")
    if DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise InvalidSemver(
                "Numeric PreRelease version must not contain leading zeroes " + json.dumps(text)
            )
        return 0, _unsigned(text)
    if not WORD.fullmatch(text):
        raise InvalidSemver(f"Invalid character(s) found in prerelease {json.dumps(text)}")
    return 1, text


def _check_build(build: str) -> None:
    for part in build.split("."):
        if not part:
            raise InvalidSemver("Build meta data is empty")
        if not WORD.fullmatch(part):
            raise InvalidSemver(f"Invalid character(s) found in build meta data {json.dumps(part)}")


def normalized_semver(text: str) -> Semver:
    """Reads `v1.2` and `01.2.3` too, as `semver(text, true)` does. Raises InvalidSemver."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if re.search("[+-]", parts[-1]):
            raise InvalidSemver("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse_semver(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdigit() else "0" + stripped
