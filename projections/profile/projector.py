"""Folds profile, consent, todos and seeds into rows. Exactly once: rows and progress share a transaction."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import MetaData, Table, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.profile import place_of
from mnemolog.domain.todo import TodoStatus
from mnemolog.events.envelope import Recorded
from mnemolog.events.profile import (
    FieldEvent,
    ProfileDecided,
    ProfileErased,
    ProfileProposed,
    ProfileSet,
    TodoChanged,
    TodoErased,
    TodoEvent,
    TodoOpened,
    UserSeeded,
)
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import indexed, owner, owner_row
from mnemolog.projections.profile.tables import (
    NAME,
    READABLE_FROM,
    VERSION,
    consent,
    metadata,
    profile_fields,
    seeds,
    todos,
)
from mnemolog.projections.rows import Key, Row, fetch, load, primary_key, stored, upsert


class ProfileProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(FieldEvent | TodoEvent | UserSeeded)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        patches = {
            (*owner(event), event.payload.patch_id)
            for event in batch
            if isinstance(event.payload, ProfileProposed | ProfileDecided)
        }
        places = {(*owner(one), place_of(one.payload.field)) for one in batch if isinstance(one.payload, ProfileErased)}
        todo_ids = {(*owner(event), event.payload.todo_id) for event in batch if isinstance(event.payload, TodoEvent)}
        known = await load(connection, consent, patches)
        rows = {
            consent: {**known, **await _proposed_for(connection, places)},
            profile_fields: await load(connection, profile_fields, places),
            todos: await load(connection, todos, todo_ids),
            seeds: {},
        }
        changed: dict[Table, dict[Key, Row]] = {table: {} for table in rows}
        for event in batch:
            for table, key, row in after(rows, event):
                rows[table][key] = changed[table][key] = row
        for table, found in changed.items():
            await upsert(connection, table, list(found.values()))


Rows = Mapping[Table, dict[Key, Row]]
Change = tuple[Table, Key, Row]


async def _proposed_for(connection: AsyncConnection, places: Collection[Key]) -> dict[Key, Row]:
    """All proposals ever made for these fields."""
    if not places:
        return {}
    names = [(*whose, name) for *whose, place in places for name in (place, f"{place}_add")]
    place = tuple_(*indexed(consent), consent.c.field)
    wanted = select(*stored(consent)).where(place.in_(sorted(names)))
    found = await fetch(connection, consent, wanted)
    take_key = primary_key(consent)
    return {take_key(row): row for row in found}


def after(rows: Rows, event: Recorded) -> Sequence[Change]:
    """The rows that an event changes. A missing row, whose event was skipped, is ignored."""
    whose, payload = owner(event), event.payload
    match payload:
        case ProfileProposed(patch_id=patch_id):
            before = rows[consent].get((*whose, patch_id))
            return [(consent, (*whose, patch_id), _proposed(event, payload, before))]
        case ProfileDecided(patch_id=patch_id):
            proposal = rows[consent].get((*whose, patch_id))
            return [(consent, (*whose, patch_id), _decided(event, payload, proposal))] if proposal else []
        case ProfileSet(field=field):
            return [(profile_fields, (*whose, place_of(field)), _set(event, payload))]
        case ProfileErased(field=field):
            return _erased(rows, event, place_of(field))
        case TodoOpened(todo_id=todo_id):
            return [(todos, (*whose, todo_id), _opened(event, payload))]
        case TodoChanged(todo_id=todo_id) if todo := rows[todos].get((*whose, todo_id)):
            now = {"kind": payload.kind, "text": payload.text, "status": payload.status, "due": payload.due}
            return [(todos, (*whose, todo_id), {**todo, **now, "updated_at": event.recorded_at, "seq": event.seq})]
        case TodoErased(todo_id=todo_id) if todo := rows[todos].get((*whose, todo_id)):
            return [(todos, (*whose, todo_id), {**todo, "text": "", "seq": event.seq})]
        case UserSeeded(seed=seed):
            return [(seeds, (*whose, seed), _seeded(event, payload))]
        case _:
            return []


def _whose(event: Recorded) -> Row:
    return {**owner_row(event), "seq": event.seq}


def _proposed(event: Recorded, patch: ProfileProposed, before: Row | None) -> Row:
    same = ("patch_id", "field", "value", "sensitive", "signals", "confidence", "source", "origin", "expires_at")
    return {
        **_whose(event),
        **{name: getattr(patch, name) for name in same},
        "source_turn_ids": list(patch.source_turn_ids),
        "proposed_by": list(patch.proposed_by),
        "status": PatchStatus.PROPOSED,
        "decided_by": None,
        "decided_at": None,
        "proposed_at": before["proposed_at"] if before else event.recorded_at,
    }


def _decided(event: Recorded, decided: ProfileDecided, before: Row) -> Row:
    is_open = decided.decision is PatchStatus.PROPOSED  # By the undo of a refusal.
    by, at = (None, None) if is_open else (decided.by, event.recorded_at)
    return {**before, "status": decided.decision, "decided_by": by, "decided_at": at, "seq": event.seq}


def _set(event: Recorded, change: ProfileSet) -> Row:
    return {
        **_whose(event),
        "field": place_of(change.field),
        "held": list(change.values),
        "patch_id": change.patch_id,
        "source": change.source,
        "origin": change.origin,
        "source_turn_ids": list(change.source_turn_ids),
        "thread_id": event.meta.thread_id,
        "actor_id": event.meta.actor,
        "updated_at": event.recorded_at,
    }


def _erased(rows: Rows, event: Recorded, place: str) -> Sequence[Change]:
    """The structure stays: that something was set and proposed, by whom and when. Pending proposals expire."""
    whose = owner(event)
    key = (*whose, place)
    setting_row = (
        [(profile_fields, key, {**rows[profile_fields][key], "held": []})] if key in rows[profile_fields] else []
    )
    blank = [
        (consent, one, {**_closed(row, event), "value": ""})
        for one, row in rows[consent].items()
        if one[:-1] == whose and place_of(row["field"]) == place
    ]
    return [*setting_row, *blank]


def _closed(row: Row, event: Recorded) -> Row:
    """A proposal that can no longer be decided."""
    if row["status"] != PatchStatus.PROPOSED:
        return row
    verdict = {"status": PatchStatus.EXPIRED, "decided_by": event.meta.actor, "decided_at": event.recorded_at}
    return {**row, **verdict, "seq": event.seq}


def _opened(event: Recorded, opened: TodoOpened) -> Row:
    return {
        **_whose(event),
        "todo_id": opened.todo_id,
        "agent_id": opened.agent_id,
        "kind": opened.kind,
        "text": opened.text,
        "status": TodoStatus.OPEN,
        "due": opened.due,
        "source_turn_ids": list(opened.source_turn_ids),
        "thread_id": event.meta.thread_id,
        "created_at": event.recorded_at,
        "updated_at": event.recorded_at,
    }


def _seeded(event: Recorded, seeded: UserSeeded) -> Row:
    return {
        **_whose(event),
        "seed": seeded.seed,
        "source": seeded.source,
        "fields": list(seeded.fields),
        "memories": seeded.memories,
        "facts": seeded.facts,
        "actor_id": event.meta.actor,
        "seeded_at": event.recorded_at,
    }
