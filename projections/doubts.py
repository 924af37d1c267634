"""What the user said of a fact since it was stated, by which it may be over: a reader is told it beside the fact.

Of critical facts whatever may end them; of a home, a job, a diet and a partner what was said of the same later, where a
question asks for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import state
from mnemolog.domain.delta import shortened
from mnemolog.domain.doubt import SHOWN, doubt, stated, words_of
from mnemolog.domain.entity import ME, proper_name
from mnemolog.domain.predicates import DOSE, PredicatePolicy
from mnemolog.domain.text import name_key, normalize_name
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.graph.facts import fact_value
from mnemolog.projections.graph.hydration import FactHit
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import Filters
from mnemolog.projections.rows import Row

MESSAGES = 200
NEWS = 30
"""The last messages about a state that are read: more than that takes too long for an answer."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message that may end a fact, and what of it."""

    id: str
    date: datetime
    text: str


async def of_critical(connection: AsyncConnection, viewer: Viewer, holding: Sequence[FactHit]) -> Mapping[UUID, Said]:
    """By critical fact and dose, the last thing that was said since it was stated last and that may end it."""
    doubted = [one for one in holding if one.critical or one.row["predicate"].endswith(DOSE)]
    words = " ".join(words_of(one.row["predicate"], fact_value(one.row)) for one in doubted)
    rows = await _messages(connection, viewer, words)
    own = name_key(proper_name(viewer.user_id, ME))
    found = ((one.id, _doubt(one, rows, own)) for one in doubted)
    return {id_: said for id_, said in found if said}


async def of_states(
    connection: AsyncConnection,
    viewer: Viewer,
    question: str,
    facts: Sequence[Row],
    predicates: PredicatePolicy,
) -> Mapping[UUID, Said]:
    """By fact about the user that was extracted and that the question asks for, a later statement of something else."""
    asked = state.asked_states(question) & state.SPOKEN_OF.keys()
    about = {
        row["relation_id"]: (row, of)
        for row in facts
        if (of := state.state_of(row["predicate"])) in asked
        and "extractor" in row["metadata"]
        and predicates.rule(row["predicate"]).single
    }
    if not about:
        return {}
    states = frozenset(of for _, of in about.values())
    words = " ".join(state.SPOKEN_OF[of] for of in sorted(states))
    since = min(row["known_from"] for row, _ in about.values())
    rows = [one for one in await _messages(connection, viewer, words) if one["occurred_at"] > since][:NEWS]
    told = [(row, state.statement("", row["speaker"] or "", row["text"], row["occurred_at"], states)) for row in rows]
    found = dict[UUID, Said]()
    for id_, (fact, of) in about.items():
        subjects, since = {normalize_name(fact["subject"]), ME}, max(fact["known_from"], fact["valid_from"])
        same = ((row, one) for row, one in told if one and one.state == of and one.subject in subjects)
        last = next(same, None)
        if last and state.news_after(last[1], subjects, of, fact_value(fact), since):
            found[id_] = _said(last[0], shortened(last[0]["text"], SHOWN))
    return found


async def _messages(connection: AsyncConnection, viewer: Viewer, words: str) -> Sequence[Row]:
    """What the user said that has one of these words, the last first."""
    if not words:
        return []
    among = Candidates(messages=True, filters=Filters(role=Role.USER))
    found = await full_text.search(connection, among, viewer, words, MESSAGES)
    rows = await conversation.found(connection, viewer, found.scores.keys())
    return sorted(rows.values(), key=lambda row: (row["occurred_at"], row["seq"]), reverse=True)


def _doubt(fact: FactHit, said: Sequence[Row], own: str) -> Said | None:
    of_other = name_key(fact.row["subject"] or "") != own
    of, since = (fact.row["predicate"], fact_value(fact.row)), list[Row]()
    for row in said:
        at, text = row["occurred_at"], row["text"]
        if at <= fact.since or row["message_id"] in fact.row["source_turn_ids"]:
            return None
        if told := doubt(text, *of, of_other=of_other):
            # Only now, because it takes longer: most facts are not in doubt.
            again = any(stated(one["text"], one["occurred_at"], *of) for one in since)
            return None if again else _said(row, told)
        since.append(row)
    return None


def _said(row: Row, text: str) -> Said:
    return Said(row["message_id"], row["occurred_at"], text)
