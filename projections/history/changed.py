"""What each write changed of a subject: its fields before and after, folded from the log, where their values stand.

No row of the history holds a value, since values are personal: what was erased cannot be told of.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mnemolog.domain.artifact import Artifact
from mnemolog.domain.being import BeingEntry
from mnemolog.domain.document import Document
from mnemolog.domain.entity import Entity
from mnemolog.domain.episode import Episode
from mnemolog.domain.errors import KeyMissing
from mnemolog.domain.memory import Memory
from mnemolog.domain.relation import Relation
from mnemolog.domain.todo import Todo
from mnemolog.events.artifacts_fold import ARTIFACT
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.envelope import Recorded
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.event import Event
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.memory_fold import LINK, MEMORY
from mnemolog.events.profile_fold import FIELD, TODO, ProfileField
from mnemolog.events.subjects import SUBJECTS, WITH_HISTORY, of_each
from mnemolog.events.unread import Unread

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Changed:
    """A field, and its value before and after; None where there was none."""

    field: str
    old: Any
    new: Any


def by_seq(kind: str, id_: str, events: Sequence[Recorded]) -> Mapping[int, Mapping[str, Any]]:
    """By seq, what a history row adds: `changes`, whether their text is `erased`, and what recorded them."""
    subject, known = SUBJECTS[kind], dict[Any, Any]()
    own, found = subject.read_id(id_), dict[int, Mapping[str, Any]]()
    for event in events:
        before = _fields(kind, known.get(own))
        known |= subject.evolve(known, event.payload)
        unknown = event.payload.personal_fields() if event.erased else frozenset()
        after = _fields(kind, known.get(own))
        changes = [
            asdict(Changed(name, before.get(name), after.get(name)))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name) and name not in unknown
        ]
        found[event.seq] = {
            "changes": changes,
            "erased": event.erased,
            "run_id": event.meta.run_id,
            "rule": rule_of(event.payload),
        }
    return found


def rule_of(payload: Event) -> str | None:
    """The rule that an event was extracted by, after the name of its set."""
    metadata: Mapping[str, Any] = getattr(payload, "metadata", {})
    return getattr(payload, "rule", "") or metadata.get("rule") or metadata.get("extractor")


def require_keys(tag: str, events: Sequence[Recorded]) -> None:
    """Raise KeyMissing if text of a subject cannot be decrypted and none of its later events destroyed the key."""
    destroyed = False
    for event in reversed(events):
        if isinstance(event.payload, Unread):
            continue
        if event.erased and event.payload.key_scope() == tag and not destroyed:
            detail = f"the key of {tag} is gone, and no event says that it was destroyed"
            raise KeyMissing(str(event.stream), event.seq, detail, str(event.event_id))
        destroyed = destroyed or not event.payload.shreds().isdisjoint({tag, ""})


def _fields(kind: str, state: Any) -> Fields:
    shown = FIELDS[kind](state) if state is not None else {}
    return {name: value for name, value in shown.items() if value not in (None, "", [], {})}


def _memory(one: Memory) -> Fields:
    content = asdict(one.content)
    return {**content, "status": one.status.value, "merged_into": one.merged_into and str(one.merged_into)}


def _entity(one: Entity) -> Fields:
    traits = {**asdict(one.traits), "aliases": list(one.traits.aliases)}
    return {**traits, "status": one.status.value, "merged_into": one.merged_into and str(one.merged_into)}


def _relation(one: Relation) -> Fields:
    return {
        "value": one.value,
        "confidence": one.confidence,
        "metadata": dict(one.metadata),
        "status": one.status.value,
        "periods": [[period.valid_from, period.valid_to] for period in one.validity.periods],
    }


def _profile_field(one: ProfileField) -> Fields:
    return {"values": list(one.setting.values) if one.setting else []}


def _todo(one: Todo) -> Fields:
    return {"text": one.text, "kind": one.kind.value, "status": one.status.value, "due": one.due}


def _artifact(one: Artifact) -> Fields:
    shown = {"name": one.name, "type": one.type.value, "mime": one.mime, "url": one.url, "status": one.status.value}
    return {**shown, "extraction": one.extraction.value, "source_turn_ids": list(one.source_turn_ids)}


def _document(one: Document) -> Fields:
    file = asdict(one.revision)
    return {"source": one.source, **file, "chunks": len(one.ranks), "status": one.status.value}


def _episode(one: Episode) -> Fields:
    return {
        "status": one.status.value,
        "last_turn_id": one.last.turn_id if one.last else None,
        "closed_by": one.closed_by,
        "merged_into": one.merged_into and str(one.merged_into),
    }


def _being_entry(one: BeingEntry) -> Fields:
    return {"store": one.store.value, "key": one.key, **one.body, "read": one.read, "removed": one.removed}


FIELDS: Mapping[str, Callable[[Any], Fields]] = of_each(
    "FIELDS in projections/history/changed.py",
    {
        MEMORY.name: _memory,
        LINK.name: lambda link: {},  # The row of a link says everything about it.
        ENTITY.name: _entity,
        RELATION.name: _relation,
        FIELD.name: _profile_field,
        TODO.name: _todo,
        ARTIFACT.name: _artifact,
        EPISODE.name: _episode,
        DOCUMENT.name: _document,
        BEING_ENTRY.name: _being_entry,
    },
    WITH_HISTORY,
)
