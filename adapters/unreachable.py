"""Driver errors that mean a server cannot be reached, and the server's own words."""

import re

import psycopg
import sqlalchemy.exc
from nats.errors import Error as NatsError
from psycopg_pool import PoolTimeout
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError, ResponseError

# What a server refuses, such as a table that is not there, is none of them.
UNREACHABLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    sqlalchemy.exc.OperationalError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.TimeoutError,
    PoolTimeout,
    NatsError,
    RedisError,
    OSError,
    TimeoutError,
)

# Rights, limits and things that are missing: what the server says of these quotes no value of a row.
_OF_NO_ROW = ("0A", "28", "3D", "3F", "42501", "42704", "42883", "42P01", "53", "54", "55", "57", "58")
_REDIS_REFUSES = (AuthenticationError, AuthorizationError, NoPermissionError, ResponseError)


def own_words(error: BaseException) -> str:
    """What a server answered when it refused, in its own words; "" when it did not answer, or may quote what is stored.

    A password is never among them, nor the statement.
    """
    fault = getattr(error, "orig", None) or error
    if isinstance(fault, psycopg.Error):
        if fault.diag.message_primary:
            known = str(fault.sqlstate).startswith(_OF_NO_ROW)
            said = [fault.diag.message_primary, fault.diag.message_detail, fault.diag.message_hint]
            return " ".join(one for one in said if one) if known else ""
        # While it connects, libpq has the words and no fields.
        found = re.search(r"FATAL:\s+(.+)", str(fault))
        return found[1].strip() if found else ""
    if isinstance(fault, _REDIS_REFUSES):
        return str(fault)
    if isinstance(fault, NatsError) and "authori" in str(fault).lower():
        return str(fault).removeprefix("nats: ").strip("'\"")
    return ""
