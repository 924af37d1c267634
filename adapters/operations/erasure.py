"""Operations that permanently destroy data, and the proof that nothing is left."""

from typing import TYPE_CHECKING, Annotated, Self
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Rehearsal, Rehearsed, Request, command_of, request_of, stream_of
from mnemolog.adapters.operations.results import Result, Written
from mnemolog.commands.erasure import Erase, EraseKnown, EraseMemory, EraseThread, EraseUser
from mnemolog.commands.erasure_requests import NAMED
from mnemolog.commands.erasure_taken import Taken
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.principal import Role
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import Id, Text, Uuid

if TYPE_CHECKING:
    from mnemolog.adapters.erasure.erasing import Erasure
    from mnemolog.adapters.erasure.target import ProofSubject

# The kinds of subjects of a user. A document is one of an agent's library.
OF_USER = {kind: name for kind, name in NAMED.items() if kind != DOCUMENT.name}


class Erased(Result):
    """What was erased, or for a dry run what would be. `receipt` is null after a dry run."""

    memories: list[UUID]
    turns: list[str]
    known: list[str] = Field(
        description="Entities, facts, profile fields, todos, artifacts, documents and entries of beings.",
        examples=[["entity:0194…", "profile:city"]],
    )
    cleared: list[str] = Field(description="Entities that keep what other turns said about them.")
    survivors: list[UUID] = Field(
        description="For a dry run: memories that these were merged into; `with_survivors` erases them too."
    )
    messages: int = Field(0, description="Waiting turns and dead letters that were deleted on JetStream.")
    held_up: dict[str, dict[str, str]] = Field(
        {}, description="Projections that are stopped, paused or late, and why. The text was removed from them too."
    )
    receipt: Written | None = None

    @classmethod
    def of(cls, taken: Taken) -> Self:
        return cls.model_validate(taken.as_dict())

    @classmethod
    def of_erasure(cls, erasure: "Erasure") -> Self:
        held_up = {name: error.as_dict() for name, error in erasure.held_up.items()}
        done = {"messages": erasure.messages, "held_up": held_up, "receipt": Written.of(erasure.receipt)}
        return cls.model_validate({**erasure.extent.as_dict(), **done})


class PlaceView(Result):
    """A place where the text could be stored, the number of items checked there, and how many are `readable`."""

    name: str
    looked_at: int
    readable: int
    detail: str
    found: list[str]


class Proof(Result):
    """`erased`: the text can be read in none of the `places`. `unseen`: places that queries do not cover."""

    erased: bool
    places: list[PlaceView]
    unseen: list[str]


class OfThread(Rehearsed):
    """The thread to erase."""

    thread_id: Annotated[Id, Field(description="The thread to erase.")]


class EraseEntity(Rehearsed):
    """The entity to erase."""

    entity_id: Annotated[Uuid, Field(description="The entity's id.")]


class EraseFact(Rehearsed):
    """The fact to erase."""

    relation_id: Annotated[Uuid, Field(description="The fact's id.")]


class EraseField(Rehearsed):
    """The field of the profile to erase."""

    field: Annotated[Id, Field(description="The profile field, such as `city`.", examples=["city"])]


class EraseTodo(Rehearsed):
    """The todo to erase."""

    todo_id: Annotated[Uuid, Field(description="The todo's id.")]


class EraseEntry(Rehearsed):
    """The entry of a being to erase."""

    entry_id: Annotated[Uuid, Field(description="The entry's id.")]


class EraseArtifact(Rehearsed):
    """The artifact to erase."""

    artifact_id: Annotated[Uuid, Field(description="The artifact's id.")]


class ProveErased(Request):
    """What was erased: one of these ids, or none for the whole user."""

    memory_id: Annotated[Uuid | None, Field(description="A memory.")] = None
    message_id: Annotated[Id | None, Field(description="A message.")] = None
    thread_id: Annotated[Id | None, Field(description="A thread.")] = None
    entity_id: Annotated[Uuid | None, Field(description="An entity.")] = None
    relation_id: Annotated[Uuid | None, Field(description="A fact.")] = None
    field: Annotated[Id | None, Field(description="A profile field.")] = None
    todo_id: Annotated[Uuid | None, Field(description="A todo.")] = None
    artifact_id: Annotated[Uuid | None, Field(description="An artifact.")] = None
    entry_id: Annotated[Uuid | None, Field(description="An entry of a being.")] = None
    text: Annotated[
        Text | None, Field(description="Words to search for in every row, value and message of the user.")
    ] = None

    def subject(self, stream: StreamId) -> "ProofSubject":
        from mnemolog.adapters.erasure.target import ProofSubject

        things = ("memory_id", "message_id", "thread_id", *OF_USER.values())
        if len(named := [name for name in things if getattr(self, name) is not None]) > 1:
            raise InvalidInput(
                "only one item can be checked at a time", field=named[0], fix=f"leave out {' or '.join(named)}"
            )
        known = {kind: getattr(self, name) for kind, name in OF_USER.items()}
        tags = [f"{kind}:{id_}" for kind, id_ in known.items() if id_ is not None]
        known_tag = tags[0] if tags else None
        return ProofSubject(stream, self.memory_id, self.thread_id, known_tag, self.message_id)


@operation(
    "erase",
    "POST /memories/{memory_id}/erase",
    request_of(EraseMemory, "due", "cause", base=Rehearsed),
    tag="erasure",
    done="Erased",
    destroys=True,
)
async def erase(engine: Engine, request: Rehearsed) -> Erased:
    """Erase a memory permanently.

    Destroys its text and, unless `keep_turns`, the turns it was extracted from. This cannot be undone. If the text may
    survive in a memory that it was merged into, the erasure is refused without `with_survivors`.
    """
    return await carried_out(engine, command_of(EraseMemory, engine, request), request)


@operation(
    "thread erase",
    "POST /thread/erase",
    request_of(EraseThread, "due", base=OfThread),
    arguments=("thread_id",),
    tag="erasure",
    done="Erased",
    destroys=True,
)
async def erase_thread(engine: Engine, request: Rehearsed) -> Erased:
    """Erase a thread permanently.

    Destroys its turns, the memories extracted from them, and its sessions. This cannot be undone.
    """
    return await carried_out(engine, command_of(EraseThread, engine, request), request)


@operation(
    "user erase", "POST /user/erase", request_of(EraseUser, base=Rehearsed), tag="erasure", done="Erased", destroys=True
)
async def erase_user(engine: Engine, request: Rehearsed) -> Erased:
    """Erase everything about a user permanently.

    This cannot be undone. A user who returns starts empty, with new keys.
    """
    return await carried_out(engine, command_of(EraseUser, engine, request), request)


@operation("entity erase", "POST /entities/{entity_id}/erase", tag="erasure", done="Erased", destroys=True)
async def erase_entity(engine: Engine, request: EraseEntity) -> Erased:
    """Erase an entity permanently.

    Destroys its facts too; turns and memories stay. `delete_entity` hides it instead.
    """
    return await _erase_known(engine, request, "entity", request.entity_id)


@operation("fact erase", "POST /facts/{relation_id}/erase", tag="erasure", done="Erased", destroys=True)
async def erase_fact(engine: Engine, request: EraseFact) -> Erased:
    """Erase a fact permanently.

    Turns and memories stay. `delete_fact` hides it instead.
    """
    return await _erase_known(engine, request, "relation", request.relation_id)


@operation("profile erase", "POST /profile/{field}/erase", tag="erasure", done="Erased", destroys=True)
async def erase_profile(engine: Engine, request: EraseField) -> Erased:
    """Erase a profile field permanently.

    Destroys its value, earlier values and proposals.
    """
    return await _erase_known(engine, request, "profile", request.field)


@operation("todo erase", "POST /todos/{todo_id}/erase", tag="erasure", done="Erased", destroys=True)
async def erase_todo(engine: Engine, request: EraseTodo) -> Erased:
    """Erase a todo permanently.

    To close a todo and keep it, set its status to `dropped`.
    """
    return await _erase_known(engine, request, "todo", request.todo_id)


@operation("being erase", "POST /being/entries/{entry_id}/erase", tag="erasure", done="Erased", destroys=True)
async def erase_being_entry(engine: Engine, request: EraseEntry) -> Erased:
    """Erase an entry of a being permanently.

    Destroys its content and its former content. `remove_being_entry` hides it instead.
    """
    return await _erase_known(engine, request, "being_entry", request.entry_id)


@operation("artifact erase", "POST /artifacts/{artifact_id}/erase", tag="erasure", done="Erased", destroys=True)
async def erase_artifact(engine: Engine, request: EraseArtifact) -> Erased:
    """Erase an artifact permanently.

    Destroys its file and its texts; turns and memories stay. `delete_artifact` hides it instead.
    """
    return await _erase_known(engine, request, "artifact", request.artifact_id)


@operation("prove-erased", "POST /prove-erased", tag="erasure", role=Role.ERASE, lasting=True)
async def prove_erased(engine: Engine, request: ProveErased) -> Proof:
    """Prove that erased data cannot be read anywhere.

    Checks every place where it could be stored. Without an id, checks everything written about the user before the
    erasure.
    """
    from mnemolog.adapters.erasure.prove import prove

    subject = request.subject(stream_of(engine, request))
    async with engine.reads.long_read():
        proof = await prove(engine, subject, request.text, agent_id=request.agent_id)
    return Proof.model_validate(proof.as_dict())


async def _erase_known(engine: Engine, request: Rehearsed, kind: str, name: object) -> Erased:
    return await carried_out(engine, command_of(EraseKnown, engine, request, kind=kind, name=str(name)), request)


async def carried_out(engine: Engine, command: Erase | EraseUser, request: Rehearsal) -> Erased:
    """Returns once no projection shows the text."""
    from mnemolog.adapters.erasure import erasing

    if request.dry_run:
        return Erased.of(await erasing.extent(engine, command))
    return Erased.of_erasure(await erasing.erase(engine, command, request.idempotency_key))
