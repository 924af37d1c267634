"""The clock of an engine and its source of ids."""

import os
from datetime import UTC, datetime
from uuid import UUID

from mnemolog.domain.identity import uuid7


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> UUID:
    return uuid7(now(), os.urandom(10))
