"""What the author uses, such as a bank, and whether they smoke."""

from collections.abc import Sequence
from dataclasses import replace

from mnemolog.domain.extraction.candidate import Action, Candidate
from mnemolog.domain.extraction.makers import names
from mnemolog.domain.extraction.rule import Said

HABIT = "habit"

bank = names("bank", category="Organization", single=True)


def bank_now(said: Said) -> Sequence[Candidate]:
    """Another bank than before."""
    return [replace(one, changes=True) for one in bank(said)]


def bank_over(said: Said) -> Sequence[Candidate]:
    """The end of an account."""
    closed = said.named("name") or said.named("former")
    return (Candidate(predicate="bank", object=closed, action=Action.END, changes=True, until=said.clause.since),)


def laptop(said: Said) -> Sequence[Candidate]:
    """A laptop; what is told of it behind is not since when somebody has it."""
    found = names("laptop", single=True)(said)
    return [replace(one, since=None, until=None) for one in found] if said.match["rest"] else found


def smoker(said: Said) -> Sequence[Candidate]:
    return (_smoking(said),)


def smokes_no_more(said: Said) -> Sequence[Candidate]:
    """The end of the habit, also if somebody has not smoked for some days."""
    return (replace(_smoking(said), action=Action.END, changes=True, until=said.clause.since),)


def _smoking(said: Said) -> Candidate:
    habit = "vaping" if (said.match.groupdict().get("value") or "").lower().startswith("vap") else "smoking"
    return Candidate(predicate=HABIT, object=habit, literal=True, changes=said.changes)
