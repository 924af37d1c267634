"""The inference envelope: four slots with their authority and stability, as models that validate (A §1, Appendix A)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, FailFast, Field, JsonValue, ValidationError, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from mnemolog.domain.authority import Because, Slot
from mnemolog.domain.doubt import noted
from mnemolog.domain.errors import EnvelopeInvalid, InvalidInput
from mnemolog.domain.identity import parse_uuid
from mnemolog.domain.json_value import MAX_DOCUMENT_DEPTH, require_depth
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import Precision, shown
from mnemolog.domain.scope import Scope
from mnemolog.domain.sentence import since_when
from mnemolog.domain.session import SLOT_CONTRACT_VERSION
from mnemolog.events.fields import REFUSED, Instant, checked_by, fault_of

Version = Annotated[
    Literal["1.0"], Field(description="The version of the slots' form.", examples=[SLOT_CONTRACT_VERSION])
]
Score = Annotated[float, Field(ge=0, le=1)]


def _not_blank(value: object, field: str) -> object:
    if isinstance(value, str) and not value.strip():
        raise InvalidInput("is empty", field=field, fix="give its text, or remove it")
    return value


Said = Annotated[str, checked_by(_not_blank), WithJsonSchema({"type": "string", "minLength": 1})]


class Part(BaseModel):
    """A part of an envelope. A field that is not known is a fault."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True)


class Pulse(Part):
    """The regular check of an affect."""

    every_n_messages: int
    last_pulse_at: datetime | None
    still_valid: bool


class Mood(Part):
    """A mood with its confidence."""

    label: str
    confidence: Score
    markers: Annotated[list[str], FailFast()]
    decay_at: datetime
    pulse: Pulse


class AffectSlot(Part):
    """The mood of a thread, as its agent reads it."""

    slot_contract_version: Version
    user_id: str
    agent_id: str
    authority: Literal["non-factual"]
    stability: Literal["volatile"]
    ts: datetime
    affect: Mood
    interaction_mode: str
    topic_focus: str
    active_entity_ids: Annotated[list[UUID], FailFast()] = Field(
        description="The entities in focus, most recent first."
    )


class Overruled(Part):
    """What takes precedence over a statement, and why."""

    slot: Slot
    id: str = Field(
        min_length=1,
        description="The fact, memory or passage that takes precedence. A passage is in the envelope; a fact that "
        "ended, and a newer memory or message, may be missing from it.",
    )
    because: Because
    statement: str = Field(description="What it says.")

    @property
    def may_be_missing(self) -> bool:
        """Whether it may take precedence without being in the envelope: a fact that ended, or a newer memory."""
        match self.slot:
            case Slot.GRAPH:
                return _is_uuid(self.id) and bool(self.statement.strip())
            case Slot.KNOWLEDGE:
                return False
            case Slot.EPISODE:
                return True


class GraphEntity(Part):
    """An entity that the message mentions or that is active, or one at the end of a fact."""

    entity_id: UUID
    name: str
    seed: bool = Field(description="Whether the facts were looked for from here.")


class SaidSince(Part):
    """What the user said of a fact since it was stated."""

    id: str = Field(min_length=1, description="The message.")
    date: Instant = Field(description="When it was said.")
    text: str = Field(description="What of the message may end the fact.")


class GraphRelation(Part):
    """A fact that holds."""

    relation_id: UUID
    subject_id: UUID
    predicate: str = Field(min_length=1)
    object_id: UUID | None
    object_value: JsonValue = Field(description="The value of a fact without an object.")
    text: Said = Field(description="The fact as a sentence.", examples=["Ana lives in Leipzig"])
    scope: Scope
    origin: Origin = Field(Origin.USER, description="Where it comes from.")
    critical: bool
    confidence: Score
    since: Instant
    known_from: Instant | None = Field(
        None, description="When it was learned. If it holds since just then, nobody said since when."
    )
    until: Instant | None
    since_precision: Precision | None = Field(None, description="How precisely `since` is known, if not to the day.")
    until_precision: Precision | None = Field(None, description="How precisely `until` is known, if not to the day.")
    said_since: SaidSince | None = Field(None, description="What the user said last since then that may end it.")
    overruled_by: Overruled | None = None

    def dated(self, text: str) -> str:
        """The text, with since when the fact holds and what was said since."""
        until = f" until {shown(self.until, self.until_precision)}" if self.until else ""
        said = f"; {noted(self.said_since.date, self.said_since.text)}" if self.said_since else ""
        since = since_when(self.since, self.known_from, self.since_precision)
        return f"{text} ({since}{until}{said})"

    @model_validator(mode="after")
    def _one_object(self) -> Self:
        if (self.object_id is None) == (self.object_value is None):
            raise _fault("has both an object and a value, or neither", "give `object_id` or `object_value`")
        return self


class GraphSlot(Part):
    """What is known to be true: identity and constraints."""

    authority: Literal["authoritative"] = "authoritative"
    stability: Literal["persistent"] = "persistent"
    entities: Annotated[list[GraphEntity], FailFast()]
    relations: Annotated[list[GraphRelation], FailFast()]

    @model_validator(mode="after")
    def _closed(self) -> Self:
        known = {one.entity_id for one in self.entities}
        for place, one in enumerate(self.relations):
            for name, id_ in (("subject_id", one.subject_id), ("object_id", one.object_id)):
                if id_ is not None and id_ not in known:
                    raise _fault(f"{id_} is not among the entities", "add the entity", f".relations[{place}].{name}")
        _require_once("relations", "relation_id", [str(one.relation_id) for one in self.relations])
        return self


class EpisodeHit(Part):
    """A memory, a reflection or a message that answers."""

    id: str = Field(min_length=1)
    kind: str = Field(description="The kind of memory, or `message`.")
    origin: Origin = Field(Origin.USER, description="Where it comes from.")
    text: Said
    date: Instant = Field(description="When it was said.")
    score: Score
    similarity: float | None
    overruled_by: Overruled | None = None


class EpisodeSlot(Part):
    """What was said and what happened, for continuity."""

    authority: Literal["historical"] = "historical"
    stability: Literal["historical"] = "historical"
    hits: Annotated[list[EpisodeHit], FailFast()]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        _require_once("hits", "id", [one.id for one in self.hits])
        return self


class KnowledgeHit(Part):
    """A passage of a document in the agent's library."""

    id: str = Field(min_length=1)
    document_id: UUID
    source: str = Field(description="The path or name of the document.")
    domain: str = Field("", description="The field of knowledge of the document.")
    place: str = Field(description="Where in the document it stands, such as its headings.")
    origin: Literal[Origin.DOCUMENT] = Origin.DOCUMENT
    text: Said
    score: Score
    similarity: float | None
    overruled_by: Overruled | None = None

    @property
    def headed(self) -> str:
        """Its document and the place in it, which often names what it is about."""
        return ", ".join(filter(None, (self.source, self.place)))


class KnowledgeSlot(Part):
    """What documents say."""

    authority: Literal["static"] = "static"
    stability: Literal["static"] = "static"
    hits: Annotated[list[KnowledgeHit], FailFast()]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        _require_once("hits", "id", [one.id for one in self.hits])
        return self


class Envelope(Part):
    """All that a model is given to answer one message of a chat (A, Appendix A)."""

    slot_contract_version: Version
    user_id: str = Field(min_length=1)
    agent_id: str = Field(min_length=1)
    chat_id: str = Field(min_length=1, description="The thread, by the name that A gives it.")
    AFFECT: AffectSlot
    GRAPH: GraphSlot
    EPISODE: EpisodeSlot
    KNOWLEDGE: KnowledgeSlot

    @model_validator(mode="after")
    def _of_one_user(self) -> Self:
        for name in ("user_id", "agent_id"):
            if getattr(self.AFFECT, name) != getattr(self, name):
                raise _fault("differs from that of the envelope", "use one user and agent", f"AFFECT.{name}")
        return self

    @model_validator(mode="after")
    def _overruled_by_something(self) -> Self:
        shown = {(slot, id_) for slot, id_, _, _ in self.statements}
        places = dict.fromkeys(Slot, 0)
        for slot, id_, _, by in self.statements:
            path = f"{slot}.{'relations' if slot is Slot.GRAPH else 'hits'}[{places[slot]}].overruled_by.id"
            places[slot] += 1
            if by is not None and (by.slot, by.id) == (slot, id_):
                raise _fault("is the statement itself", "name what takes precedence, or remove `overruled_by`", path)
            if by is not None and (by.slot, by.id) not in shown and not by.may_be_missing:
                fix = "name a statement of that slot, or remove `overruled_by`"
                raise _fault(f"{by.id!r:.60} is not in {by.slot}", fix, path)
        return self

    @property
    def statements(self) -> Iterator[tuple[Slot, str, str, Overruled | None]]:
        """What the slots state: slot, id, text, and what overrules it."""
        for fact in self.GRAPH.relations:
            yield Slot.GRAPH, str(fact.relation_id), fact.text, fact.overruled_by
        for passage in self.KNOWLEDGE.hits:
            yield Slot.KNOWLEDGE, passage.id, passage.text, passage.overruled_by
        for hit in self.EPISODE.hits:
            yield Slot.EPISODE, hit.id, hit.text, hit.overruled_by


def validated_envelope(given: Mapping[str, Any]) -> Envelope:
    """The envelope; EnvelopeInvalid with the path of the first fault, such as `GRAPH.relations[3].predicate`."""
    require_depth(given, "", MAX_DOCUMENT_DEPTH)
    try:
        return Envelope.model_validate(given)
    except ValidationError as error:
        path, message, fix = fault_of(error.errors()[0], Envelope)
        raise EnvelopeInvalid(message, field=path.removeprefix("."), fix=fix) from error


def _require_once(name: str, key: str, ids: Sequence[str]) -> None:
    seen = set[str]()
    for place, id_ in enumerate(ids):
        if id_ in seen:
            raise _fault(f"{id_!r:.60} is listed twice", "remove one of them", f".{name}[{place}].{key}")
        seen.add(id_)


def _is_uuid(text: str) -> bool:
    try:
        parse_uuid(text, "id")
    except InvalidInput:
        return False
    return True


def _fault(message: str, fix: str, below: str = "") -> PydanticCustomError:
    return PydanticCustomError(REFUSED, "{message}", {"message": message, "fix": fix, "below": below})
