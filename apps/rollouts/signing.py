"""Signing and checking bundles of evidence with Ed25519.

The key is a setting; without one it is derived from the secret key, so that every bundle is signed.
"""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from domain import canonical
from domain.evidence import FORMAT, BadBundle, parts, settled, signed_bytes

ALGORITHM = "Ed25519"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PublicKey:
    """`text` is the 32 bytes in base64; `id` names it in a signature."""

    text: str
    id: str


def sign(content: Json) -> Json:
    """A bundle that anybody can check who has the public key."""
    found = settled(content)
    private, public = _private(), public_key()
    return {
        "format": FORMAT,
        "content": found,
        "digest": canonical.digest({"format": FORMAT, "content": found}),
        "signature": {
            "algorithm": ALGORITHM,
            "key_id": public.id,
            "public_key": public.text,
            "value": base64.b64encode(private.sign(signed_bytes(found))).decode(),
        },
    }


def verify(bundle: object, trusted: str) -> Json:
    """The content of a bundle that the trusted public key (base64) has signed; raises BadBundle.

    The key that a bundle carries is never believed: whoever changes one can sign it with their own.
    """
    content, signature = parts(bundle)
    if signature.get("algorithm") != ALGORITHM:
        raise BadBundle(f"The signature is not {ALGORITHM}.")
    if signature.get("public_key") != trusted:
        raise BadBundle("It was signed with another key than the trusted one.")
    try:
        key = Ed25519PublicKey.from_public_bytes(_raw(trusted, "public key"))
        key.verify(_raw(str(signature.get("value")), "signature"), signed_bytes(content))
    except InvalidSignature:
        raise BadBundle("The signature does not belong to this content.") from None
    except ValueError as error:
        raise BadBundle(f"Key or signature cannot be read: {error}") from None
    return content


def _raw(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise BadBundle(f"The {what} is not base64.") from None


def public_key() -> PublicKey:
    raw = (
        _private()
        .public_key()
        .public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    )
    return PublicKey(base64.b64encode(raw).decode(), hashlib.sha256(raw).hexdigest()[:16])


def _private() -> Ed25519PrivateKey:
    configured = str(settings.EVIDENCE_KEY)
    if configured:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(configured))
    derived = HKDF(hashes.SHA256(), 32, salt=None, info=b"claimyard evidence")
    return Ed25519PrivateKey.from_private_bytes(derived.derive(settings.SECRET_KEY.encode()))
