"""What a pronoun or an elliptic question refers to: the active entities and the topic of the session (A §6.1, A12)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mnemolog.domain.hydration import capitalised_names
from mnemolog.domain.lazy_regex import lazy_compile
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
    {"f", "female", "feminine", "woman", "girl", "she", "she/her"}
    | {"mother", "mom", "mum", "mam", "sister", "wife", "daughter"}
)
MALE = frozenset({"m", "male", "masculine", "man", "boy", "he", "he/him", "father", "dad", "brother", "husband", "son"})
GENDERED = frozenset({"gender", "sex", "pronouns", "relation", "relationship"})
"""The attributes of an entity that tell its gender."""


def _kin(*words: str) -> frozenset[str]:
    return frozenset(f"{before}{word}{after}" for word in words for before in ("", "step") for after in ("", "_in_law"))


# What somebody is to another: a predicate, or the word that was said for it. Many write `fiance` of a woman, too.
WOMEN = _kin("mother", "sister", "daughter") | frozenset(
    {"wife", "girlfriend", "fiancee", "aunt", "niece", "grandmother", "granddaughter", "landlady"}
)
MEN = _kin("father", "brother", "son") | frozenset(
    {"husband", "boyfriend", "uncle", "nephew", "grandfather", "grandson"}
)
TIES = frozenset({*WOMEN, *MEN, "married_to", "engaged_to", "partner_of", "landlord"})
"""The predicates of relations that may tell the gender of the one they lead to, by themselves or by their word."""
RELATION = "relation"
"""The metadata of a fact with the word that was said, such as `husband`, if the predicate does not tell it."""

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
    """An entity that may be meant. `ids` are its own and those of entities merged into it; `names` are normalised.

    `ties` are what it is to others, such as `brother`.
    """

    entity_id: UUID
    name: str
    category: str
    names: frozenset[str]
    ids: frozenset[str]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    ties: frozenset[str] = frozenset()

    def rank(self, meant: Meant) -> int | None:
        """How well a pronoun suits it, 0 is best; None if it does not."""
        category = normalize_name(self.category)
        if meant is Meant.IT:
            return None if category in PERSONS else 0
        if meant in (Meant.HE, Meant.SHE) and self.gender not in (None, meant):
            return None
        return next((place for place, kinds in enumerate(_KINDS[meant]) if category in kinds), None)

    @property
    def gender(self) -> Meant | None:
        """`he` or `she` by its attributes, or else by names such as `mom` and by its ties; None if they disagree."""
        told = {normalize_name(str(value)) for name, value in self.attributes.items() if name.lower() in GENDERED}
        known = told or {word for name in self.names for word in name.split()}
        ties = frozenset() if told else self.ties
        she, he = bool(known & FEMALE or ties & WOMEN), bool(known & MALE or ties & MEN)
        return None if she is he else Meant.SHE if she else Meant.HE


def ties_of(predicate: str, metadata: Mapping[str, Any]) -> frozenset[str]:
    """What a relation says of the one it leads to: its predicate, and the word that was said for it."""
    return frozenset({predicate, str(metadata.get(RELATION, ""))}) & (WOMEN | MEN)


@dataclass(frozen=True, slots=True)
class Reference:
    """What words of a question refer to: an entity, or a topic."""

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

    A pronoun that suits no active entity is about the topic that was set, if there is one.

    `known` are the active entities, those that the turns of the session name, and those that the question itself names:
    a pronoun after a suitable name is about that name. Of equally suitable entities the most recently active one is
    meant. Whoever speaks is meant last.
    """
    session = _with_introduced(session, known)
    meant: dict[Meant, Sequence[Candidate]] = {}
    unresolved: list[Pronoun] = []
    for pronoun in found.pronouns:
        if pronoun.meant not in meant:
            others = [one for one in known if not any(one in taken for taken in meant.values())]
            before = phrases(text[: pronoun.start])
            named = any(one.names & before and one.rank(pronoun.meant) is not None for one in known)
            named = named or _is_of_whom_nothing_is_known(text, pronoun, known)
            meant[pronoun.meant] = () if named else _referents(pronoun.meant, session, others)
            if not named and not meant[pronoun.meant]:
                unresolved.append(pronoun)
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
    # The topic that was set; else the last question of the user, which this one continues.
    if found.opening and (topic := _focus(session) or next(_questions(text, session), "")):
        return Resolved(f"{resolved} ({topic})", (*references, Reference(found.opening, topic=topic)))
    if unresolved and (focus := _focus(session)):
        about = (Reference(one.text, topic=focus) for one in unresolved)
        return Resolved(f"{resolved} ({focus})", (*references, *about))
    return Resolved(resolved, tuple(references))


def _is_of_whom_nothing_is_known(text: str, pronoun: Pronoun, known: Sequence[Candidate]) -> bool:
    """Whether it is of somebody whom the question names and who is no entity: `What does Ada take for her asthma?`"""
    if pronoun.meant not in (Meant.HE, Meant.SHE) or _OWNED.match(text, pronoun.end) is None:
        return False
    names = map(normalize_name, capitalised_names(text[: pronoun.start]))
    return any(not any(name in one.names for one in known) for name in names)


_OWNED = lazy_compile(r"\s+(?!(?:to|at|in|on|for|with|about|from|and|or|by|of|as|if|when|that|the|an?)\b)[a-z]")


def _with_introduced(session: Session, known: Sequence[Candidate]) -> Session:
    """With those entities active that a turn names and that became known after it."""
    active = frozenset(session.active_entity_ids)
    new = [one for one in known if not one.ids & active]

    def named(text: str) -> Sequence[str]:
        words = phrases(text[:_READ])
        return [str(one.entity_id) for one in new if one.names & words]

    return session.naming(named) if new else session


def _referents(meant: Meant, session: Session, known: Sequence[Candidate]) -> Sequence[Candidate]:
    """The entity that is meant; for `they`, all those of the turn in which it was named last.

    Of those that a turn named together, it is one that is known to be a `he` or a `she`.
    """
    active = {entity_id: place for place, entity_id in enumerate(session.active_entity_ids)}
    turns, speakers = _first_of_turn(session, active), _speakers(session, known)

    def key(one: Candidate, rank: int) -> tuple[bool, int, int, bool, int]:
        place = min(active[id_] for id_ in one.ids & active.keys())
        turn = min(turns[id_] for id_ in one.ids & active.keys())
        return one.entity_id in speakers, rank, turn, one.gender is not meant, place

    ranked = [
        (key(one, rank), one) for one in known if (rank := one.rank(meant)) is not None and one.ids & active.keys()
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


def _first_of_turn(session: Session, active: Mapping[str, int]) -> Mapping[str, int]:
    """For each active entity the first place of those that the same turn named last; its own if no turn did."""
    said = {id_: turn for turn, (_, ids) in enumerate(session.spoken()) for id_ in ids}
    first: dict[int, int] = {}
    for id_, place in active.items():
        if id_ in said:
            first.setdefault(said[id_], place)
    return {id_: first[said[id_]] if id_ in said else place for id_, place in active.items()}


def _speakers(session: Session, known: Sequence[Candidate]) -> Collection[UUID]:
    """Those who are active because they spoke: the first entity of a turn that does not name it."""
    said = [(phrases(text[:_READ]), ids[0]) for text, ids in session.spoken() if ids]
    return {one.entity_id for one in known for words, first in said if first in one.ids and not one.names & words}


def _focus(session: Session) -> str:
    return str(session.scratch.get("topic_focus", ""))


def _questions(text: str, session: Session) -> Iterator[str]:
    for turn in reversed(session.turns):
        said = turn["text"]
        asked = turn["role"] == "user" and said.rstrip().endswith(("?", "？")) and same_text(said) != same_text(text)
        if asked and len(said) <= LONGEST_TOPIC:
            yield said
