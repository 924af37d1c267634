"""Webhooks: which addresses may be called, when to try again, and how a delivery is signed (Standard Webhooks)."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from socket import inet_aton
from urllib.parse import urlsplit

from mnemolog.domain.errors import InvalidInput

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32
MAX_URL = 2000
# With doubled delays of at most an hour, 35 attempts take about a day.
MAX_ATTEMPTS = 35
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 1.0, 3600.0
# A webhook that failed for so long without a success is paused.
PAUSE_AFTER = timedelta(days=1)
# How long a secret that was replaced stays valid beside the new one.
KEPT_HOURS, MAX_KEPT_HOURS = 24, 168

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Public by their numbers, but answered by the host of a virtual machine: Azure's wire server, Oracle's metadata.
_METADATA: Sequence[Network] = (ip_network("168.63.129.16/32"), ip_network("192.0.0.0/24"))
# NAT64 (RFC 6052): the last 32 bits are an IPv4 address.
_NAT64 = IPv6Network("64:ff9b::/96")


def checked_url(url: object, field: str = "url") -> str:
    """An http or https URL without credentials and fragment; InvalidInput otherwise."""
    try:
        assert isinstance(url, str)
        parts = urlsplit(url)
        usable = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
        plain = (
            url.isascii() and url.isprintable() and url.startswith(parts.scheme) and not set(url) & set(' "<>\\^`{|}')
        )
        if usable and plain and len(url) <= MAX_URL and "@" not in parts.netloc and not parts.fragment:
            return url
    except (AssertionError, ValueError):
        pass
    raise InvalidInput(
        "is not a URL that webhooks can be sent to",
        field=field,
        fix="write it as https://HOST/PATH, in ASCII, without a user, a password or a fragment",
    )


def require_allowed_url(url: str, networks: Sequence[Network]) -> None:
    """InvalidInput for a URL that is never called: without TLS, or with an address that is not allowed.

    What a name stands for is checked at each delivery.
    """
    parts = urlsplit(url)
    address = literal_address(parts.hostname or "")
    if parts.scheme == "http" and not networks:
        raise InvalidInput("is not encrypted", field="url", fix="use https, or set webhook_networks to call http there")
    if address is not None and not is_allowed(address, networks, encrypted=parts.scheme == "https"):
        raise InvalidInput(
            f"{address} is not a public address",
            field="url",
            fix="use a public address over https, or allow this one with webhook_networks",
        )


def literal_address(host: str) -> Address | None:
    """The address that a host name is, in any form that resolvers read, such as 2130706433 or 0x7f.1; or None."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(inet_aton(host))
    except (OSError, ValueError):
        return None


def is_allowed(address: Address, networks: Sequence[Network], *, encrypted: bool) -> bool:
    """Whether a delivery may connect to an address: a public one over TLS, or one of the allowed networks."""
    addresses = _with_embedded(address)
    if any(one in network for one in addresses for network in networks):
        return True
    return encrypted and all(_is_public(one) for one in addresses)


def _with_embedded(address: Address) -> Sequence[Address]:
    """The address, or the IPv4 address to which it leads: mapped, 6to4, Teredo or NAT64."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    embedded: list[Address] = [address]
    if address.sixtofour:
        embedded.append(address.sixtofour)
    if address.teredo:
        embedded += address.teredo
    if address in _NAT64:
        embedded.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return embedded


def _is_public(address: Address) -> bool:
    inner = address.is_multicast or address.is_reserved or address.is_unspecified or not address.is_global
    nat64 = address in _NAT64  # Judged by the address inside.
    return (nat64 or not inner) and not any(address in network for network in _METADATA)


def delay(attempts: int, random: float) -> float:
    """Seconds until the next attempt: doubled each time up to an hour, less up to a half at random in [0, 1)."""
    longest: float = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** (min(attempts, 32) - 1))
    return longest * (0.5 + random / 2)


def retry_after(header: str, now: datetime) -> float:
    """The seconds that a header `Retry-After` asks to wait (RFC 9110): a number or a date. At most an hour.

    0 for a time that is past, or a header that cannot be read.
    """
    text = header.strip()
    try:
        if text.isascii() and text.isdigit():
            return min(LONGEST_DELAY_SECONDS, float(text))
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, min(LONGEST_DELAY_SECONDS, (until - now).total_seconds()))


def secret_text(secret: bytes) -> str:
    """A secret as its owner is shown it: `whsec_` and base64."""
    return SECRET_PREFIX + b64encode(secret).decode()


def secret_bytes(text: str) -> bytes:
    return b64decode(text.removeprefix(SECRET_PREFIX), validate=True)


def signatures(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`: for each secret, `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join("v1," + b64encode(hmac.digest(secret_bytes(one), signed, sha256)).decode() for one in secrets)
