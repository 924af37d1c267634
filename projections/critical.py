"""The critical facts of a context: those that hold, with what was said of them since, and those that ended lately."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.doubt import doubt, stated, words_of
from mnemolog.domain.facts import State
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.asking import together
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.graph import hydration
from mnemolog.projections.graph.facts import Point, fact_value, facts
from mnemolog.projections.graph.hydration import FactHit
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import Filters
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.rows import Row
from mnemolog.projections.sources.graph import fact_hit, former_hit

ENDED_FOR = timedelta(days=90)
"""How long a critical fact that has ended is shown as such: an end that was misread is seen."""
MOST_ENDED = 5
MESSAGES = 200


async def critical(
    connection: AsyncConnection, viewer: Viewer, predicates: PredicatePolicy, point: Point
) -> Sequence[Hit]:
    """Those that hold, each with what was said last that may end it, and then those that ended lately."""
    holding, over = await together(
        hydration.critical(connection, viewer, predicates, point), _ended(connection, viewer, predicates, point)
    )
    said = await _said_of(connection, viewer, holding)
    held = {_what(one.row) for one in holding}
    ended = [row for row in over if _what(row) not in held]
    shown = [_with_doubt(one, said) for one in holding]
    return [*shown, *map(former_hit, ended[:MOST_ENDED])]


async def _ended(
    connection: AsyncConnection, viewer: Viewer, predicates: PredicatePolicy, point: Point
) -> Sequence[Row]:
    """The critical facts that ended lately, the last first."""
    names = sorted(name for name, rule in predicates.predicates.items() if rule.critical)
    rows = await facts(connection, viewer, replace(point, always=True), predicates, predicate=names)
    late = [row for row in rows if row["critical"] and row["state"] is State.ENDED]
    late = [row for row in late if row["valid_to"] > point.valid_at - ENDED_FOR]
    return sorted(late, key=lambda row: (row["valid_to"], row["relation_id"]), reverse=True)


def _what(row: Row) -> tuple[object, ...]:
    return row["subject_id"], row["predicate"], fact_value(row)


async def _said_of(connection: AsyncConnection, viewer: Viewer, holding: Sequence[FactHit]) -> Sequence[Row]:
    """What the user said that names what a fact is about, the last first."""
    words = " ".join(words_of(one.row["predicate"], fact_value(one.row)) for one in holding if one.critical)
    if not words:
        return []
    among = Candidates(messages=True, filters=Filters(role=Role.USER))
    found = await full_text.search(connection, among, viewer, words, MESSAGES)
    rows = await conversation.found(connection, viewer, found.scores.keys())
    return sorted(rows.values(), key=lambda row: (row["occurred_at"], row["seq"]), reverse=True)


def _with_doubt(fact: FactHit, said: Sequence[Row]) -> Hit:
    """A fact with the last thing that was said since it was stated last and that may end it."""
    hit, of, since = fact_hit(fact), (fact.row["predicate"], fact_value(fact.row)), list[Row]()
    for row in said if fact.critical else ():
        at, text = row["occurred_at"], row["text"]
        if at <= fact.since or row["message_id"] in fact.row["source_turn_ids"]:
            break
        if told := doubt(text, *of):
            # Only now, because it takes longer: most facts are not in doubt.
            if any(stated(one["text"], one["occurred_at"], *of) for one in since):
                break
            return replace(hit, row={**hit.row, "when": f'{hit.row["when"]}; said on {at:%Y-%m-%d}: "{told}"'})
        since.append(row)
    return hit
