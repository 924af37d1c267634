"""Incidents: damage that was found and the reaction, shown until acknowledged (X23).

Each is a line of JSON with a MAC, in a file beside that of the anchors and in a stream on JetStream: somebody who has
the database alone reaches neither, and one of the two is enough.
"""

import asyncio
import hmac
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

from nats.errors import Error as NatsError

from mnemolog.adapters.verify.anchor import canonical
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.damage import REBUILT, Damage, DamageKind, Part
from mnemolog.domain.errors import KeyMissing, NotFound, Tampered, TamperedEvent, TamperedRow
from mnemolog.events.envelope import StreamId

_logger = logging.getLogger("mnemolog.incidents")

STREAM, SUBJECTS = "MNEMOLOG_INCIDENTS", "mnemolog.incidents.*"
NODE = "engines"
# Beyond this many open incidents, only the log file gets more, so that repeated damage does not fill the disk.
MOST_OPEN = 10_000


class Done(StrEnum):
    """How it was handled."""

    REFUSED = "refused"  # Not shown, applied or passed on.
    HEALED = "healed"  # It was rebuilt from the log.
    REPORTED = "reported"  # Reported only.
    ACCEPTED = "accepted"  # An operator decided to continue.


class By(StrEnum):
    """Who found it."""

    LOG = "reading the log"
    RELAY = "relay"
    READ = "read"
    PROJECTION = "projection"
    START = "start"
    VERIFY = "verify"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class Incident:
    """What was found, where, when, by whom, and what was done."""

    id: str
    at: datetime
    found_by: str
    done: str
    damage: Damage
    acknowledged_at: datetime | None = None
    acknowledged_by: str = ""

    @property
    def open(self) -> bool:
        return self.acknowledged_at is None

    def as_dict(self) -> dict[str, Any]:
        """For programs and for the file; fields that do not apply are omitted."""
        found = {"id": self.id, "at": self.at.isoformat(), "found_by": self.found_by, "done": self.done}
        if self.acknowledged_at:
            found |= {"acknowledged_at": self.acknowledged_at.isoformat(), "acknowledged_by": self.acknowledged_by}
        return found | self.damage.as_dict()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Incident":
        at = datetime.fromisoformat(fields["at"])
        return cls(fields["id"], at, fields["found_by"], fields["done"], Damage.from_dict(fields))


class Incidents:
    """`load` reads stored incidents; `refresh` those that others added since. Storage errors are not raised.

    A stream that was deleted is created again, and all that is known is published again.
    """

    def __init__(
        self, path: Path, stream: AnchorStream, key: bytes, now: Callable[[], datetime], new_id: Callable[[], UUID]
    ) -> None:
        self.path, self._stream, self._key, self._now, self._new_id = path, stream, key, now, new_id
        self._found: dict[str, Incident] = {}
        self._at: dict[tuple[Any, ...], list[str]] = {}
        self._open: set[str] = set()
        self._acknowledged: dict[str, tuple[datetime, str]] = {}
        self._read_to = 0
        self._busy = asyncio.Lock()

    async def record(self, damage: Damage, found_by: By, done: Done) -> None:
        """Store it, unless it is known: an open one at the same place, or one that cannot be healed."""
        incident = Incident(self._new_id().hex, self._now(), found_by, done, damage)
        async with self._busy:
            await self._refresh()
            known = (self._with_word(self._found[one]) for one in self._at.get(damage.place, ()))
            if any(_same(one, incident) for one in known):
                return
            level = logging.INFO if found_by is By.VERIFY else logging.ERROR  # `verify` tells what it finds itself.
            _logger.log(level, "incident %s: %s %s of %s: %s", incident.id, *_said(incident))
            if len(self._open) < MOST_OPEN:
                self._add(incident)
                await self._write({"incident": incident.as_dict()})

    async def refused(self, damage: TamperedEvent, found_by: By = By.LOG) -> None:
        """An event that does not match the chain, or lost its key."""
        part, kind = Part.EVENT, DamageKind.CHANGED if damage.event_id else DamageKind.REMOVED
        if isinstance(damage, KeyMissing):
            part, kind = Part.KEY, DamageKind.KEY_MISSING
        stream = StreamId.from_text(damage.stream)
        place = Damage(part, kind, stream, damage.detail, damage.seq, damage.event_id)
        await self.record(place, found_by, Done.REFUSED)

    async def row(self, damage: TamperedRow, stream: StreamId, found_by: By, done: Done) -> None:
        """A row that its projector did not write, or that is missing."""
        kind, detail = DamageKind.CHANGED, "it is not a row that its projector wrote"
        if damage.missing:
            kind, detail = DamageKind.REMOVED, "it is missing"
        place = Damage(Part.ROW, kind, stream, detail, 0, "", damage.projection, damage.table, dict(damage.key))
        await self.record(place, found_by, done)

    async def healed(self, projection: str, stream: StreamId, damage: Tampered | None) -> None:
        """What a projection healed itself: a row that it did not write, or a stream ahead of its log."""
        if isinstance(damage, TamperedRow):
            await self.row(damage, stream, By.PROJECTION, Done.HEALED)
            return
        detail = "it had applied more than the log holds, and was rebuilt"
        place = Damage(Part.ROW, DamageKind.ROLLED_BACK, stream, detail, 0, "", projection, "progress")
        await self.record(place, By.PROJECTION, Done.HEALED)

    async def dropped(self, projection: str) -> None:
        """Tables that somebody dropped while the engine ran."""
        detail = "its tables were dropped; they were rebuilt from the log"
        place = Damage(Part.ROW, DamageKind.REMOVED, None, detail, projection=projection)
        await self.record(place, By.PROJECTION, Done.HEALED)

    async def acknowledge(self, ids: Sequence[str], by: str) -> Sequence[Incident]:
        """Acknowledge these incidents, or all open ones without `ids`. NotFound for an unknown id."""
        async with self._busy:
            await self._refresh()
            if unknown := set(ids) - self._found.keys():
                raise NotFound(
                    f"there is no incident {sorted(unknown)[0]!r:.80}", field="id", fix="run `mnemolog incident list`"
                )
            wanted = [one for one in self.all() if one.open and (not ids or one.id in ids)]
            at = self._now()
            for one in wanted:
                self._acknowledged[one.id] = (at, by)
                self._open.discard(one.id)
                await self._write({"acknowledged": one.id, "at": at.isoformat(), "by": by})
            return [self._with_word(self._found[id_]) for id_ in (ids or [one.id for one in wanted])]

    async def refresh(self) -> None:
        """Read what other processes stored."""
        async with self._busy:
            await self._refresh()

    def all(self) -> Sequence[Incident]:
        """Oldest first."""
        return sorted((self._with_word(one) for one in self._found.values()), key=lambda one: (one.at, one.id))

    def open(self) -> Sequence[Incident]:
        return [one for one in self.all() if one.open]

    def of_log(self, stream: StreamId) -> Damage | None:
        """Unacknowledged damage in the log of this stream."""
        wanted = (one for one in self.open() if (one.damage.part, one.damage.stream) == (Part.EVENT, stream))
        return next((one.damage for one in wanted if one.done != Done.ACCEPTED), None)

    def _with_word(self, one: Incident) -> Incident:
        if one.id not in self._acknowledged:
            return one
        at, by = self._acknowledged[one.id]
        return replace(one, acknowledged_at=at, acknowledged_by=by)

    def _add(self, incident: Incident) -> None:
        if incident.id in self._found:
            return
        self._found[incident.id] = incident
        self._at.setdefault(incident.damage.place, []).append(incident.id)
        if incident.id not in self._acknowledged:
            self._open.add(incident.id)

    async def load(self) -> None:
        """Read the file and JetStream."""
        async with self._busy:
            for line in await asyncio.to_thread(lambda: list(_lines(self.path))):
                self._take(line)
            await self._refresh()

    async def _refresh(self) -> None:
        try:
            place = await self._stream.last_place()
            deleted = place < self._read_to
            known = self._stored() if deleted else []
            there = set[bytes]()
            if place and place != self._read_to:
                async for line in self._stream.lines(0 if deleted else self._read_to):
                    self._take(line)
                    there.add(line)
            self._read_to = place
            if missing := [line for line in known if line not in there]:
                await self._stream.publish(NODE, missing)
        except (NatsError, OSError, TimeoutError) as error:
            _logger.warning("incidents on JetStream cannot be read: %r", error)

    def _stored(self) -> list[bytes]:
        """The lines of all that is known."""
        lines = [self._line({"incident": one.as_dict()}) for one in self._found.values()]
        for id_, (at, by) in self._acknowledged.items():
            lines.append(self._line({"acknowledged": id_, "at": at.isoformat(), "by": by}))
        return lines

    def _take(self, line: bytes) -> None:
        """Lines that no engine with this key wrote are ignored."""
        try:
            document = json.loads(line)
            body = document["body"]
            if not hmac.compare_digest(document["mac"], self._mac(body)):
                return
            if "incident" in body:
                self._add(Incident.from_dict(body["incident"]))
            else:
                self._acknowledged.setdefault(body["acknowledged"], (datetime.fromisoformat(body["at"]), body["by"]))
                self._open.discard(body["acknowledged"])
        except (ValueError, KeyError, TypeError):
            return

    async def _write(self, body: Mapping[str, Any]) -> None:
        line = self._line(body)
        try:
            # On disk when it returns; several processes may append, and a line torn by a crash spoils no other.
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, b"\n" + line + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            _logger.error("an incident cannot be kept in %s: %s", self.path, error)
        try:
            await self._stream.publish(NODE, [line])
        except (NatsError, OSError, TimeoutError) as error:
            _logger.warning("an incident went to its file only: %r", error)

    def _line(self, body: Mapping[str, Any]) -> bytes:
        return canonical({"body": body, "mac": self._mac(body)})

    def _mac(self, body: Mapping[str, Any]) -> str:
        return hmac.digest(self._key, canonical(body), "sha256").hex()


def _same(known: Incident, new: Incident) -> bool:
    """Whether two incidents at one place are the same.

    What cannot be rebuilt stays damaged after somebody acknowledged it. The rest can be damaged again.
    """
    stays = known.damage.part not in REBUILT and known.done != Done.HEALED
    return known.open or (stays and known.damage.event_id == new.damage.event_id)


def _said(one: Incident) -> tuple[str, str, str, str]:
    damage = one.damage
    return damage.kind, damage.part, str(damage.stream or damage.projection), f"{damage.detail} ({one.done})"


def _lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        yield from path.read_bytes().splitlines()
