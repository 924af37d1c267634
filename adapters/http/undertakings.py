"""Routes for whole undertakings: roll back a run, an import or a thread; forget by scope."""

from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from mnemolog.adapters.engine import forgetting
from mnemolog.adapters.engine.forgetting import Forgetting, Reach
from mnemolog.adapters.http.requests import IdempotencyKey, TheEngine, Writer, fields_of, viewer_of
from mnemolog.adapters.http.responses import ReceiptView
from mnemolog.commands.rollback import Plan, Rollback
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import Flag, Id, Instant, Label, Uuid, validated

router = APIRouter(tags=["undertakings"])


class RollbackRequest(Writer):
    """What is to be taken back: one of `of_run`, `of_undertaking` and `of_thread`."""

    of_run: Annotated[Id | None, Field(description="All of a run, such as an episode.")] = None
    of_undertaking: Annotated[Uuid | None, Field(description="All of an import, a consolidation, a forgetting.")] = None
    of_thread: Annotated[Id | None, Field(description="All that was written in a thread.")] = None
    since: Annotated[Instant | None, Field(description="With `of_thread`: not before this time.")] = None
    until: Annotated[Instant | None, Field(description="With `of_thread`: before this time.")] = None
    skip_conflicts: Annotated[Flag, Field(description="Leave what was changed again later as it is.")] = False
    dry_run: Annotated[Flag, Field(description="Show what would be done, and change nothing.")] = False


class ConflictView(BaseModel):
    """An event that cannot be undone, and why."""

    event_id: UUID
    code: str
    message: str
    field: str
    fix: str


class RevertView(BaseModel):
    """An event that would be written: its type, and the subject that it takes back, such as `memory:<id>`."""

    subject: str
    type: str


class RolledBack(BaseModel):
    """The events that were undone, the newest first; what stood in the way; the receipt, none after a dry run."""

    undone: list[UUID]
    changes: list[RevertView] = Field(description="Of a dry run: what would be written.")
    conflicts: list[ConflictView]
    receipt: ReceiptView | None

    @classmethod
    def of(cls, plan: Plan, receipt: Receipt | None) -> Self:
        conflicts = [ConflictView.model_validate(one.as_dict()) for one in plan.conflicts]
        shown = ReceiptView.of(receipt) if receipt else None
        changes = [RevertView.model_validate(one) for one in plan.changes]
        return cls(undone=list(plan.undone), changes=changes, conflicts=conflicts, receipt=shown)


@router.post("/rollback", summary="Undo a whole run, import or stretch of a thread")
async def roll_back(body: RollbackRequest, key: IdempotencyKey, engine: TheEngine) -> RolledBack:
    """All or nothing, in one step; a later change of something is a conflict. What was said stays said."""
    command = validated(Rollback, {**fields_of(engine, body, "dry_run"), "at": engine.writes.now()})
    if body.dry_run:
        return RolledBack.of(await engine.writes.rollback_plan(command), None)
    return RolledBack.of(*await engine.writes.rolled_back(command, key))


class ForgetRequest(Writer):
    """`session`: the agent's working memory of a chat; `agent`: what is its own; `global`: what all agents share."""

    scope: Reach
    chat_id: Annotated[Id | None, Field(description="With `session`: the chat.")] = None
    with_episodes: Annotated[Flag, Field(description="With `session`: what happened in it today, too.")] = False
    hard: Annotated[Flag, Field(description="Destroy the text for good.")] = False
    reason: Annotated[Label, Field(description="Why; it stands in the history.")] = ""
    dry_run: Annotated[Flag, Field(description="Show what would go, and change nothing.")] = False


class ForgottenView(BaseModel):
    """What was forgotten. `POST /rollback` with `of_undertaking` brings back what was not erased."""

    memories: list[UUID]
    facts: list[UUID]
    entities: list[UUID]
    todos: list[UUID]
    profile: list[str]
    undertaking: UUID | None
    receipt: ReceiptView | None


@router.post("/forget", summary="Forget a session, what is an agent's own, or what all agents share")
async def forget(body: ForgetRequest, engine: TheEngine) -> ForgottenView:
    """Softly, unless `hard`. Again it takes what came since."""
    viewer = viewer_of(engine, body)
    asked = Forgetting(viewer, body.scope, body.chat_id, body.with_episodes, body.hard, body.reason)
    if body.dry_run:
        found = await forgetting.extent(engine, asked)
        return ForgottenView.model_validate({**found.as_dict(), "undertaking": None, "receipt": None})
    done = await forgetting.forget(engine, asked)
    receipt = ReceiptView.of(done.receipt) if done.receipt else None
    fields = {**done.extent.as_dict(), "undertaking": done.undertaking, "receipt": receipt}
    return ForgottenView.model_validate(fields)
