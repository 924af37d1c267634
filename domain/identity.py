"""Ids, times, and the encoding of tenants in NATS subjects."""

import unicodedata
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from uuid import UUID

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.lazy_regex import lazy_compile

MAX_IDENTIFIER = 200


def uuid7(at: datetime, random_bytes: bytes) -> UUID:
    """A UUID that sorts by time to the microsecond (RFC 9562 §5.7, §6.2 method 3), with 62 of the 80 bits given."""
    if len(random_bytes) != 10:
        raise InvalidInput(f"has {len(random_bytes)} bytes", field="random_bytes", fix="pass 10 random bytes")
    microseconds = (aware(at, "at") - _EPOCH) // timedelta(microseconds=1)
    if microseconds < 0:
        raise InvalidInput(f"{at.isoformat()} is before 1970", field="at", fix="use the time of recording")
    milliseconds, rest = divmod(microseconds, 1000)
    tail = int.from_bytes(random_bytes) & ((1 << 62) - 1)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | (rest * 4096 // 1000) << 64 | 0b10 << 62 | tail)


def parse_uuid(value: object, field: str) -> UUID:
    """Parse a UUID, or its text in 8-4-4-4-12 form."""
    if isinstance(value, UUID):
        return value
    if isinstance(value, str) and _UUID.fullmatch(value):
        return UUID(value)
    raise InvalidInput(f"{_shown(value)} is not a UUID", field=field, fix=f"send an id such as {_SAMPLE_UUID}")


def identifier(value: object, field: str, max_length: int = MAX_IDENTIFIER) -> str:
    """The id of a user, agent, thread or tenant as text; an int is converted to its decimal digits."""
    text = _id_text(value, field, max_length)
    if not text:
        raise InvalidInput("is empty", field=field, fix="send an id of at least one character")
    if text != text.strip():
        raise InvalidInput("has leading or trailing white space", field=field, fix="remove it")
    if len(text) > max_length:
        message = f"has {len(text):,} characters, at most {max_length} are accepted"
        raise InvalidInput(message, field=field, fix="use a shorter id, such as a UUID")
    if bad := next((c for c in text if unicodedata.category(c) in _UNFIT), None):
        raise InvalidInput(f"contains U+{ord(bad):04X}", field=field, fix="remove control characters and line breaks")
    return text


def aware(value: object, field: str, or_else: str = "") -> datetime:
    """The instant in UTC, from a datetime or ISO 8601 text with an offset. `or_else`: what else would do."""
    moment = _moment(value, field, or_else)
    if moment.utcoffset() is None:
        if isinstance(value, str) and _DAY.fullmatch(value):
            fix = f"send a time of that day, as in {value}T00:00:00Z"
            raise InvalidInput(f"{_shown(value)} is a day, not a time", field=field, fix=fix)
        raise InvalidInput(f"{moment.isoformat()} has no UTC offset", field=field, fix=f"add one, as in {_SAMPLE_TIME}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        message = f"{moment.isoformat()} is outside the years 1 to 9999 in UTC"
        raise InvalidInput(message, field=field, fix="send a date within them") from None


def day_or_instant(value: object, field: str) -> datetime:
    """A time with an offset, or a plain date, which means the start of that day in UTC (the example of B §6)."""
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            date.fromisoformat(value)
        except ValueError:
            message, fix = f"{_shown(value)} is not a day of the calendar", "send a day that exists, as in 2026-01-03"
            raise InvalidInput(message, field=field, fix=fix) from None
        value = f"{value}T00:00:00Z"
    return aware(value, field, or_else=", or a day, as in 2026-01-03")


def utc_text(at: datetime) -> str:
    """An instant as canonical text."""
    return at.astimezone(UTC).isoformat()


def subject_token(tenant: str) -> str:
    """The tenant id as a unique token of a NATS subject, of at most 120 characters.

    Each byte that is not an ASCII letter, digit, `_` or `-` becomes `%` and two hex digits. A longer result becomes
    `%-` and the SHA-256 of the id, which cannot collide with a short one.
    """
    plain = identifier(tenant, "tenant")
    token = _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), plain)
    return token if len(token) <= _MAX_TOKEN else f"%-{sha256(plain.encode()).hexdigest()}"


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLE_UUID = "01942b6e-7c00-7000-8000-000000000000"
_SAMPLE_TIME = "2026-01-03T01:02:10Z"
_DAY = lazy_compile(r"\d{4}-\d\d-\d\d")
# Stricter than UUID(), which also takes braces, "urn:uuid:", underscores and the digits of any script.
_UUID = lazy_compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
# Controls, line and paragraph separators, and lone surrogates, which UTF-8 cannot carry.
_UNFIT = frozenset({"Cc", "Zl", "Zp", "Cs"})
_UNSAFE = lazy_compile(r"[^A-Za-z0-9_-]+")
_MAX_TOKEN = 120


def _shown(value: object) -> str:
    """A refused value, shortened for an error message."""
    return ascii(value[:60]) if isinstance(value, str) else f"a value of type {type(value).__name__}"


def _id_text(value: object, field: str, max_length: int) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(f"must be text or an integer, not {type(value).__name__}", field=field, fix="send a string")
    # Python refuses to print integers above 4,300 digits, so their size is checked first.
    if value.bit_length() > 4 * max_length:
        raise InvalidInput(f"is an integer above {max_length} digits", field=field, fix="use a shorter id")
    return str(int(value))


def _moment(value: object, field: str, or_else: str) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    fix = f"send ISO 8601, as in {_SAMPLE_TIME}{or_else}"
    raise InvalidInput(f"{_shown(value)} is not a time", field=field, fix=fix)
