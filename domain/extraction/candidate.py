"""A candidate: what one sentence of a user says, before it is decided on."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mnemolog.domain.entity import ME, THING
from mnemolog.domain.precision import Precisions

EXTRACTOR = "rules-15"
"""The name of the extractor, with the version of its rules."""
CONFIDENCE = 0.8
ANY_VALUE = "*"
MOST_CANDIDATES = 5  # B13: of one turn.
MOST_WRITES = 3  # B13: of one turn.


class Action(StrEnum):
    """What a sentence does to a fact: states it, ends it, corrects the latest value, says that it never held, or proposes
    a profile field; or it calls somebody who is known by another name.
    """

    STATE = "state"
    END = "end"
    CORRECT = "correct"
    DENY = "deny"
    CALL = "call"
    PROPOSE = "propose"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A fact as it was said. An end without an `object` is that of whatever holds.

    `single` and `category` apply if the policy has no such predicate. `changes`: the sentence says that something
    changed, as in "I moved to", so that it may end what somebody recorded.

    `via`: the subject is the one to whom the named subject has this relation, as in "my brother"; `kin` is the word for it
    if the predicate is none, as of a wife. `known`: it counts only if the subject is a person or an animal that is known already, because any name may begin a sentence.

    `replaces`: it counts only if the subject's present value bears this name, as in "I switched from Acme to Globex", or with
    `ANY_VALUE` if there is one, as of "I switched to Monzo".

    `intended`: it counts only if a move to this place is planned: who arrives somewhere may be on a visit.

    `trip`: the place to which the trip goes whose date this is. `planned`: it counts only if that trip is planned
    already, because much else is moved: "Lisbon was moved to 28 May". `again`: or was, before it was called off.

    `nth`: its date was said without a month, as in "the 14th", so that it is near the one that it takes the place of.

    `wrong`: the value that the sentence says was wrong. Who only states "Graz, not Linz" corrects what was told lately, and
    otherwise tells of a change.

    `with_partner`: its object is the only fiancé, or else the only partner, whom the subject has.

    `hired`: it is a job with somebody else, with which one's own business ends.

    `in_short`: an end may name what holds by its first words, or in the singular: "my walnut allergy".

    `precisions`: how exactly `since` and `until` were said that name no day.

    `relation`: the word for what somebody is, if it tells more than the predicate: a husband is `married_to`.

    `rule`: the rule that it comes from, after the name of the extractor.
    """

    predicate: str
    object: str | None
    subject: str = ME
    via: str = ""
    kin: str = ""
    known: bool = False
    replaces: str = ""
    intended: bool = False
    trip: str = ""
    planned: bool = False
    again: bool = False
    nth: bool = False
    wrong: str = ""
    with_partner: bool = False
    hired: bool = False
    in_short: bool = False
    action: Action = Action.STATE
    literal: bool | None = None
    single: bool = False
    category: str = THING
    changes: bool = False
    since: datetime | None = None
    until: datetime | None = None
    precisions: Precisions = field(default_factory=dict)
    confidence: float = field(default=CONFIDENCE)
    relation: str = ""
    rule: str = ""
