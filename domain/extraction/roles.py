"""What somebody is to the author: kin, or a friend, a colleague, a partner."""

from collections.abc import Collection

from mnemolog.domain.entity import ME, PERSON
from mnemolog.domain.extraction.candidate import Candidate
from mnemolog.domain.extraction.vocabulary import COUPLE, KIN_WORDS, SUPERIORS

_CHILDREN = frozenset({"son", "daughter", "parent_of"})
_KIN = frozenset(KIN_WORDS.split())
_OTHERS = frozenset((*COUPLE, *SUPERIORS, "friend_of", "colleague", "neighbour", "roommate", "landlord"))
_NO_SPOUSES_OF_KIN = frozenset((*COUPLE, "sister", "brother", "son", "daughter", "cousin", "niece", "nephew"))
_WORDS = {"married_to": "spouse", "engaged_to": "fiancé", "parent_of": "child"}


def is_role(predicate: str) -> bool:
    return predicate in _OTHERS or _kinship(predicate) is not None


def states_role(one: Candidate) -> bool:
    return one.subject == ME and not one.via and is_tie(one)


def is_tie(one: Candidate) -> bool:
    """Whether it says what somebody is to the author, or to another."""
    return one.category == PERSON and is_role(one.predicate)


def are_exclusive(role: str, other: str) -> bool:
    """Whether nobody is both: a sister and a colleague, but not a colleague and a friend.

    >>> are_exclusive("sister", "colleague"), are_exclusive("friend_of", "colleague"), are_exclusive("son", "stepson")
    (True, False, False)
    """
    kinships = {_kinship(role), _kinship(other)}
    return len(kinships) > 1 and not kinships <= _CHILDREN


def may_be(role: str, tie: str, roles: Collection[str]) -> bool:
    """Whether somebody in this role may be the one who is told of by a tie to another person with these roles.

    Of my own sister I say that she is my sister, and a boyfriend of hers is no brother of mine.

    >>> may_be("daughter", "daughter", ["friend_of"]), may_be("daughter", "daughter", ["married_to"])
    (False, True)
    >>> may_be("brother", "partner_of", ["sister"]), may_be("friend_of", "partner_of", ["sister"])
    (False, True)
    """
    if not _is_of_family(role):
        return True
    if not any(map(_is_of_family, roles)):
        return False
    return _kinship(tie) is not None or role not in _NO_SPOUSES_OF_KIN


def name_with_role(one: Candidate) -> str:
    """Of somebody whose name alone would be taken for another's: `friend Ana`, or `Ben's daughter Mia`."""
    word = one.relation or _word(one.predicate)
    of = one.kin or _word(one.via) if one.via else one.subject
    return f"{word} {one.object}" if of == ME else f"{of}'s {word} {one.object}"


def _word(predicate: str) -> str:
    return _WORDS.get(predicate) or predicate.removesuffix("_of").replace("_in_law", "-in-law").replace("_", " ")


def _is_of_family(role: str) -> bool:
    return role in COUPLE or _kinship(role) is not None


def _kinship(predicate: str) -> str | None:
    """Steps and in-laws are often called what they are like: a stepson a son."""
    plain = predicate.removeprefix("step").removesuffix("_in_law")
    return plain if plain in _KIN else None
