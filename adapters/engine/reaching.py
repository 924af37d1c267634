"""Turns errors of servers that cannot be reached, or refuse, into one error that names the setting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import psycopg
from sqlalchemy.exc import DBAPIError

from mnemolog.adapters.cancellation import heeded
from mnemolog.adapters.embedded.servers import without_secrets
from mnemolog.adapters.unreachable import UNREACHABLE, own_words
from mnemolog.domain.errors import ServerFailed

SECONDS = 15.0
_INSTEAD = {"postgres": "the embedded server", "projections": "the database of the log"}
_CHECK = "see that it runs and that the address, user and password are right"


@asynccontextmanager
async def reaching(name: Literal["postgres", "projections", "nats", "redis"], url: str) -> AsyncIterator[None]:
    """ServerFailed if the code inside cannot reach the server, is refused by it, or times out."""
    try:
        async with asyncio.timeout(SECONDS):
            with heeded():
                yield
    except (*UNREACHABLE, psycopg.Error, DBAPIError) as error:
        where, words = f"{name} at {without_secrets(url)}", own_words(error)
        if words:
            raise ServerFailed(f"{where} refused: {words}", field=f"{name}_url", fix=_fix(words, name)) from error
        what = "does not answer" if isinstance(error, UNREACHABLE) else "refused a statement"
        raise ServerFailed(f"{where} {what} ({type(error).__name__})", field=f"{name}_url", fix=_CHECK) from error


def _fix(words: str, name: str) -> str:
    said = words.lower()
    if 'extension "vector"' in said:
        return (
            "install pgvector on that server, and have a superuser run CREATE EXTENSION vector in this database; or"
            f" leave {name}_url out and use {_INSTEAD[name]}, which has it"
        )
    if "password" in said or "authori" in said or "role" in said:
        return f"correct the user and the password in {name}_url"
    if "database" in said:
        return f"create the database, or correct its name in {name}_url"
    if "permission" in said or "privilege" in said:
        return f"give the user of {name}_url this right: docs/how-to/use-your-own-servers.md says which are needed"
    return _CHECK
