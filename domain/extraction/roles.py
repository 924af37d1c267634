"""What somebody is to the author: kin, or a friend, a colleague, a partner."""

from mnemolog.domain.entity import ME, PERSON
from mnemolog.domain.extraction.candidate import Candidate
from mnemolog.domain.extraction.vocabulary import COUPLE, KIN_WORDS, SUPERIORS

_CHILDREN = frozenset({"son", "daughter", "parent_of"})
_KIN = frozenset(KIN_WORDS.split())
_OTHERS = frozenset((*COUPLE, *SUPERIORS, "friend_of", "colleague", "neighbour", "roommate", "landlord"))
_WORDS = {"married_to": "spouse", "engaged_to": "fiancé", "parent_of": "child"}


def is_role(predicate: str) -> bool:
    return predicate in _OTHERS or _kinship(predicate) is not None


def states_role(one: Candidate) -> bool:
    return one.subject == ME and not one.via and one.category == PERSON and is_role(one.predicate)


def are_exclusive(role: str, other: str) -> bool:
    """Whether nobody is both: a sister and a colleague, but not a colleague and a friend.

    >>> are_exclusive("sister", "colleague"), are_exclusive("friend_of", "colleague"), are_exclusive("son", "stepson")
    (True, False, False)
    """
    kinships = {_kinship(role), _kinship(other)}
    return len(kinships) > 1 and not kinships <= _CHILDREN


def name_with_role(one: Candidate) -> str:
    """Of somebody whose name alone would be taken for another's: `friend Ana`."""
    word = one.relation or _WORDS.get(one.predicate) or one.predicate.removesuffix("_of").replace("_", " ")
    return f"{word} {one.object}"


def _kinship(predicate: str) -> str | None:
    """Steps and in-laws are often called what they are like: a stepson a son."""
    plain = predicate.removeprefix("step").removesuffix("_in_law")
    return plain if plain in _KIN else None
