"""API keys: made, listed, revoked, and the principal that each of them stands for (design §7).

A key reads `mnk_<id>_<secret>`. Of the secret, which is 32 random bytes, only an HMAC is kept, and a row is sealed
over all of its columns: who can write to the database can forge neither a key nor its rights (X08). What nobody
without the seal's key can do either is revoke: a row that was put back as it stood before is a key that is valid again.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from time import monotonic
from typing import Any

from sqlalchemy import ARRAY, Column, DateTime, LargeBinary, MetaData, Table, Text, exists, select, update
from sqlalchemy import text as statement
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.domain.errors import Conflict, NotFound, Unauthenticated
from mnemolog.domain.principal import Principal, Role, producer_name
from mnemolog.projections.seal import MAC, RowSeal, mac_column

PREFIX = "mnk"
ID_BYTES, SECRET_BYTES = 8, 32
LONGEST = 200
FRESH_SECONDS = 0.5  # So long a revoked key may still be taken.
MOST_HELD = 10_000

# Made by the migrations.
_keys = Table(
    "api_keys",
    MetaData(schema="mnemolog"),
    Column("key_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("agents", ARRAY(Text), nullable=False),
    Column("users", ARRAY(Text), nullable=False),
    Column("roles", ARRAY(Text), nullable=False),
    Column("secret_mac", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("revoked_at", DateTime(timezone=True)),
    mac_column(),
)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. `genuine`: an engine wrote the row as it stands; another opens nothing."""

    key_id: str
    principal: Principal
    created_at: datetime
    revoked_at: datetime | None
    genuine: bool
    secret_mac: bytes = field(repr=False)

    @property
    def valid(self) -> bool:
        return self.genuine and self.revoked_at is None

    def as_dict(self) -> dict[str, Any]:
        principal = self.principal
        return {
            "id": self.key_id,
            "name": principal.name,
            "tenant": principal.tenant,
            "agents": sorted(principal.agents),
            "users": sorted(principal.users),
            "roles": sorted(principal.roles),
            "created_at": self.created_at,
            "revoked_at": self.revoked_at,
            "genuine": self.genuine,
        }


class ApiKeys:
    """The keys of one deployment. What was read of one is believed for FRESH_SECONDS."""

    def __init__(
        self,
        engine: AsyncEngine,
        key: bytes,
        now: Callable[[], datetime],
        random_bytes: Callable[[int], bytes],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._engine, self._key, self._seal = engine, key, RowSeal(key)
        self._now, self._random_bytes, self._clock = now, random_bytes, clock
        self._held: dict[str, tuple[float, ApiKey | None]] = {}
        self._any, self._asked = False, float("-inf")

    async def create(self, principal: Principal) -> tuple[ApiKey, str]:
        """A new key, and its text, which is shown this once. Conflict for a producer's name that another key has."""
        key_id, secret = self._random_bytes(ID_BYTES).hex(), _text(self._random_bytes(SECRET_BYTES))
        made = ApiKey(key_id, principal, self._now(), None, True, self._secret_mac(key_id, secret))
        async with self._engine.begin() as connection:
            if principal.publishes:
                await self._require_free(connection, producer_name(principal.name))
            await connection.execute(_keys.insert(), self._row(made))
        self._any = True
        return made, f"{PREFIX}_{key_id}_{secret}"

    async def list(self) -> Sequence[ApiKey]:
        """Every key that was ever made, the oldest first."""
        async with self._engine.connect() as connection:
            rows = (await connection.execute(select(_keys).order_by(_keys.c.created_at, _keys.c.key_id))).mappings()
            return [self._opened(dict(row)) for row in rows]

    async def revoke(self, key_id: str) -> ApiKey:
        """Let a key open nothing any more; one that was revoked already stays so as it was."""
        found = await self._read(key_id)
        if found is None or not found.genuine:
            raise NotFound(f"there is no API key {key_id!r}", field="key_id", fix="see `mnemolog api-keys list`")
        if found.revoked_at is not None:
            return found
        revoked = replace(found, revoked_at=self._now())
        async with self._engine.begin() as connection:
            await connection.execute(update(_keys).where(_keys.c.key_id == key_id).values(self._row(revoked)))
        self._held.pop(key_id, None)
        return revoked

    async def any(self) -> bool:
        """Whether a key was ever made here. Once so, an engine never takes it back, whatever the table says."""
        if not self._any and self._clock() - self._asked > FRESH_SECONDS:
            async with self._engine.connect() as connection:
                self._any = bool(await connection.scalar(select(exists(select(_keys.c.key_id)))))
            self._asked = self._clock()
        return self._any

    async def principal(self, text: str) -> Principal:
        """Whom a key stands for; Unauthenticated for one that is unknown, forged or revoked, without saying which."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        found = await self._recent(key_id) if prefix == PREFIX and len(text) <= LONGEST and text.isascii() else None
        given = self._secret_mac(key_id, secret)
        fits = hmac.compare_digest(given, found.secret_mac if found else bytes(len(given)))
        if found is None or not fits or not found.valid:
            raise Unauthenticated("this API key opens nothing", field="Authorization", fix=_FIX)
        return found.principal

    async def producer(self, name: str) -> Principal | None:
        """Who publishes turns under a name; None where no key was ever made. Unauthenticated when nobody has it."""
        async with self._engine.connect() as connection:
            found = await self._producer(connection, name)
        if found is None and await self.any():
            raise Unauthenticated(
                "no producer has this subject", field="subject", fix=_FIX_PRODUCER if name else _FIX_NOBODY
            )
        return found.principal if found else None

    async def producers(self) -> frozenset[str]:
        """The names that publish turns, and those that did: what they said is recorded under ids of their own."""
        return frozenset(key.principal.name for key in await self.list() if key.principal.publishes)

    async def _producer(self, connection: AsyncConnection, name: str) -> ApiKey | None:
        named = select(_keys).where(_keys.c.name == name, _keys.c.revoked_at.is_(None))
        rows = (await connection.execute(named.order_by(_keys.c.created_at.desc()))).mappings()
        keys = map(self._opened, map(dict, rows))
        return next((key for key in keys if key.valid and key.principal.publishes), None)

    async def _require_free(self, connection: AsyncConnection, name: str) -> None:
        await connection.execute(_ONE_AT_A_TIME)
        if await self._producer(connection, name):
            raise Conflict(f"there is a producer {name!r} already", field="name", fix="remove it, or use another")

    async def _recent(self, key_id: str) -> ApiKey | None:
        at, found = self._held.get(key_id, (float("-inf"), None))
        if self._clock() - at > FRESH_SECONDS:
            at, found = self._clock(), await self._read(key_id)
            if len(self._held) >= MOST_HELD:
                self._held.clear()
            self._held[key_id] = at, found
        return found

    async def _read(self, key_id: str) -> ApiKey | None:
        async with self._engine.connect() as connection:
            rows = (await connection.execute(select(_keys).where(_keys.c.key_id == key_id))).mappings().all()
        return self._opened(dict(rows[0])) if rows else None

    def _opened(self, row: dict[str, Any]) -> ApiKey:
        ids = frozenset(row["agents"]), frozenset(row["users"])
        roles = frozenset(role for role in Role if role in row["roles"])
        principal = Principal(row["name"], row["tenant"], *ids, roles)
        genuine = self._seal.fits(_keys, row)
        dates = row["created_at"], row["revoked_at"]
        return ApiKey(row["key_id"], principal, *dates, genuine, bytes(row["secret_mac"]))

    def _row(self, key: ApiKey) -> dict[str, Any]:
        fields = key.as_dict()
        row = {column: fields[column] for column in ("name", "tenant", "agents", "users", "created_at", "revoked_at")}
        row |= {"key_id": key.key_id, "roles": list(map(str, fields["roles"])), "secret_mac": key.secret_mac}
        return {**row, MAC: self._seal.mac(_keys, row)}

    def _secret_mac(self, key_id: str, secret: str) -> bytes:
        return hmac.digest(self._key, f"{key_id} {secret}".encode(), sha256)


_ONE_AT_A_TIME = statement("LOCK TABLE mnemolog.api_keys IN SHARE ROW EXCLUSIVE MODE")
_FIX_PRODUCER = "publish to mnemolog.turns.<tenant>.<producer>, as `mnemolog producers add` names it"
_FIX_NOBODY = f"{_FIX_PRODUCER}; what came before: `mnemolog dead-letters replay ID --as PRODUCER`"
_FIX = "send `Authorization: Bearer mnk_...` with a key that `mnemolog api-keys create` gave"


def unauthenticated() -> Unauthenticated:
    """What is answered to who names no key where there are keys."""
    return Unauthenticated("this request names no API key", field="Authorization", fix=_FIX)


def _text(random: bytes) -> str:
    return urlsafe_b64encode(random).decode().rstrip("=")
