"""The grammars of names that a pattern may carry into a cluster, and literals that cannot escape.

Sources: k8s.io/api resource/v1 (QualifiedName, FullyQualifiedName, DeviceRequest.name) and
apimachinery's validation of DNS labels, subdomains and label keys.
"""

import re

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def is_dns_label(text: str) -> bool:
    return _DNS_LABEL.fullmatch(text) is not None


def is_subdomain(text: str, *, longest: int = 253) -> bool:
    return len(text) <= longest and _SUBDOMAIN.fullmatch(text) is not None


def is_identifier(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None


def is_fully_qualified(text: str) -> bool:
    """A name of an attribute or capacity with its domain, such as gpu.nvidia.com/profile."""
    domain, slash, name = text.partition("/")
    return bool(slash) and is_subdomain(domain, longest=63) and is_identifier(name)


def is_label_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return _LABEL_NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    return text == "" or _LABEL_NAME.fullmatch(text) is not None


def is_extended_resource(text: str) -> bool:
    """A resource name with a domain of its own; the kubernetes.io domains are not for sale."""
    domain, slash, _ = text.partition("/")
    return bool(slash) and is_label_key(text) and not domain.endswith("kubernetes.io")


def cel_string(text: str) -> str:
    """A CEL string literal of exactly this text: everything but plain ASCII is escaped.

    Raises ValueError for a lone surrogate, which no CEL string can hold.
    """
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character not in '"\\' and 0x20 <= code < 0x7F:
        return character
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError("text with half a surrogate pair is not Unicode")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
