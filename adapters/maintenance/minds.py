"""What all minds have in common: how a run is recorded or only planned, and which jobs work for which mind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from mnemolog.adapters.jobs.job import Attempt
from mnemolog.adapters.services import Services
from mnemolog.commands.minds import RunMind
from mnemolog.commands.models import ChatModel
from mnemolog.commands.prompts import Prompt
from mnemolog.domain.errors import ModelOutputInvalid
from mnemolog.domain.minds.mind import WITHOUT_MODEL, Mind
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events import memory as events
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, StreamId
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.events.minds import MindRan, mind_tag

RULES = "rules-1"
"""The model that a run without one names."""
ANSWERS = 3
"""After so many answers that cannot be used, what the model was asked about is passed over."""

Output = TypeVar("Output")


@dataclass(slots=True)
class Ran:
    """What one run of a mind did for a user, or would do: one line for each change.

    `skipped` says what was left out, such as for want of a model; `figures` how much was looked at.
    """

    mind: Mind
    run_id: str
    dry_run: bool = False
    changes: list[Mapping[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    figures: dict[str, int] = field(default_factory=dict)
    model: str = ""
    prompt_version: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def as_dict(self) -> dict[str, Any]:
        names = ("mind", "run_id", "dry_run", "changes", "faults", "skipped", "figures")
        cost = ("model", "prompt_version", "input_tokens", "output_tokens")
        return {name: getattr(self, name) for name in (*names, *cost)}

    def add(self, written: Sequence[Event]) -> None:
        """What one append recorded, or would record."""
        for event in written:
            if isinstance(event, MindRan):
                self.faults += [fault.value for fault in event.faults]
                used = event.generation
                self.model, self.prompt_version = used.model, used.prompt_version
                self.input_tokens += used.input_tokens
                self.output_tokens += used.output_tokens
            else:
                self.changes.append(_change(event))


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a mind for an agent of a user. With `dry_run` it writes nothing."""

    engine: Services
    mind: Mind
    stream: StreamId
    agent_id: str
    thread_id: str
    run_id: str
    dry_run: bool = False

    @property
    def who(self) -> dict[str, Any]:
        """The fields that its commands have in common."""
        return {
            "tenant": self.stream.tenant,
            "user_id": self.stream.owner,
            "agent_id": self.agent_id,
            "thread_id": self.thread_id,
            "run_id": self.run_id,
            "actor": self.mind.value,
        }

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.stream.tenant, self.stream.owner, self.agent_id)

    @property
    def scope(self) -> Scope:
        """Whose memories it makes: the agent's own, unless no agent is named."""
        return Scope.GLOBAL if self.agent_id == DEFAULT_AGENT else Scope.AGENT

    async def earlier(self) -> Sequence[tuple[datetime, MindRan]]:
        """What earlier runs of the mind for this agent recorded, and when."""
        events = await self.engine.log.read(self.stream, tags=[mind_tag(self.mind, self.agent_id)])
        return [(one.occurred_at, one.payload) for one in events if isinstance(one.payload, MindRan)]

    def begun(self) -> Ran:
        return Ran(self.mind, self.run_id, self.dry_run)

    def chat(self, ran: Ran) -> ChatModel | None:
        """The chat model. Without one, the run says what it leaves out."""
        if self.engine.models.chat is None:
            ran.skipped.append(f"no chat model: {WITHOUT_MODEL[self.mind]}")
        return self.engine.models.chat

    async def record(self, ran: Ran, generation: Generation, **fields: Any) -> None:
        """Record what the mind read and proposes, in one append, or plan it."""
        at = self.engine.writes.now()
        about = {**self.who, "mind": self.mind, "generation": generation, "at": at}
        command = validated(RunMind, {**about, **fields})
        if self.dry_run:
            ran.add(await self.engine.writes.plan_mind(command))
            return
        receipt = await self.engine.writes.run_mind(command)
        if receipt.already or not receipt.event_ids:
            return
        written = await self.engine.log.read(self.stream, after=receipt.first_seq - 1, until=receipt.last_seq)
        own = set(receipt.event_ids)
        ran.add([one.payload for one in written if one.event_id in own])


class Work(Protocol):
    """What a mind does in one run."""

    async def __call__(self, run: Run, *, last_attempt: bool) -> Ran: ...


async def run_job(engine: Services, mind: Mind, work: Work, attempt: Attempt) -> None:
    """Let a mind work as a job, which decides again under the guard of the log."""
    job = attempt.job
    place = job.payload.get("agent_id", DEFAULT_AGENT), job.payload.get("thread_id", DEFAULT_THREAD)
    run = Run(engine, mind, job.owner, *place, f"{mind}-{job.job_id}")
    ran = await work(run, last_attempt=job.attempts >= ANSWERS)
    await attempt.save({"changes": len(ran.changes), **ran.figures})


async def answer_of(
    chat: ChatModel,
    tenant: str,
    prompt: Prompt,
    text: str,
    form: type[Output],
    *,
    max_tokens: int,
    last_attempt: bool,
) -> tuple[Output | None, Generation]:
    """What a model answers, and how that was generated; None for an answer that cannot be used.

    ModelOutputInvalid for that unless it is the `last_attempt`. ModelUnavailable and ModelBudgetExceeded: the job is
    tried again later.
    """
    try:
        done = await chat.complete(tenant, prompt, text, form, max_tokens=max_tokens)
    except ModelOutputInvalid:
        if not last_attempt:
            raise
        return None, Generation(model=chat.model, prompt=prompt.name, prompt_version=prompt.version)
    return done.output, done.generation


def _change(event: Event) -> Mapping[str, Any]:
    """A change as it is shown: its type, the memory, and what becomes of it."""
    about: dict[str, UUID | str | list[UUID]] = {"type": event.type_name()}
    for name in ("memory_id", "to_id"):
        if id_ := getattr(event, name, None):
            about[name] = id_
    if isinstance(event, events.ContentEvent):
        about |= {"text": event.text, "category": event.category}
    if isinstance(event, events.MemoryCreated):
        about |= {"kind": event.kind.value}
    if isinstance(event, events.MemoryStatusChanged):
        about |= {"status": event.status.value}
    if isinstance(event, events.MemoriesMerged):
        about |= {"absorbed_ids": list(event.absorbed_ids)}
    return about
