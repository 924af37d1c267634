"""API keys: made, listed, revoked, and the principal that each of them stands for (design §7).

A key reads `mnk_<id>_<secret>`. Of the secret, which is 32 random bytes, only an HMAC is kept. What happens to keys are
events in a stream of their own, and each process holds what its chain tells: who can write to the database can forge,
widen, bring back or take away no key. Where that stream is damaged nobody is let in, and nobody falls open.
"""

import asyncio
import hmac
import logging
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256
from time import monotonic
from uuid import UUID

from mnemolog.commands import api_keys as commands
from mnemolog.commands.api_keys import ApiKey, KeyRing
from mnemolog.commands.handler import ATTEMPTS
from mnemolog.domain.errors import ConcurrencyConflict, MnemologError, Tampered, TamperedEvent, Unauthenticated
from mnemolog.domain.principal import OPERATOR, Principal
from mnemolog.events.access import ANY_KEY, API_KEYS, ApiKeyEvent
from mnemolog.events.chain import START, ChainReader
from mnemolog.events.envelope import Meta, NewEvent, StreamId
from mnemolog.events.log import Append, EventLog, Guard

_logger = logging.getLogger("mnemolog.api_keys")

PREFIX = "mnk"
ID_BYTES, SECRET_BYTES = 8, 32
LONGEST = 200
FRESH_SECONDS = 0.5  # So long a revoked key may still be taken.


class ApiKeys:
    """The keys of one deployment. What was read is believed for FRESH_SECONDS; then one query asks for the head.

    Tampered, whatever is asked, where the stream does not fit its chain or is shorter than it was.
    """

    def __init__(
        self,
        log: EventLog,
        key: bytes,
        chain_key: bytes,
        now: Callable[[], datetime],
        random_bytes: Callable[[int], bytes],
        new_id: Callable[[], UUID],
        *,
        clock: Callable[[], float] = monotonic,
        stream: StreamId = API_KEYS,
    ) -> None:
        self._log, self._key, self._chain_key, self._stream = log, key, chain_key, stream
        self._now, self._random_bytes, self._new_id, self._clock = now, random_bytes, new_id, clock
        self._ring, self._link = KeyRing(), START
        self._read_at, self._reading = float("-inf"), asyncio.Lock()

    async def create(self, principal: Principal, by: str = OPERATOR) -> tuple[ApiKey, str]:
        """A new key, and its text, which is shown this once. Conflict for a producer's name that another key has."""
        key_id, secret = self._random_bytes(ID_BYTES).hex(), _text(self._random_bytes(SECRET_BYTES))
        mac = self._secret_mac(key_id, secret)
        await self._append(lambda ring: [commands.create(ring, key_id, principal, mac)], by)
        return self._ring.keys[key_id], f"{PREFIX}_{key_id}_{secret}"

    async def list(self) -> Sequence[ApiKey]:
        """Every key that was ever made, the oldest first."""
        return sorted((await self._latest()).keys.values(), key=lambda key: (key.created_at, key.key_id))

    async def revoke(self, key_id: str, by: str = OPERATOR) -> ApiKey:
        """Let a key open nothing any more; one that was revoked already stays so as it was."""
        await self._append(lambda ring: commands.revoke(ring, key_id), by)
        return self._ring.keys[key_id]

    async def any(self) -> bool:
        """Whether a key was ever made here."""
        return bool((await self._recent()).keys)

    async def principal(self, text: str) -> Principal:
        """Whom a key stands for; Unauthenticated for one that is unknown or revoked, without saying which."""
        return (await self.verified(text)).principal

    async def verified(self, text: str) -> ApiKey:
        """The key with this text; Unauthenticated as for `principal`."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        is_key = prefix == PREFIX and len(text) <= LONGEST and text.isascii()
        found = await self._found(key_id) if is_key else None
        given = self._secret_mac(key_id, secret)
        fits = hmac.compare_digest(given, found.secret_mac if found else bytes(len(given)))
        if found is None or not fits or not found.valid:
            raise Unauthenticated("invalid or revoked API key", field="Authorization", fix=_FIX)
        return found

    async def current(self, key_id: str) -> Principal:
        """Whom a key stands for that was verified before; Unauthenticated once it is revoked."""
        found = (await self._recent()).keys.get(key_id)
        if found is None or not found.valid:
            raise Unauthenticated("invalid or revoked API key", field="Authorization", fix=_FIX)
        return found.principal

    async def producer(self, name: str) -> Principal | None:
        """Who publishes turns under a name; None where no key was ever made. Unauthenticated when nobody has it."""
        ring = await self._latest()
        found = ring.producer(name)
        if found is None and ring.keys:
            raise Unauthenticated(
                "this subject has no producer", field="subject", fix=_FIX_PRODUCER if name else _FIX_NOBODY
            )
        return found.principal if found else None

    async def named(self, tenant: str, name: str) -> Sequence[Principal]:
        """Whom the valid keys with a name in a tenant stand for."""
        keys = (await self._recent()).keys.values()
        return [
            key.principal for key in keys if key.valid and (key.principal.tenant, key.principal.name) == (tenant, name)
        ]

    async def producers(self) -> frozenset[str]:
        """The names that publish turns, and those that did: what they said is recorded under ids of their own."""
        return frozenset(key.principal.name for key in await self.list() if key.principal.publishes)

    async def refresh(self) -> None:
        """Read what was written since, whatever was read a moment ago."""
        await self._latest()

    async def take_over(self, rows: Sequence[tuple[ApiKey, bool]]) -> None:
        """Make events of the keys of an older version, once; of those that are genuine."""
        if rows and not (await self._latest()).keys:
            for forged in (key for key, genuine in rows if not genuine):
                _logger.error("API key %s is not taken over: no engine wrote its row as it stands", forged.key_id)
            genuine = [commands.take_over(key) for key, genuine in rows if genuine]
            await self._append(lambda ring: [] if ring.keys else genuine, OPERATOR)

    async def _append(self, decide: Callable[[KeyRing], Sequence[ApiKeyEvent]], by: str) -> None:
        """Decided on all that was written of keys by then, and again when another change came first."""
        for _ in range(ATTEMPTS):
            ring, at = await self._latest(), self._now()
            events = tuple(NewEvent(self._new_id(), event, Meta(actor=by), at) for event in decide(ring))
            if not events:
                return
            [outcome] = await self._log.append([Append(self._stream, events, Guard(frozenset({ANY_KEY}), ring.seq))])
            if not isinstance(outcome, MnemologError):
                await self._latest()
                return
            if not isinstance(outcome, ConcurrencyConflict):
                raise outcome
            conflict = outcome
        raise conflict

    async def _recent(self) -> KeyRing:
        if self._clock() - self._read_at > FRESH_SECONDS:
            async with self._reading:
                if self._clock() - self._read_at > FRESH_SECONDS:
                    await self._read_on()
        return self._ring

    async def _found(self, key_id: str) -> ApiKey | None:
        """A key that another process has created since the last look is looked for again, by one query at a time."""
        asked = self._clock()
        ring = await self._recent()
        if key_id not in ring.keys:
            async with self._reading:
                if self._read_at <= asked:
                    await self._read_on()
        return ring.keys.get(key_id)

    async def _latest(self) -> KeyRing:
        async with self._reading:
            await self._read_on()
        return self._ring

    async def _read_on(self) -> None:
        """Take what was written since, behind what this process has read: not behind what stands there now."""
        at, known = self._clock(), self._ring.seq
        try:
            head = await self._log.head(self._stream)
            if head > known or not known:
                async for batch in self._log.scan(self._stream, after=known):
                    chain = ChainReader(self._chain_key, self._stream, self._ring.seq, self._link)
                    sound, damage = chain.take(batch)
                    for event in await self._log.decode(sound):
                        self._ring.take(event)
                    self._link = chain.link
                    if damage:
                        raise damage
        except TamperedEvent as damage:
            raise self._damaged(f"event {damage.seq}: {damage.detail}") from damage
        if head < known:
            raise self._damaged(f"it ends at event {head} and had {known}")
        if self._ring.seq < head:
            raise self._damaged(f"it holds {self._ring.seq} of {head} events")
        self._read_at = at

    def _damaged(self, detail: str) -> Tampered:
        self._read_at = float("-inf")
        return Tampered(
            f"the log of API keys is damaged: {detail}",
            field="Authorization",
            fix="run `mnemolog verify`; API keys are refused until the log is restored from a backup",
        )

    def _secret_mac(self, key_id: str, secret: str) -> bytes:
        return hmac.digest(self._key, f"{key_id} {secret}".encode(), sha256)


_FIX_PRODUCER = "publish to mnemolog.turns.<tenant>.<producer>, as `mnemolog producer add` names it"
_FIX_NOBODY = f"{_FIX_PRODUCER}; what came before: `mnemolog dead-letter replay ID --as PRODUCER`"
_FIX = "send `Authorization: Bearer mnk_...` with a key that `mnemolog api-key create` gave"


def unauthenticated() -> Unauthenticated:
    """What is answered to who names no key where there are keys."""
    return Unauthenticated("missing API key", field="Authorization", fix=_FIX)


def _text(random: bytes) -> str:
    return urlsafe_b64encode(random).decode().rstrip("=")
