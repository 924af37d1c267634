"""Commands that read: query, list, changes, history, as-of, session."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypeVar

import typer

from mnemolog.adapters.cli import filters, output, panels
from mnemolog.adapters.cli.options import Agent, Json, MemoryId, Thread, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.moment import Moment
from mnemolog.adapters.engine.reads import Reads
from mnemolog.domain.identity import aware, parse_uuid
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.fields import validated
from mnemolog.projections.query import Answer, Hit, MemoryQuery

T = TypeVar("T")
Ask = Callable[[Reads, Viewer, Moment], Awaitable[T]]

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")]
After = Annotated[str | None, typer.Option(help="A receipt's token: wait until that write is seen.")]
Deadline = Annotated[float | None, typer.Option(help="Wait at most so many seconds for it; read_deadline unless said.")]


def register(app: typer.Typer) -> None:
    for name, command in (
        ("query", query),
        ("list", list_memories),
        ("changes", changes),
        ("links", links),
        ("history", history),
        ("as-of", as_of),
        ("session", session),
    ):
        app.command(name, rich_help_panel=panels.READ)(command)


def asked(
    context: typer.Context,
    user: str,
    agent: str,
    ask: Ask[T],
    after: str | None = None,
    deadline: float | None = None,
    as_of: datetime | int | None = None,
) -> T:
    """What `ask` is told of the user as the agent: now, once `after` is seen, or as of earlier."""

    async def read(engine: Engine) -> T:
        moment = await _moment(engine, user, after, deadline) if as_of is None else Moment(as_of=as_of)
        return await ask(engine.reads, Viewer(engine.settings.tenant, user, agent), moment)

    return with_engine(settings_of(context.obj), read)


def query(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="What to look for.")],
    user: User,
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="At most so many memories.")] = 5,
    category: Annotated[list[str] | None, typer.Option("--category", "-c", help="Only this; may be repeated.")] = None,
    where: Annotated[
        list[str] | None, typer.Option("--filter", "-f", help="Such as pinned=true or updated_after=2026-01-31.")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="At most so many tokens.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Drop what is less similar (cosine).")] = None,
    since: Annotated[int | None, typer.Option(help="Show what changed since this revision.")] = None,
    full: Annotated[bool, typer.Option("--full", help="With --json: whole memories, not bullets.")] = False,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Ask the memory a question."""
    fields: dict[str, Any] = {
        "agent": agent,
        "query": question,
        "top_k": top_k,
        "categories": tuple(category or ()),
        "filters": {**filters.of_pairs(where or []), "user_id": user},
        "budget_tokens": budget,
        "threshold": threshold,
        "thread_id": thread,
        "since_rev": since,
        "return": "full" if full else "bullets",
    }

    async def ask(reads: Reads, viewer: Viewer, moment: Moment) -> Answer:
        return await reads.query(validated(MemoryQuery, {**fields, "tenant": viewer.tenant}), moment)

    _show_answer(asked(context, user, agent, ask, after, deadline), full=full, json=json, since=since)


def list_memories(
    context: typer.Context,
    user: User,
    limit: Limit = 20,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """The memories that changed last."""
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.newest(viewer, limit, at), after, deadline)
    output.as_json(rows) if json else output.memories(rows)


def changes(
    context: typer.Context,
    user: User,
    since: Annotated[int, typer.Option(min=0, help="The revision that you know.")] = 0,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """What changed in a thread: the delta header of an agent."""
    found = asked(
        context, user, agent, lambda reads, viewer, at: reads.changes(viewer, thread, since, at), after, deadline
    )
    if json:
        entries = [asdict(entry) for entry in found.entries]
        output.as_json({"header": found.header, "rev": found.rev, "changes": entries})
        return
    output.header(found.header)
    output.console.print(f"[dim]revision {found.rev}[/]")


def links(
    context: typer.Context,
    memory_id: MemoryId,
    user: User,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """What a memory is linked to, the strongest link first."""
    id_ = parse_uuid(memory_id, "memory_id")
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.links(viewer, id_, at), after, deadline)
    output.as_json(rows) if json else output.links(rows)


def history(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID", help="The id of a memory, an entity or a fact.")],
    user: User,
    limit: Limit = 100,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """Everything that happened to a memory, an entity or a fact."""
    id_ = parse_uuid(what, "id")
    rows = asked(context, user, agent, lambda reads, viewer, at: reads.history(viewer, id_, limit, at), after, deadline)
    output.as_json(rows) if json else output.history(rows)


def as_of(
    context: typer.Context,
    moment: Annotated[str, typer.Argument(help="A time such as 2026-01-03T01:02:10Z, or @17: after event 17.")],
    user: User,
    question: Annotated[
        str | None, typer.Option("--query", "-q", help="Ask this, as it would have been answered.")
    ] = None,
    limit: Limit = 20,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """A user's memory as it was at an earlier moment, replayed from the log."""

    async def ask(reads: Reads, viewer: Viewer, at: Moment) -> Sequence[Mapping[str, Any]]:
        if question is None:
            return await reads.newest(viewer, limit, at)
        fields = {"agent": agent, "query": question, "top_k": limit, "filters": {"user_id": user}}
        request = validated(MemoryQuery, {**fields, "tenant": viewer.tenant})
        return [_whole(hit) for hit in (await reads.query(request, at)).hits]

    rows = asked(context, user, agent, ask, as_of=point_of(moment, "moment"))
    output.as_json(rows) if json else output.memories(rows, title=f"as of {moment}")


def session(
    context: typer.Context,
    user: User,
    after: After = None,
    deadline: Deadline = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """The working memory of a conversation."""
    held = asked(context, user, agent, lambda reads, viewer, at: reads.session(viewer, thread, at), after, deadline)
    found = held.as_dict()
    if json:
        output.as_json(found)
        return
    output.console.print(f"[bold]{found['msg_count']}[/] messages, the last at {found['updated_at']}")
    for turn in found["turns"]:
        output.line(turn["role"], turn["text"])


def _show_answer(answer: Answer, *, full: bool, json: bool, since: int | None) -> None:
    if json and full:
        rows = [_whole(hit) for hit in answer.hits]
        output.as_json({"header": answer.header, "rev": answer.rev, "memories": rows})
    elif json:
        bullets = [{"id": str(hit.memory_id), "category": hit.category, "text": hit.bullet} for hit in answer.hits]
        output.as_json({"header": answer.header, "rev": answer.rev, "bullets": bullets})
    else:
        if since is not None:
            output.header(answer.header)
        output.memories([_whole(hit) for hit in answer.hits])


def _whole(hit: Hit) -> dict[str, Any]:
    return {**hit.row, "score": hit.score, "similarity": hit.similarity, "text_rank": hit.text_rank}


async def _moment(engine: Engine, user: str, token: str | None, deadline: float | None) -> Moment:
    """A command sees what the commands before it wrote, also when its engine has only just started."""
    if token is not None:
        return Moment(after=Position.of_token(token), deadline=deadline)
    stream = StreamId.of_user(user, engine.settings.tenant)
    return Moment(after=Position(stream, await engine.log.head(stream)), deadline=deadline)


def point_of(moment: str, field: str) -> datetime | int:
    """`@17` and `17` are a seq of the stream; all else is a time with its offset."""
    digits = moment.removeprefix("@")
    return int(digits) if digits.isdecimal() else aware(moment, field)
