"""A decider: which events a command reads, how they fold, and what it decides. Pure (design §3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mnemolog.commands.steps import Steps
from mnemolog.domain.principal import Principal, Role
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, Happened, Meta, StreamId
from mnemolog.events.event import Event
from mnemolog.events.fields import Id, Tenant, Uuid
from mnemolog.events.log import NOTHING_IGNORED, Ignored

USER = "user"


def _whose_word(fields: dict[str, Any]) -> str:
    """The default actor of a command: the agent if one is given, else the user."""
    return USER if fields["agent_id"] == DEFAULT_AGENT else f"agent:{fields['agent_id']}"


class Command(BaseModel):
    """Base class of commands to one user's stream: user, agent, thread, run and batch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Fields that are generated for a request, so they differ in a retry of the same request.
    generated: ClassVar[frozenset[str]] = frozenset()
    # The role that a principal needs.
    needs: ClassVar[Role] = Role.WRITE

    tenant: Tenant = DEFAULT_TENANT
    user_id: Id
    agent_id: Id = DEFAULT_AGENT
    thread_id: Id = DEFAULT_THREAD
    actor: Id = Field(default_factory=_whose_word)
    run_id: Id | None = None
    correlation_id: Uuid | None = None
    # Whether the API key has the role `consent`: set on admission, never by the request.
    consenting: bool = False
    # The agents the API key may act for, None for all: also set on admission.
    agents: frozenset[str] | None = None

    @property
    def is_users_word(self) -> bool:
        """Whether the user or an operator asks: the user's program, or an API key with the role `consent`."""
        return self.actor == USER or self.consenting

    def stream(self) -> StreamId:
        return StreamId.of_user(self.user_id, self.tenant)

    def require_scope(self, principal: Principal) -> None:
        """Raises NotFound or NotPermitted if this is beyond what the principal may name."""
        principal.require_user(self.tenant, self.user_id)
        principal.require_agent(self.agent_id)

    def meta(self) -> Meta:
        return Meta(
            actor=self.actor,
            agent_id=self.agent_id,
            thread_id=self.thread_id,
            correlation_id=self.correlation_id,
            run_id=self.run_id,
        )

    def fingerprint(self) -> bytes:
        """The same bytes for the same request. Includes the type, since two commands may have the same fields.

        Does not include the principal: each has its own idempotency keys.
        """
        left_out = {*self.generated, "actor", "consenting", "agents"}
        return f"{type(self).__name__} {self.model_dump_json(exclude=left_out, exclude_defaults=True)}".encode()


# An event with its position in the stream or in an append.
Placed = tuple[int, Happened]
Evolve = Callable[[Any, Happened], Any]

C = TypeVar("C", bound=Command)
S = TypeVar("S")
D = TypeVar("D", bound=Callable[..., Sequence[Event]])


class Decisions(Generic[C, S]):
    """The `decide` of a decider with a function for each type of command: that of its first parameter."""

    def __init__(self) -> None:
        self._of: Any = singledispatch(_undecided)

    def register(self, decision: D) -> D:
        self._of.register(decision)
        return decision

    def __call__(self, state: S, command: C) -> Sequence[Event]:
        decided: Sequence[Event] = self._of(command, state)
        return decided


def _undecided(command: Command, state: object) -> Sequence[Event]:
    raise TypeError(f"no decision for {type(command).__name__}")


@dataclass(frozen=True, slots=True)
class Decider(Generic[C, S]):
    """`subject` is the tag of a command's subject; `tags` are all tags that its decision depends on.

    `tags` is called again with the events read so far until it returns no new tags, because dependencies may only
    become known from what was read, such as the other memories of a merge to be undone.

    `written` selects the events that a command appended the first time; without it, a repeated command is answered with
    the last event of its subject.

    `ignored` are events that have a command's tags, but on which its decision does not depend as long as it appends
    something: these are not read, but the guard covers them.

    `deciding` and `reading` do the same as `decide` and `tags`, in steps, if that may take long.

    `unread`: unreadable events are passed as `Unread`, so the decision can use their headers.

    `fresh` are the tags of a command that most likely no event carries, such as that of a new id. These are not read
    first, and what else the decision depends on may be remembered from the command before it: the guard finds out
    whether either was wrong.
    """

    initial: S
    subject: Callable[[C], str]
    tags: Callable[[S, C], frozenset[str]]
    evolve: Callable[[S, Happened], S]
    decide: Callable[[S, C], Sequence[Event]]
    written: Callable[[C, Sequence[Placed]], Sequence[Placed]] | None = None
    fresh: Callable[[C], frozenset[str]] = lambda command: frozenset()
    ignored: Callable[[C], Ignored] = lambda command: NOTHING_IGNORED
    unread: bool = False
    deciding: Callable[[S, C], Steps[Sequence[Event]]] | None = None
    reading: Callable[[S, C], Steps[frozenset[str]]] | None = None

    def tags_in_steps(self, state: S, command: C) -> Steps[frozenset[str]]:
        return (yield from self.reading(state, command)) if self.reading else self.tags(state, command)

    def decide_in_steps(self, state: S, command: C) -> Steps[Sequence[Event]]:
        return (yield from self.deciding(state, command)) if self.deciding else self.decide(state, command)
