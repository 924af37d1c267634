"""A decider: what a command reads, how those events fold, and what it decides. Pure (design §3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from mnemolog.domain.principal import Role
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, Happened, Meta, StreamId
from mnemolog.events.event import Event
from mnemolog.events.fields import Id, Tenant, Uuid

USER = "user"


def _whose_word(fields: dict[str, Any]) -> str:
    """The actor of a command that names none: the user, until an agent is named."""
    return USER if fields["agent_id"] == DEFAULT_AGENT else f"agent:{fields['agent_id']}"


class Command(BaseModel):
    """Something that is asked of one user's stream: whose it is, who asks, in which thread, run and batch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Fields that are generated for the request, not sent with it: a retry has others and is still the same request.
    generated: ClassVar[frozenset[str]] = frozenset()
    # What a principal must be allowed to do, to ask it.
    needs: ClassVar[Role] = Role.WRITE

    tenant: Tenant = DEFAULT_TENANT
    user_id: Id
    agent_id: Id = DEFAULT_AGENT
    thread_id: Id = DEFAULT_THREAD
    actor: Id = Field(default_factory=_whose_word)
    run_id: Id | None = None
    correlation_id: Uuid | None = None
    # Whether the API key that asks has the role `consent`: set where it is admitted, never by the request.
    consenting: bool = False
    # The agents that this API key speaks for, None for every one: set where it is admitted, too.
    agents: frozenset[str] | None = None

    def stream(self) -> StreamId:
        return StreamId.of_user(self.user_id, self.tenant)

    def meta(self) -> Meta:
        return Meta(
            actor=self.actor,
            agent_id=self.agent_id,
            thread_id=self.thread_id,
            correlation_id=self.correlation_id,
            run_id=self.run_id,
        )

    def fingerprint(self) -> bytes:
        """The same bytes for the same request. Two kinds of command may have the same fields, so the kind counts.

        Who asks does not: a principal's idempotency keys are its own.
        """
        left_out = {*self.generated, "actor", "consenting", "agents"}
        return f"{type(self).__name__} {self.model_dump_json(exclude=left_out, exclude_defaults=True)}".encode()


# Where an event stands, in its stream or among those of one append, and the event.
Placed = tuple[int, Happened]

C = TypeVar("C", bound=Command)
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Decider(Generic[C, S]):
    """`subject` tags the thing that a command is about; `tags` all that its decision depends on.

    `tags` is asked again with what was read for its first answer, until it names nothing new: what a decision depends
    on may only show in what it reads, such as the other memories of a merge that is to be undone.

    `written` picks, from events and their places, those that a command appended when it came first; without it, what
    a repeated command is answered with is the last event of its subject.

    `unread`: it is decided by headers where events cannot be read, which come as `Unread`.

    `optimistic` tells of a command that most likely depends on nothing that was written: it is first tried unread.
    What it decides on no state at all must then hold on every state that its guard lets pass: on none of its tags.
    """

    initial: S
    subject: Callable[[C], str]
    tags: Callable[[S, C], frozenset[str]]
    evolve: Callable[[S, Happened], S]
    decide: Callable[[S, C], Sequence[Event]]
    written: Callable[[C, Sequence[Placed]], Sequence[Placed]] | None = None
    optimistic: Callable[[C], bool] = lambda command: False
    unread: bool = False
