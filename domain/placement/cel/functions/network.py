"""IP addresses, CIDR networks and URLs."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Any
from urllib.parse import unquote_plus

from domain.placement.cel.functions.binding import overload
from domain.placement.cel.values import Address, CelError, LiteralMap, Network, Url

ASCII_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
HOST = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:\[\]<>\"%-]*")
PORT = re.compile(r":[0-9]*")
ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
PATH_SAFE = "$&+,/:;=@-_.~!'()*[]"
MASKS = {4: 32, 6: 128}


def _refused(text: str, why: str) -> CelError:
    shown = json.dumps(text, ensure_ascii=False)
    return CelError(
        f"IP Address {shown} parse error during conversion from string: ParseAddr({shown}): {why}"
    )


def parse_address(text: str) -> Address:
    if "%" in text:
        raise CelError(f"IP address {json.dumps(text)} with zone value is not allowed")
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise _refused(text, "unable to parse IP") from None
    if found.version == 6 and found.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {json.dumps(text)} is not allowed")
    return Address(found)


def address_text(address: Any) -> str:
    return str(address)


@overload("string_to_ip")
def to_address(text: str) -> Address:
    return parse_address(text)


@overload("is_ip")
def is_address(text: str) -> bool:
    try:
        parse_address(text)
    except CelError:
        return False
    return True


@overload("ip_is_canonical")
def is_canonical(text: str) -> bool:
    return address_text(parse_address(text).value) == text


@overload("ip_to_string")
def address_to_text(address: Address) -> str:
    return address_text(address.value)


@overload("ip_family")
def family(address: Address) -> int:
    return address.value.version


@overload("ip_is_unspecified")
def is_unspecified(address: Address) -> bool:
    return address.value.is_unspecified


@overload("ip_is_loopback")
def is_loopback(address: Address) -> bool:
    return address.value.is_loopback


@overload("ip_is_link_local_multicast")
def is_link_local_multicast(address: Address) -> bool:
    packed = address.value.packed
    if address.value.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


@overload("ip_is_link_local_unicast")
def is_link_local_unicast(address: Address) -> bool:
    packed = address.value.packed
    if address.value.version == 4:
        return packed[:2] == b"\xa9\xfe"
    return packed[0] == 0xFE and packed[1] & 0xC0 == 0x80


@overload("ip_is_global_unicast")
def is_global_unicast(address: Address) -> bool:
    value = address.value
    broadcast = value.version == 4 and value.packed == b"\xff\xff\xff\xff"
    return not (
        broadcast
        or value.is_unspecified
        or value.is_loopback
        or value.is_multicast
        or is_link_local_unicast(address)
    )


NETWORK_PROBLEM = "network address parse error during conversion from string: "


def parse_network(text: str) -> Network:
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise _bad_prefix(text, "no '/'")
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        raise _bad_prefix(text, f"ParseAddr({json.dumps(address)}): unable to parse IP") from None
    if "%" in address:
        raise _bad_prefix(text, "IPv6 zones cannot be present in a prefix")
    if not re.fullmatch(r"0|[1-9][0-9]{0,2}", bits, re.ASCII):
        raise _bad_prefix(text, f"bad bits after slash: {json.dumps(bits)}")
    if int(bits) > MASKS[found.version]:
        raise _bad_prefix(text, "prefix length out of range")
    if found.version == 6 and found.ipv4_mapped is not None:
        raise CelError(
            f"{NETWORK_PROBLEM}IPv4-mapped IPv6 address {json.dumps(text)} is not allowed"
        )
    return Network(found, int(bits))


def _bad_prefix(text: str, why: str) -> CelError:
    return CelError(
        f"{NETWORK_PROBLEM}{NETWORK_PROBLEM}netip.ParsePrefix({json.dumps(text)}): {why}"
    )


def _leading(address: Any, bits: int) -> int:
    return int(address) >> (MASKS[address.version] - bits)


def _covers(network: Network, address: Any) -> bool:
    return network.address.version == address.version and _leading(
        network.address, network.bits
    ) == _leading(address, network.bits)


@overload("string_to_cidr")
def to_network(text: str) -> Network:
    return parse_network(text)


@overload("is_cidr")
def is_network(text: str) -> bool:
    try:
        parse_network(text)
    except CelError:
        return False
    return True


@overload("cidr_to_string")
def network_to_text(network: Network) -> str:
    return f"{address_text(network.address)}/{network.bits}"


@overload("cidr_contains_ip_ip")
def contains_address(network: Network, address: Address) -> bool:
    return _covers(network, address.value)


@overload("cidr_contains_ip_string")
def contains_address_text(network: Network, text: str) -> bool:
    try:
        address = parse_address(text)
    except CelError:
        raise CelError("no such overload") from None
    return contains_address(network, address)


@overload("cidr_contains_cidr")
def contains_network(network: Network, other: Network) -> bool:
    return network.bits <= other.bits and _covers(network, other.address)


@overload("cidr_contains_cidr_string")
def contains_network_text(network: Network, text: str) -> bool:
    return contains_network(network, parse_network(text))


@overload("cidr_ip")
def network_address(network: Network) -> Address:
    return Address(network.address)


@overload("cidr_prefix_length")
def prefix_length(network: Network) -> int:
    return network.bits


@overload("cidr_masked")
def masked(network: Network) -> Network:
    size = MASKS[network.address.version]
    kept = int(network.address) >> (size - network.bits) << (size - network.bits)
    kind = type(network.address)
    return Network(kind(kept), network.bits)


def parse_url(text: str) -> Url:
    """What Go's url.ParseRequestURI accepts: an absolute URL or an absolute path."""
    refused = CelError(
        "URL parse error during conversion from string: "
        f"parse {json.dumps(text)}: invalid URI for request"
    )
    if not text or any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise refused
    scheme, rest = _scheme(text, refused)
    rest, _, _ = rest.partition("#")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/") and not scheme:
        raise refused
    host, path = "", rest
    if not rest.startswith("/"):
        return Url(scheme, "", "", query, text)
    if scheme and rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        host, path = host.rpartition("@")[2], slash + path
        _check_host(host, refused)
    if ESCAPE.search(path):
        raise refused
    return Url(scheme, host, path, query, text)


def _scheme(text: str, refused: CelError) -> tuple[str, str]:
    head, colon, rest = text.partition(":")
    if text.startswith(":"):
        raise refused
    if colon and ASCII_SCHEME.fullmatch(head):
        return head.lower(), rest
    return "", text


def _check_host(host: str, refused: CelError) -> None:
    _, bracket, port = host.rpartition("]") if host.startswith("[") else host.partition(":")
    if not HOST.fullmatch(host) or (host.startswith("[") and not bracket):
        raise refused
    tail = port if host.startswith("[") else bracket + port
    if tail and not PORT.fullmatch(tail):
        raise refused


@overload("string_to_url")
def to_url(text: str) -> Url:
    return parse_url(text)


@overload("is_url_string")
def is_url(text: str) -> bool:
    try:
        parse_url(text)
    except CelError:
        return False
    return True


@overload("url_get_scheme")
def scheme(url: Url) -> str:
    return url.scheme


@overload("url_get_host")
def host(url: Url) -> str:
    return url.host


@overload("url_get_hostname")
def hostname(url: Url) -> str:
    if url.host.startswith("["):
        return url.host[1:].partition("]")[0]
    name, colon, port = url.host.rpartition(":")
    return name if colon and (port.isdigit() or not port) else url.host


@overload("url_get_port")
def port(url: Url) -> str:
    tail = url.host.rpartition("]")[2]
    return tail.rpartition(":")[2] if ":" in tail else ""


@overload("url_get_escaped_path")
def escaped_path(url: Url) -> str:
    return "".join(
        char if char.isascii() and (char.isalnum() or char in PATH_SAFE + "%") else _escaped(char)
        for char in url.path
    )


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())


@overload("url_get_query")
def query(url: Url) -> dict[str, list[str]]:
    found = LiteralMap()
    for part in url.query.split("&"):
        if not part or ";" in part or ESCAPE.search(part):
            continue
        key, _, value = part.partition("=")
        found.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return found
