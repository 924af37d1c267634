"""Classifies what was done to events that do not match their links."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part
from mnemolog.adapters.verify.log_check import fetch
from mnemolog.adapters.verify.stream_walk import Unfit, elsewhere
from mnemolog.adapters.verify.witness import Witnesses
from mnemolog.events.envelope import StreamId

AT_ONCE = 1000

Row = Mapping[str, Any]


async def named(pool: Pool, chain_key: bytes, unfit: Sequence[Unfit], witnesses: Witnesses) -> list[Damage]:
    """One damage per event. An event that no engine appended is called forged, unless more is known."""
    found: list[Damage] = []
    for first in range(0, len(unfit), AT_ONCE):
        some = unfit[first : first + AT_ONCE]
        twins = await _twins(pool, some)
        found += [_named(one, unfit, twins, chain_key, witnesses) for one in some]
    return found


async def _twins(pool: Pool, unfit: Sequence[Unfit]) -> Sequence[Row]:
    ids = [one.event.header.event_id for one in unfit]
    links = [one.event.link for one in unfit]
    async with pool.connection() as connection:
        return await fetch(connection, "same_event", event_ids=ids, links=links)


def _named(one: Unfit, unfit: Sequence[Unfit], twins: Sequence[Row], chain_key: bytes, witnesses: Witnesses) -> Damage:
    header = one.event.header
    kind, detail = _what(one, unfit, twins, chain_key, witnesses)
    return Damage(Part.EVENT, kind, header.stream, detail, header.seq, str(header.event_id))


def _what(
    one: Unfit, unfit: Sequence[Unfit], twins: Sequence[Row], chain_key: bytes, witnesses: Witnesses
) -> tuple[DamageKind, str]:
    header = one.event.header
    here = (header.stream, header.seq)
    twin_places = [_place(row) for row in twins if _same(row, one) and _place(row) != here]
    seen = witnesses.places.get(str(header.event_id))
    if seen is None:
        beside = [other for other in unfit if other.event.header.stream == header.stream]
        seq = elsewhere(one, beside, chain_key)
        seen = (header.stream, seq) if seq else None
    if seen is not None and seen != here:
        return _moved(here, seen, twin_places)
    if seen == here or one.confirmed or here in witnesses.genuine:
        return DamageKind.CHANGED, "it was changed after it was appended"
    if twin_places:
        return _moved(here, twin_places[0], twin_places)
    return DamageKind.FORGED, "no engine appended it"


def _moved(
    here: tuple[StreamId, int], origin: tuple[StreamId, int], existing: Sequence[tuple[StreamId, int]]
) -> tuple[DamageKind, str]:
    """Moved from another stream, or out of order; copied, if it still exists at its original place."""
    stream, seq = origin
    if stream != here[0]:
        return DamageKind.COPIED, f"it was appended as {stream} seq {seq}"
    if origin in existing:
        return DamageKind.REPLAYED, f"it was appended as seq {seq}, where it still stands"
    return DamageKind.REORDERED, f"it was appended as seq {seq}"


def _place(row: Row) -> tuple[StreamId, int]:
    return StreamId(row["tenant"], row["stream"]), row["seq"]


def _same(row: Row, one: Unfit) -> bool:
    return row["event_id"] == one.event.header.event_id or bytes(row["link"]) == one.event.link
