"""Record a turn: the message, and a new speaker as an entity (E §2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import WithJsonSchema

from mnemolog.commands.decider import Command, Decider, Placed
from mnemolog.commands.graph import Graph, applied, entity_reads
from mnemolog.commands.memory_requests import Metadata
from mnemolog.commands.naming import bearers, name_of
from mnemolog.domain import principal
from mnemolog.domain.artifact import named_by
from mnemolog.domain.entity import PERSON
from mnemolog.domain.errors import IdempotencyConflict
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import clean
from mnemolog.domain.turn import Role
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import Attachment, TurnRecorded, turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event
from mnemolog.events.fields import MAX_DETAIL, AtMost, Detail, Id, Instant, Label, Uuid, Words, checked_by
from mnemolog.events.graph import ENTITIES, EntityEvent, EntityObserved
from mnemolog.events.graph_tags import spelling_tags
from mnemolog.events.shapes import label_shape

MAX_ATTACHMENTS = 50


def attachment_url(value: object, field: str) -> str:
    """A URL as it is; one that names an artifact has to name an id."""
    url = "" if value in (None, "") else clean(value, field, max_bytes=MAX_DETAIL)
    named_by(url)
    return url


class ShownAttachment(Attachment):
    """An attachment as it is recorded. Searches find a message by its captions, so they obey the rules of text."""

    type: Id
    url: Annotated[str, checked_by(attachment_url), WithJsonSchema(label_shape(MAX_DETAIL))] = ""
    caption: Detail = ""


class RecordTurn(Command):
    """Records one message of a producer. `turn_id` makes it idempotent; `entity_id` is generated.

    `mentioned_ids` are looked up, not part of the request.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"entity_id", "mentioned_ids"})
    needs: ClassVar[principal.Role] = principal.Role.PUBLISH

    turn_id: Id
    role: Role = Role.USER
    speaker: Label = ""
    text: Words = ""
    attachments: Annotated[tuple[ShownAttachment, ...], AtMost(MAX_ATTACHMENTS)] = ()
    metadata: Metadata = {}  # noqa: RUF012
    occurred_at: Instant
    entity_id: Uuid
    mentioned_ids: tuple[Uuid, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The state for a new turn: which turns are recorded, and the entities with the speaker's name."""

    recorded: Mapping[str, TurnRecorded] = field(default_factory=dict)
    people: Graph = field(default_factory=Graph)


def evolve(state: Conversation, event: Happened) -> Conversation:
    match event.payload:
        case TurnRecorded() as turn:
            return replace(state, recorded=updated(state.recorded, {turn.turn_id: turn}))
        case EntityEvent() | UserErased() as seen:
            return replace(state, people=applied(state.people, seen))
        case _:
            return state


def decide(state: Conversation, turn: RecordTurn) -> Sequence[Event]:
    """No event for a turn that is already recorded: producers may send it twice."""
    earlier = state.recorded.get(turn.turn_id)
    if earlier:
        # Reusing an id for different content is an error, unless the recorded text is erased and cannot be compared.
        said, says = ((one.thread_id, one.role, one.text) for one in (earlier, turn))
        if earlier.text and said != says:
            raise used_for_another(turn.turn_id)
        return []
    known = bearers(state.people, turn, turn.speaker, Scope.GLOBAL, PERSON) if _by_somebody(turn) else []
    if _by_somebody(turn) and not known:
        new = turn.entity_id
        name = name_of(turn, turn.speaker)
        return [
            EntityObserved(
                entity_id=new, category=PERSON, scope=Scope.GLOBAL, name=name, source_turn_ids=(turn.turn_id,)
            ),
            _recorded(turn, new),
        ]
    # An ambiguous speaker resolves to no entity.
    speaker = known[0].entity_id if len(known) == 1 else None
    return [_recorded(turn, speaker)]


def used_for_another(turn_id: str) -> IdempotencyConflict:
    fix = "send the same turn again, or use a new id"
    return IdempotencyConflict(f"the id {turn_id!r} was used for another turn", field="message_id", fix=fix)


def _by_somebody(turn: RecordTurn) -> bool:
    """Whether the speaker is a person or an agent: chat APIs name a tool by its function."""
    return bool(turn.speaker) and turn.role in (Role.USER, Role.ASSISTANT)


def _recorded(turn: RecordTurn, entity_id: UUID | None) -> TurnRecorded:
    return TurnRecorded(
        turn_id=turn.turn_id,
        thread_id=turn.thread_id,
        role=turn.role,
        run_id=turn.run_id,
        speaker_entity_id=entity_id,
        mentioned_ids=turn.mentioned_ids,
        speaker=turn.speaker,
        text=turn.text,
        attachments=tuple(Attachment(**shown.model_dump()) for shown in turn.attachments),
        metadata=turn.metadata,
    )


def _written(turn: RecordTurn, placed: Sequence[Placed]) -> Sequence[Placed]:
    """A turn's event follows that of a new speaker."""
    turns = [(place, event.payload) for place, event in placed if isinstance(event.payload, TurnRecorded)]
    place = next((place for place, recorded in turns if recorded.turn_id == turn.turn_id), None)
    if place is None:
        return []
    kinds = {place - 1: EntityObserved, place: TurnRecorded}
    return [one for one in placed if one[0] in kinds and isinstance(one[1].payload, kinds[one[0]])]


def _tags(state: Conversation, turn: RecordTurn) -> frozenset[str]:
    """The tags of the turn and of the speaker's name."""
    own = frozenset({turn_tag(turn.turn_id)})
    if not _by_somebody(turn):
        return own
    return own | entity_reads(state.people) | spelling_tags(name_of(turn, turn.speaker)) | {ENTITIES}


TURNS: Decider[RecordTurn, Conversation] = Decider(
    initial=Conversation(),
    subject=lambda turn: turn_tag(turn.turn_id),
    tags=_tags,
    evolve=evolve,
    decide=decide,
    written=_written,
    fresh=lambda turn: frozenset({turn_tag(turn.turn_id)}),
)
