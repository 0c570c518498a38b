"""Secrets at rest: Fernet with rotating keys.

The first key of CREDENTIAL_KEYS encrypts; every key decrypts. `rotate` re-encrypts under the first,
after which old keys can be dropped.
"""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class Undecryptable(Exception):
    """No configured key opens this secret; the message names no part of it."""


def _box() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.CREDENTIAL_KEYS])


def seal(plain: bytes) -> bytes:
    return _box().encrypt(plain)


def unseal(sealed: bytes) -> bytes:
    """Raise Undecryptable when the keys have been lost or rotated away."""
    try:
        return _box().decrypt(bytes(sealed))
    except InvalidToken:
        raise Undecryptable("none of CLAIMYARD_CREDENTIAL_KEYS opens this secret") from None


def rotate(sealed: bytes) -> bytes:
    try:
        return _box().rotate(bytes(sealed))
    except InvalidToken:
        raise Undecryptable("none of CLAIMYARD_CREDENTIAL_KEYS opens this secret") from None
