"""The content of an entry, for each store of a being (C §Context Structure, C15)."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, WithJsonSchema, model_validator

from mnemolog.domain import text
from mnemolog.domain.being import NoteType, Store
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.fields import MAX_DETAIL, Detail, Flag, Id, checked_by, validated, within
from mnemolog.events.shapes import text_shape

Words = Annotated[
    str,
    checked_by(lambda value, field: text.clean(value, field, max_bytes=MAX_DETAIL)),
    WithJsonSchema(text_shape(MAX_DETAIL)),
]


def _day(value: object, field: str) -> str:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise InvalidInput(f"{value!r:.40} is not a date", field=field, fix="write it as 2026-01-31") from None


Day = Annotated[str, checked_by(_day), WithJsonSchema({"type": "string", "format": "date"})]


class Body(BaseModel):
    """`own_key` is the key that the content determines, or None if the caller chooses it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def own_key(self) -> str | None:
        return None

    @property
    def line(self) -> str:
        """The text that a prompt shows."""
        raise NotImplementedError


class Plain(Body):
    """A text."""

    text: Words

    @property
    def line(self) -> str:
        return self.text


class Named(Plain):
    """A text about something with a name, which is its key."""

    name: Id

    @property
    def own_key(self) -> str:
        return self.name

    @property
    def line(self) -> str:
        return f"{self.name}: {self.text}"


class Soul(Body):
    """Who the being is. At least one of the fields has a text."""

    personality: Detail = ""
    voice: Detail = ""
    values: Detail = ""
    backstory: Detail = ""
    inner_world: Detail = ""
    examples: Detail = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not any(self.parts.values()):
            raise InvalidInput("is empty", field="personality", fix="give at least one part of the soul")
        return self

    @property
    def parts(self) -> Mapping[str, str]:
        """The text of each part, in their order."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    @property
    def own_key(self) -> str:
        return Store.SOUL

    @property
    def line(self) -> str:
        titles = ((name.replace("_", " ").capitalize(), words) for name, words in self.parts.items() if words)
        return "\n\n".join(f"{title}:\n{words}" for title, words in titles)


class Rule(Plain):
    """A rule between the being and its partner, which applies while it is enabled."""

    enabled: Flag = True


class Note(Plain):
    """A note to the being itself. The text of a scene is one JSON object."""

    type: NoteType

    @property
    def line(self) -> str:
        return f"({self.type}) {self.text}"


class Knowledge(Plain):
    """Something that the being has learnt."""

    title: Detail = ""

    @property
    def line(self) -> str:
        return f"{self.title}: {self.text}" if self.title else self.text


class Diary(Plain):
    """What the being wrote in its diary on a day. Each day has one entry."""

    date: Day

    @property
    def own_key(self) -> str:
        return self.date

    @property
    def line(self) -> str:
        return f"[{self.date}] {self.text}"


class Snapshot(Body):
    """Where the being was after its last session: `text` says how it ended. `think_md`: what it wants to remember."""

    think_md: Words
    text: Detail = ""

    @property
    def own_key(self) -> str:
        return Store.SNAPSHOT

    @property
    def line(self) -> str:
        return self.think_md


class PartyMessage(Plain):
    """What somebody said in a conversation of several beings."""

    speaker: Id

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}"


BODIES: Mapping[Store, type[Body]] = {
    Store.SOUL: Soul,
    Store.RULE: Rule,
    Store.PREFERENCE: Plain,
    Store.RELATIONSHIP: Named,
    Store.TOOL: Named,
    Store.MAP: Named,
    Store.NOTE: Note,
    Store.KNOWLEDGE: Knowledge,
    Store.DIARY: Diary,
    Store.SNAPSHOT: Snapshot,
    Store.PARTY_MESSAGE: PartyMessage,
}
assert BODIES.keys() == set(Store)


def body_of(store: Store, fields: Mapping[str, Any]) -> Body:
    """The content of an entry of a store; raises InvalidInput with the path `body.FIELD`."""
    with within("body"):
        return validated(BODIES[store], fields)
