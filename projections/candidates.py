"""The memories and messages that a request may find, by its filters and kinds."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import NotFound
from mnemolog.domain.memory import Kind
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.conversation.reader import Stretch
from mnemolog.projections.conversation.tables import NAME as CONVERSATION
from mnemolog.projections.episodes import reader as episodes
from mnemolog.projections.episodes.tables import NAME as EPISODES
from mnemolog.projections.graph import reader as entities
from mnemolog.projections.graph.tables import NAME as GRAPH
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import Filters


def categories(
    policy: CategoryPolicy, agent_id: str, requested: Sequence[str], filters: Filters
) -> frozenset[str] | None:
    """The categories that a request may search. One named by a filter counts as requested, and may be refused."""
    if filters.category is None:
        return policy.allowed(agent_id, requested)
    named = policy.allowed(agent_id, [filters.category], "filters.category")
    asked = policy.allowed(agent_id, requested or [filters.category])
    return named if named is None or asked is None else named & asked


def needed(filters: Filters) -> frozenset[str]:
    """The projections that a search reads because of its filters."""
    stretches = filters.session_id is not None or filters.episode_id is not None
    said_in = stretches or filters.thread_id is not None
    by_filter = ((GRAPH, bool(filters.entity_ids)), (EPISODES, stretches), (CONVERSATION, said_in))
    return frozenset(name for name, used in by_filter if used)


async def candidates(
    connection: AsyncConnection, viewer: Viewer, filters: Filters, kinds: Collection[str] = ()
) -> Candidates:
    """The memories and messages of the kinds, about the entities and from the session or episode requested.

    What was merged with one of these entities counts as that entity.
    """
    stretches = await _stretches(connection, viewer, filters)
    among = Candidates(filters=filters, messages=not kinds or MESSAGE in kinds, stretches=stretches)
    if kinds:
        among = replace(among, kinds=frozenset(one for one in Kind if one in kinds))
    if not filters.entity_ids:
        return among
    rows = await entities.by_ids(connection, viewer, filters.entity_ids)
    known = await entities.survivors(connection, viewer, rows)
    kin = await entities.kin(connection, viewer, {row["entity_id"] for row in known.values()})
    return replace(among, about=frozenset(kin))


async def _stretches(connection: AsyncConnection, viewer: Viewer, filters: Filters) -> tuple[Stretch, ...]:
    """NotFound if the agent has no such session or episode. One that was merged is found in the other."""
    rows = []
    try:
        if filters.session_id is not None:
            rows.append(await episodes.own_session(connection, viewer, filters.session_id))
        if filters.episode_id is not None:
            rows.append(await episodes.own_episode(connection, viewer, filters.episode_id))
            while rows[-1]["merged_into"] is not None:
                rows[-1] = await episodes.own_episode(connection, viewer, rows[-1]["merged_into"])
    except NotFound as missing:
        raise NotFound(missing.message, field=f"filters.{missing.field}", fix=missing.fix) from None
    return tuple(Stretch(row["agent_id"], row["thread_id"], row["first_turn_id"], row["last_turn_id"]) for row in rows)
