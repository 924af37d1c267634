"""A back-test of a policy over what is in the log of a user; nothing is written (X06)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table

from mnemolog.adapters.services import Services
from mnemolog.commands.backtest import Difference, Judgement
from mnemolog.domain.policy import Policy
from mnemolog.events.envelope import USER, StreamId
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.memories import due
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.rows import Row


@dataclass(frozen=True, slots=True)
class Backtest:
    """What differs between the policy in effect (`now`) and another one (`then`), up to `head` of the stream.

    `looked_at` counts the decisions by kind, `unread` those that cannot be made again: their text was erased, or their
    similarity is that of another embedding model. `untested` are parts in which the policies differ, and that were not
    compared.
    """

    now: str
    then: str
    head: int
    differences: Sequence[Difference]
    looked_at: dict[str, int]
    unread: dict[str, int]
    untested: Sequence[str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def backtest(
    engine: Services, stream: StreamId, policy: Policy, after: int = 0, at: datetime | None = None
) -> Backtest:
    """Make the decisions of a user's stream again, under the policy in effect and under this one.

    Only differences in decisions behind `after` are shown. What fades is asked of memories and messages as they are,
    at this time or now.
    """
    embedder = engine.reads.embedder
    events = await engine.log.read(stream)
    judgement = Judgement(engine.policy, policy, embedder.calibration.bands, embedder.model)
    found = [one for one in judgement.differences(events) if (one.seq or 0) > after]
    found += await _fading(engine, stream, policy, at or engine.writes.now())
    return Backtest(
        now=engine.policy.version,
        then=policy.version,
        head=events[-1].seq if events else 0,
        differences=found,
        looked_at=dict(judgement.looked_at),
        unread=dict(judgement.unread),
        untested=_untested(engine, policy),
    )


def _untested(engine: Services, policy: Policy) -> Sequence[str]:
    """Parts in which the policies differ, and that no decision was made again for."""
    one, other = engine.policy, policy
    differ = {
        "allowlists": one.categories.allowlists != other.categories.allowlists,
        "categories.context": one.categories.modes != other.categories.modes,
        "predicates": one.predicates != other.predicates,
        "conversation": (one.segmentation, one.pronouns) != (other.segmentation, other.pronouns),
        "extraction.writes_per_day": one.extraction.writes_per_day != other.extraction.writes_per_day,
        "minds": one.minds != other.minds,
    }
    return [name for name, differs in differ.items() if differs]


async def _fading(engine: Services, stream: StreamId, policy: Policy, at: datetime) -> list[Difference]:
    """What retention would take now under one of the policies only."""
    found = []
    for decision, id_, table, condition in (
        ("fade", "memory_id", memories, due.fading),
        ("message", "message_id", messages, due.expired_messages),
    ):
        now, then = [
            await _rows(engine, stream, table, condition(retention, at))
            for retention in (engine.policy.retention, policy.retention)
        ]
        for key in [*(now.keys() - then.keys()), *(then.keys() - now.keys())]:
            fades, row = key in then, {**now, **then}[key]
            ways = ("kept", "taken") if fades else ("taken", "kept")
            found.append(Difference(decision, None, str(row[id_]), row["text"] or "", *ways))
    return sorted(found, key=lambda one: (one.decision, one.id))


async def _rows(engine: Services, stream: StreamId, table: Table, condition: ColumnElement[bool]) -> dict[Any, Row]:
    mine = (table.c.tenant == stream.tenant) & (table.c.user_id == stream.name.partition(":")[2])
    key = [column.name for column in table.primary_key.columns]
    async with engine.projections.live.connect() as connection:
        pages = [page async for page in due.pages(connection, mine & condition, table, USER)]
    return {tuple(row[name] for name in key): row for page in pages for row in page}
