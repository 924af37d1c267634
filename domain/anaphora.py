"""What a pronoun or an elliptic question refers to: the active entities and the topic of the session (A §6.1, A12)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mnemolog.domain.mention import phrases
from mnemolog.domain.pronouns import Found, Meant, Pronoun
from mnemolog.domain.session import Session
from mnemolog.domain.text import normalize_name, same_text

PERSONS = frozenset(
    {"person", "people", "human", "man", "woman", "child", "friend", "relative", "colleague", "contact"}
)
ANIMALS = frozenset({"animal", "pet", "dog", "cat", "horse", "bird"})
GROUPS = frozenset({"organization", "organisation", "company", "team", "group", "family", "band"})
PLACES = frozenset({"location", "place", "city", "town", "country", "region", "address", "venue"})
UNKNOWN = frozenset({"thing", ""})
"""The default category, which says nothing."""

FEMALE = frozenset(
    {"f", "female", "feminine", "woman", "girl", "she", "she/her", "mother", "mom", "mum", "sister", "wife", "daughter"}
)
MALE = frozenset({"m", "male", "masculine", "man", "boy", "he", "he/him", "father", "dad", "brother", "husband", "son"})
GENDERED = frozenset({"gender", "sex", "pronouns", "relation", "relationship"})
"""The attributes of an entity that tell its gender."""
OPPOSITE: Mapping[Meant, frozenset[str]] = {Meant.HE: FEMALE, Meant.SHE: MALE}

# The categories that each pronoun may stand for, the best first. A pronoun of a person stands for no other category.
_KINDS: Mapping[Meant, Sequence[frozenset[str]]] = {
    **dict.fromkeys((Meant.HE, Meant.SHE, Meant.SOMEONE), (PERSONS, ANIMALS, UNKNOWN)),
    Meant.THEY: (PERSONS | GROUPS, ANIMALS, UNKNOWN),
    Meant.THERE: (PLACES, UNKNOWN),
}
LONGEST_TOPIC = 300
_READ = 4000


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that may be meant. `ids` are its own and those of entities merged into it; `names` are normalised."""

    entity_id: UUID
    name: str
    category: str
    names: frozenset[str]
    ids: frozenset[str]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def rank(self, meant: Meant) -> int | None:
        """How well a pronoun suits it, 0 is best; None if it does not."""
        category = normalize_name(self.category)
        if meant is Meant.IT:
            return None if category in PERSONS else 0
        if self._traits() & OPPOSITE.get(meant, frozenset()):
            return None
        return next((place for place, kinds in enumerate(_KINDS[meant]) if category in kinds), None)

    def _traits(self) -> frozenset[str]:
        """Names such as `mom`, and what its attributes say, if they say it of one gender only."""
        told = {normalize_name(str(value)) for name, value in self.attributes.items() if name.lower() in GENDERED}
        known = told or {word for name in self.names for word in name.split()}
        return frozenset() if known & FEMALE and known & MALE else frozenset(known)


@dataclass(frozen=True, slots=True)
class Reference:
    """What words of a question refer to: an entity for a pronoun, a topic for an elliptic question."""

    text: str
    entity_id: UUID | None = None
    name: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A question as it reads without the conversation, and what was added to it."""

    text: str
    references: Sequence[Reference] = ()
    skipped: Sequence[str] = ()

    @property
    def entity_ids(self) -> frozenset[UUID]:
        return frozenset(one.entity_id for one in self.references if one.entity_id)


def resolve(text: str, found: Found, session: Session, known: Sequence[Candidate]) -> Resolved:
    """The question with names instead of its pronouns, and with its topic if it is elliptic.

    `known` are the active entities, those that the turns of the session name, and those that the question itself names:
    a pronoun after a suitable name is about that name. Of equally suitable entities the most recently active one is
    meant. Whoever speaks is meant last.
    """
    session = _with_introduced(session, known)
    meant: dict[Meant, Sequence[Candidate]] = {}
    for pronoun in found.pronouns:
        if pronoun.meant not in meant:
            others = [one for one in known if not any(one in taken for taken in meant.values())]
            named = _named_before(text, pronoun, known)
            meant[pronoun.meant] = () if named else _referents(pronoun.meant, session, others)
    replaced = [one for one in found.pronouns if meant.get(one.meant)]
    references = [
        Reference(one.text, entity.entity_id, entity.name)
        for one in {one.text.lower(): one for one in reversed(replaced)}.values()
        for entity in meant[one.meant]
    ]
    resolved, end = "", 0
    for one in replaced:
        resolved += text[end : one.start] + ", ".join(entity.name for entity in meant[one.meant])
        end = one.end
    resolved += text[end:]
    if found.opening and (topic := _topic(text, session)):
        return Resolved(f"{resolved} ({topic})", (*references, Reference(found.opening, topic=topic)))
    return Resolved(resolved, tuple(references))


def _with_introduced(session: Session, known: Sequence[Candidate]) -> Session:
    """With those entities active that a turn names and that became known after it."""
    active = frozenset(session.active_entity_ids)
    new = [one for one in known if not one.ids & active]

    def named(text: str) -> Sequence[str]:
        words = phrases(text[:_READ])
        return [str(one.entity_id) for one in new if one.names & words]

    return session.naming(named) if new else session


def _named_before(text: str, pronoun: Pronoun, known: Sequence[Candidate]) -> bool:
    """Whether the question has named a suitable entity before the pronoun."""
    before = phrases(text[: pronoun.start])
    return any(one.names & before and one.rank(pronoun.meant) is not None for one in known)


def _referents(meant: Meant, session: Session, known: Sequence[Candidate]) -> Sequence[Candidate]:
    """The entity that is meant; for `they`, all those of the turn in which it was named last."""
    active = {entity_id: place for place, entity_id in enumerate(session.active_entity_ids)}
    speakers = _speakers(session, known)
    ranked = [
        ((one.entity_id in speakers, rank, min(active[id_] for id_ in one.ids & active.keys())), one)
        for one in known
        if (rank := one.rank(meant)) is not None and one.ids & active.keys()
    ]
    if not ranked:
        return ()
    best, first = min(ranked, key=lambda one: one[0])
    if meant is not Meant.THEY:
        return (first,)
    turn = next((set(ids) for _, ids in reversed(list(session.spoken())) if first.ids & set(ids)), set())
    return [one for key, one in sorted(ranked, key=lambda one: one[0]) if key[:2] == best[:2] and one.ids & turn] or (
        first,
    )


def _speakers(session: Session, known: Sequence[Candidate]) -> Collection[UUID]:
    """Those who are active because they spoke: the first entity of a turn that does not name it."""
    said = [(phrases(text[:_READ]), ids[0]) for text, ids in session.spoken() if ids]
    return {one.entity_id for one in known for words, first in said if first in one.ids and not one.names & words}


def _topic(text: str, session: Session) -> str:
    """The topic that was set; else the last question of the user, which this one continues."""
    if focus := session.scratch.get("topic_focus"):
        return str(focus)
    return next(_questions(text, session), "")


def _questions(text: str, session: Session) -> Iterator[str]:
    for turn in reversed(session.turns):
        said = turn["text"]
        asked = turn["role"] == "user" and said.rstrip().endswith(("?", "？")) and same_text(said) != same_text(text)
        if asked and len(said) <= LONGEST_TOPIC:
            yield said
