"""Driver errors that mean a server cannot be reached, and the server's own words."""

import errno
import os
import re

import psycopg
import sqlalchemy.exc
from nats.errors import Error as NatsError
from psycopg_pool import PoolTimeout
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, ResponseError

from mnemolog.adapters.redis import client as redis
from mnemolog.domain.errors import ServerFailed

# Excludes refusals by a server, such as a missing table.
UNREACHABLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    sqlalchemy.exc.OperationalError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.TimeoutError,
    PoolTimeout,
    NatsError,
    *redis.ERRORS,
    OSError,
    TimeoutError,
)

# Missing rights or objects and limits: these messages quote no value of a row.
_OF_NO_ROW = ("0A", "28", "3D", "3F", "42501", "42704", "42883", "42P01", "53", "54", "55", "57", "58")
_REDIS_REFUSES = (AuthenticationError, AuthorizationError, NoPermissionError, ResponseError)


def own_words(error: BaseException) -> str:
    """A server's own message when it refused; "" if it did not answer, or if the message may quote stored data.

    It never contains a password or the statement.
    """
    fault = getattr(error, "orig", None) or error
    if isinstance(fault, psycopg.Error):
        if fault.diag.message_primary:
            known = str(fault.sqlstate).startswith(_OF_NO_ROW)
            said = [fault.diag.message_primary, fault.diag.message_detail, fault.diag.message_hint]
            return " ".join(one for one in said if one) if known else ""
        # While connecting, libpq has the message but no fields.
        found = re.search(r"FATAL:\s+(.+)", str(fault))
        return found[1].strip() if found else ""
    if isinstance(fault, _REDIS_REFUSES):
        return str(fault)
    if isinstance(fault, NatsError) and "authori" in str(fault).lower():
        return str(fault).removeprefix("nats: ").strip("'\"")
    return ""


def failed(error: BaseException) -> ServerFailed:
    """The error for callers. It says nothing of the driver's, whose text may contain an address or values."""
    return used_up(error) or ServerFailed(fix="try again; if the error persists, run `mnemolog doctor`")


def used_up(error: BaseException) -> ServerFailed | None:
    """The error for callers if the disk is full or too many files are open, here or at a server."""
    fault = getattr(error, "orig", None) or error
    if isinstance(fault, psycopg.errors.DiskFull) or _is_error_of(fault, errno.ENOSPC, errno.EDQUOT):
        return ServerFailed(
            "there is no space left on the disk",
            fix="free some space and try again; acknowledged writes are kept",
        )
    if _is_error_of(fault, errno.EMFILE, errno.ENFILE):
        return ServerFailed("too many files are open", fix="raise the limit (`ulimit -n`) and try again")
    return None


def _is_error_of(fault: BaseException, *numbers: int) -> bool:
    """Servers quote the system's error: Redis with MISCONF, Postgres while connecting."""
    return getattr(fault, "errno", None) in numbers or any(os.strerror(number) in str(fault) for number in numbers)
