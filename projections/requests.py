"""What may be asked of the projections: requests alone, which load no database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, FailFast, Field, JsonValue, Strict, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from mnemolog.domain import hydration, identity
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.json_value import checked_json
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import MAX_REFS
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.origin import TRUSTED, Origin
from mnemolog.domain.ranking import PROFILES, Cutoff
from mnemolog.domain.turn import Role
from mnemolog.domain.viewer import Viewer
from mnemolog.events import fields
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, StreamId
from mnemolog.events.fields import REFUSED, WHOLE, AtMost, Detail, Flag, Id, Tenant, Text, checked_by
from mnemolog.events.shapes import DAY

Moment = Annotated[datetime, checked_by(identity.day_or_instant), WithJsonSchema(DAY)]
Level = Annotated[float, Strict(), WithJsonSchema({"type": "number", "minimum": 1, "maximum": 5})]


class Filters(BaseModel):
    """Properties of memories (B §6). All of them must hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_id: Annotated[
        Id | None,
        Field(description="Of this agent alone: memories that only it sees, and messages of conversations with it."),
    ] = None
    run_id: Annotated[Id | None, Field(description="From this run.")] = None
    actor_id: Annotated[Id | None, Field(description="Written by this actor.")] = None
    role: Annotated[Role | None, Field(description="Said by this role.")] = None
    category: Annotated[Id | None, Field(description="In this category.")] = None
    pinned: Annotated[Flag | None, Field(description="Whether it is pinned.")] = None
    importance_min: Annotated[Level | None, Field(description="At least this importance, on B's scale of 1 to 5.")] = (
        None
    )
    importance_max: Annotated[Level | None, Field(description="At most this importance, on B's scale of 1 to 5.")] = (
        None
    )
    metadata: Annotated[
        dict[str, JsonValue] | None, checked_by(checked_json), Field(description="With these metadata values.")
    ] = None
    since: Annotated[Moment | None, Field(description="Said at this time or later, or from this day on.")] = None
    until: Annotated[Moment | None, Field(description="Said before this time or day.")] = None
    thread_id: Annotated[Id | None, Field(description="Said or written in this thread.")] = None
    session_id: Annotated[fields.Uuid | None, Field(description="Said in this session of the agent.")] = None
    episode_id: Annotated[fields.Uuid | None, Field(description="Said in this episode of the agent.")] = None
    updated_after: Annotated[Moment | None, Field(description="Updated after this time or day.")] = None
    updated_before: Annotated[Moment | None, Field(description="Updated before this time or day.")] = None
    origin: Annotated[
        tuple[Origin, ...],
        AtMost(len(Origin)),
        Field(description="From any of these: `user`, `agent`, `document`, `tool`, ..."),
    ] = ()
    trusted_only: Annotated[Flag, Field(description="Nothing that comes from outside.")] = False
    entity_ids: Annotated[
        tuple[fields.Uuid, ...],
        AtMost(MAX_REFS),
        Field(description="About any of these entities, or entities merged with them."),
    ] = ()

    @model_validator(mode="after")
    def _ranges_hold_something(self) -> Self:
        for first, last in (("since", "until"), ("updated_after", "updated_before")):
            since, until = getattr(self, first), getattr(self, last)
            if since is not None and until is not None and since >= until:
                fix = f"give a `{last}` after `{first}`, such as the next day for one day, or omit one of them"
                raise _refused(f"is not after `{first}`: nothing is between them", fix, last)
        least, most = self.importance_min, self.importance_max
        if least is not None and most is not None and least > most:
            raise _refused("is less than `importance_min`", "swap them, or omit one of them", "importance_max")
        return self

    @property
    def origins(self) -> frozenset[Origin]:
        """Where what is wanted may come from."""
        wanted = frozenset(self.origin or Origin)
        return wanted & TRUSTED if self.trusted_only else wanted


def _refused(message: str, fix: str, field: str) -> PydanticCustomError:
    return PydanticCustomError(REFUSED, "{message}", {"message": message, "fix": fix, "below": f".{field}"})


UNFILTERED = Filters()


def restricted(fields: Any) -> Any:
    """The fields of a request with its `trusted_only` as a filter, too."""
    if not isinstance(fields, dict) or fields.get("trusted_only") is not True:
        return fields
    filters = fields.get("filters") or {}
    known = filters.model_dump(exclude_unset=True) if isinstance(filters, Filters) else filters
    return {**fields, "filters": {**known, "trusted_only": True}} if isinstance(known, dict) else fields


TrustedOnly = Annotated[
    Flag, Field(description="Leave out what comes from outside: texts of tools, documents, other agents and imports.")
]


CutoffChoice = Annotated[
    Cutoff | None,
    Field(
        description="Leave out what is much less similar than the best hit (`relative`), or than what comes to mind"
        " (`floor`). By default as the profile says: `relative` for `twin`, `floor` for `being`, else `none`."
    ),
]
RankingProfile = Annotated[
    Literal["default", "twin", "delta", "being", "persona"],
    Field(
        description="How hits are ranked. `default` is tuned on conversations; the others weigh similarity, age,"
        " frequency and links differently. Insights count half."
    ),
]

KINDS = frozenset({*Kind, MESSAGE, "relation", "entity", "profile", "todo", "summary", "artifact", "passage"})
"""The kinds of hits: those of all sources."""


def known_kind(value: object, path: str) -> str:
    """A kind of hit; raises InvalidInput for any other."""
    if not isinstance(value, str) or value not in KINDS:
        fix = f"use one of {', '.join(sorted(KINDS))}"
        raise InvalidInput(f"there is no kind {value!r:.80}", field=path, fix=fix)
    return value


FoundKind = Annotated[str, checked_by(known_kind), WithJsonSchema({"type": "string", "enum": sorted(KINDS)})]


Categories = Annotated[
    tuple[str, ...], FailFast(), Field(description="Only these categories; by default all that the agent may read.")
]


class Searching(BaseModel):
    """A request of memory.query (B §6), without its user and agent."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    query: Annotated[Text, Field(description="What to search for.")]
    categories: Categories = ()
    filters: Annotated[
        Filters, Field(description="Only items with these properties. Kinds without them are left out.")
    ] = Filters()
    top_k: Annotated[int, Strict(), Field(ge=1, le=100, description="The maximum number of results."), WHOLE] = 5
    returns: Annotated[
        Literal["bullets", "full"],
        Field(alias="return", description="`bullets` for a prompt, or `full` for complete memories."),
    ] = "bullets"
    budget_tokens: Annotated[
        int | None,
        Strict(),
        Field(
            ge=1,
            description="The maximum total number of tokens in the bullets. If not all fit, long texts are in them by "
            "the sentences that answer the query.",
        ),
        WHOLE,
    ] = None
    threshold: Annotated[
        float | None, Strict(), Field(ge=-1, le=1, description="The minimum cosine similarity to the query.")
    ] = None
    profile: RankingProfile = "default"
    cutoff: CutoffChoice = None
    kinds: Annotated[
        tuple[FoundKind, ...],
        FailFast(),
        Field(
            description="Only these kinds; by default everything but procedures. A `relation` is a fact about an"
            " entity, such as where somebody lives; a `fact` is a memory."
        ),
    ] = ()
    superseded: Annotated[
        Literal["include", "exclude"],
        Field(description="Whether to show what a newer or more authoritative item replaced, marked, below that item."),
    ] = "include"
    trusted_only: TrustedOnly = False
    thread_id: Annotated[
        Id, Field(description="The thread of `since_rev`, and of the conversation that pronouns refer to.")
    ] = DEFAULT_THREAD
    asked_at: Annotated[
        Moment | None,
        Field(description="When the question is asked: `last week` in it counts back from then. Default: now."),
    ] = None
    since_rev: Annotated[
        int | None,
        Strict(),
        Field(ge=0, description="Also report what changed in the thread since this revision, as a delta header."),
        WHOLE,
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _as_in_b(cls, fields: Any) -> Any:
        """In B §6, the agent is `agent`, and the user is among the filters."""
        if not isinstance(fields, dict):
            return fields
        lifted = dict(restricted(fields))
        if "agent" in lifted:
            lifted.setdefault("agent_id", lifted.pop("agent"))
        filters = lifted.get("filters")
        if isinstance(filters, dict) and "user_id" in filters:
            lifted["filters"] = {name: value for name, value in filters.items() if name != "user_id"}
            if str(lifted.setdefault("user_id", filters["user_id"])) != str(filters["user_id"]):
                raise InvalidInput(
                    "differs from `user_id`", field="filters.user_id", fix="omit it, or use the same user"
                )
        return lifted


class MemoryQuery(Searching):
    """A search of one user's memories, as one agent."""

    tenant: Tenant = DEFAULT_TENANT
    user_id: Id
    agent_id: Id = DEFAULT_AGENT

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.tenant, self.user_id, self.agent_id)

    @property
    def stream(self) -> StreamId:
        return StreamId.of_user(self.user_id, self.tenant)


MOST_RECENT = 50
SinceRev = Annotated[
    Annotated[int, Strict(), Field(ge=0), WHOLE] | None,
    Field(description="Begin with what changed in the thread since this revision, as a delta header."),
]


class ContextRequest(BaseModel):
    """What the agent is about to answer. Without `categories`, everything it may read except procedures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: Annotated[Text, Field(description="What the agent is about to answer.")]
    categories: Categories = ()
    filters: Annotated[Filters, Field(description="Apply to all but what every context has.")] = Filters()
    profile: RankingProfile = "default"
    cutoff: CutoffChoice = None
    trusted_only: TrustedOnly = False
    thread_id: Annotated[Id, Field(description="The thread whose conversation pronouns refer to.")] = DEFAULT_THREAD
    budget_tokens: Annotated[
        int | None,
        Strict(),
        Field(
            ge=1,
            description="The maximum number of tokens in `bullets`; unlimited by default. If not all fit, long texts "
            "are in them by the sentences that answer the query.",
        ),
        WHOLE,
    ] = None
    recent: Annotated[
        int,
        Strict(),
        Field(
            ge=0,
            le=MOST_RECENT,
            description="How many of the thread's last messages to include, with the agent's open todos: for an "
            "agent that keeps no conversation itself.",
        ),
        WHOLE,
    ] = 0
    since_rev: SinceRev = None

    @model_validator(mode="before")
    @classmethod
    def _restricted(cls, fields: Any) -> Any:
        return restricted(fields)


def restrictions(request: Searching | ContextRequest) -> Sequence[str]:
    """What a request restricts the search to, by field: for whoever is told that nothing was found."""
    given = request.model_dump(exclude_defaults=True)
    named = ["categories", "kinds", "threshold", "cutoff", "superseded"]
    by_profile = request.cutoff is None and PROFILES[request.profile].cutoff is not Cutoff.NONE
    filters = (f"filters.{name}" for name in sorted(request.filters.model_dump(exclude_defaults=True)))
    return [*(one for one in named if one in given), *(["profile"] if by_profile else []), *filters]


LEAST_EDGES = 30


class EnvelopeRequest(BaseModel):
    """The message that an agent is about to answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    message: Annotated[Text, Field(description="The message that the agent is about to answer.")]
    thread_id: Annotated[Id, Field(description="The thread whose affect and active entities count.")] = DEFAULT_THREAD
    edges: Annotated[
        int,
        Strict(),
        Field(
            ge=LEAST_EDGES,
            le=hydration.MAX_EDGES,
            description="The maximum number of facts; critical ones are never left out.",
        ),
        WHOLE,
    ] = hydration.MAX_EDGES
    trusted_only: TrustedOnly = False


class ClaimsRequest(BaseModel):
    """What an agent is about to say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[Text, Field(description="The answer whose claims to check.")]
    thread_id: Annotated[Id, Field(description="The thread whose active entities count.")] = DEFAULT_THREAD


Instructions = Annotated[
    Detail,
    Field(
        description="Who the agent is and how it answers: the beginning of the system message. A being's soul follows."
    ),
]


class BlocksRequest(BaseModel):
    """What precedes a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread_id: Annotated[Id, Field(description="The thread whose changes the delta header reports.")] = DEFAULT_THREAD
    instructions: Instructions = ""
    since_rev: SinceRev = None
    trusted_only: TrustedOnly = False


class PromptRequest(EnvelopeRequest):
    """The message to answer, and what the agent is."""

    instructions: Instructions = ""
    since_rev: SinceRev = None
