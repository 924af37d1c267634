"""Operations on messages: list, read, delete, restore, erase. `add` records them."""

from typing import Annotated

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.erasure import Erased, carried_out
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import (
    PagedRead,
    Read,
    Rehearsed,
    Write,
    command_of,
    request_of,
    stream_of,
    viewer_of,
)
from mnemolog.adapters.operations.results import MessageView, Page, Written
from mnemolog.commands.erasure import EraseMessages
from mnemolog.commands.messages import DeleteMessage, MessageCommand, RestoreMessage
from mnemolog.events.fields import Id

MESSAGE_ID = Annotated[Id, Field(description="The message's id, as its producer gave it or `add` returned it.")]


class MessageRead(Read):
    """One message."""

    message_id: MESSAGE_ID


class MessageList(PagedRead):
    """The newest messages first."""

    thread_id: Annotated[Id | None, Field(description="Only the messages of this thread.")] = None


class OfMessage(Write):
    """The message."""

    message_id: MESSAGE_ID


class EraseMessage(Rehearsed):
    """The message to erase."""

    message_id: MESSAGE_ID


@operation("message list", "GET /messages", tag="conversation")
async def list_messages(engine: Engine, request: MessageList) -> Page[MessageView]:
    """List the messages of a user or of one thread, newest first.

    Deleted messages are left out.
    """
    viewer = viewer_of(engine, request)
    rows = await engine.reads.messages(viewer, request.thread_id, request.limit, request.moment(), request.cursor)
    return Page[MessageView].of(rows)


@operation("message get", "GET /message", tag="conversation", arguments=("message_id",))
async def get_message(engine: Engine, request: MessageRead) -> MessageView:
    """Read one message.

    Also returns deleted messages; see `status`.
    """
    row = await engine.reads.message(viewer_of(engine, request), request.message_id, request.moment())
    return MessageView.model_validate(row)


@operation(
    "message delete",
    "POST /message/delete",
    request_of(DeleteMessage, "cause", base=OfMessage),
    tag="conversation",
    arguments=("message_id",),
    done="Deleted",
)
async def delete_message(engine: Engine, request: OfMessage) -> Written:
    """Delete a message: hidden at once, and erased after 30 days unless it is restored.

    Files that came only with it are hidden, too. Facts that rules extracted from it are hidden soon after, unless
    another message or someone else states them. Memories that were extracted from it stay. `erase_message` destroys it.
    """
    return await _changed(DeleteMessage, engine, request)


@operation(
    "message restore",
    "POST /message/restore",
    request_of(RestoreMessage, base=OfMessage),
    tag="conversation",
    arguments=("message_id",),
    done="Restored",
)
async def restore_message(engine: Engine, request: OfMessage) -> Written:
    """Restore a deleted message with its files, and soon after the facts that were hidden with it."""
    return await _changed(RestoreMessage, engine, request)


@operation(
    "message erase",
    "POST /message/erase",
    request_of(EraseMessages, "due", "cause", "message_ids", base=EraseMessage),
    tag="erasure",
    arguments=("message_id",),
    done="Erased",
    destroys=True,
)
async def erase_message(engine: Engine, request: EraseMessage) -> Erased:
    """Erase a message permanently.

    Destroys its text, the files that came only with it and, unless `keep_memories`, the memories that were extracted
    from it. This cannot be undone.
    """
    command = command_of(EraseMessages, engine, request, message_ids=(request.message_id,))
    return await carried_out(engine, command, request)


async def _changed(kind: type[MessageCommand], engine: Engine, request: OfMessage) -> Written:
    from mnemolog.adapters.erasure.following import followed

    async with followed(engine, stream_of(engine, request)):
        receipt = await engine.writes.change_message(command_of(kind, engine, request), request.idempotency_key)
    return Written.of(receipt)
