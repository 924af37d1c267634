"""Methods of the Python API for conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import attention, conversation, messages, summaries
    from mnemolog.adapters.operations import respond as responding
    from mnemolog.adapters.operations.attention import AffectView
    from mnemolog.adapters.operations.conversation import Added, Session
    from mnemolog.adapters.operations.erasure import Erased
    from mnemolog.adapters.operations.respond import Responded
    from mnemolog.adapters.operations.results import MessageView, Page, Written
    from mnemolog.adapters.operations.summaries import SummaryView
else:
    attention = Deferred("mnemolog.adapters.operations.attention")
    conversation = Deferred("mnemolog.adapters.operations.conversation")
    responding = Deferred("mnemolog.adapters.operations.respond")
    messages = Deferred("mnemolog.adapters.operations.messages")
    summaries = Deferred("mnemolog.adapters.operations.summaries")


class ConversationVerbs(Asking):
    """A part of `Verbs`."""

    async def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        *,
        metadata: Mapping[str, Any] | None = None,
        correlation_id: Id | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Added:
        """Add what was said: a text, a message as chat APIs have it, or a list of them, which are recorded together.

        A message has `content`, and may have `role`, `name` (who speaks), `message_id`, `occurred_at`, `attachments`,
        `metadata`, and the `memories` and `facts` that you extracted from it. Messages may be passed as the OpenAI API
        has them. `metadata` given here is added to that of each message. A `message_id` of your own makes a retry
        harmless, as an `idempotency_key` does.

        Example:
            memory.add("I moved to Lisbon", user_id="ana")
            memory.add([{"role": "user", "name": "Ana", "content": "I like it here"}], user_id="ana").message_ids
        """
        return await self._ask(conversation.add, locals())

    async def respond(
        self,
        message: str,
        *,
        edges: int | None = None,
        trusted_only: bool | None = None,
        instructions: str | None = None,
        since_rev: int | None = None,
        message_id: str | None = None,
        speaker: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Responded:
        """Answer a message in one call: recorded, assembled, asked of the chat model once, and remembered.

        Without a chat model, `prompt` is what to ask one, and `answer_id` the id under which to add its answer. A
        request with the same `message_id` or idempotency key is answered once.

        Example:
            memory.respond("Do you remember where I live?", user_id="ana").prompt.user
        """
        return await self._ask(responding.respond, locals())

    async def session(
        self,
        *,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Session:
        """Read the session of a thread: what was just said, and who spoke. It ends after a day of silence.

        Example:
            memory.add("I moved to Lisbon", user_id="ana")
            [turn.text for turn in memory.session(user_id="ana").turns]
        """
        return await self._ask(conversation.session, locals())

    async def list_messages(
        self,
        *,
        thread_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[MessageView]:
        """List the messages of a user or of one thread, newest first. Deleted ones are left out.

        Example:
            memory.add("I moved to Lisbon", user_id="ana")
            [message.text for message in memory.list_messages(user_id="ana")]
        """
        return await self._ask(messages.list_messages, locals())

    async def get_message(
        self,
        message_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> MessageView:
        """Read one message, deleted or not.

        Example:
            added = memory.add("I moved to Lisbon", user_id="ana")
            memory.get_message(added.message_id, user_id="ana").text
        """
        return await self._ask(messages.get_message, locals())

    async def delete_message(
        self,
        message_id: str,
        *,
        reason: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete a message: hidden at once, and erased after 30 days unless it is restored. Memories from it stay.

        Example:
            added = memory.add("I moved to Lisbon", user_id="ana")
            memory.delete_message(added.message_id, user_id="ana")
        """
        return await self._ask(messages.delete_message, locals())

    async def restore_message(
        self,
        message_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Restore a deleted message.

        Example:
            added = memory.add("I moved to Lisbon", user_id="ana")
            memory.delete_message(added.message_id, user_id="ana")
            memory.restore_message(added.message_id, user_id="ana")
        """
        return await self._ask(messages.restore_message, locals())

    async def erase_message(
        self,
        message_id: str,
        *,
        keep_memories: bool | None = None,
        with_survivors: bool | None = None,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase a message permanently, with the memories extracted from it unless `keep_memories`.

        Example:
            added = memory.add("I moved to Lisbon", user_id="ana")
            memory.erase_message(added.message_id, user_id="ana")
        """
        return await self._ask(messages.erase_message, locals())

    async def list_summaries(
        self,
        *,
        thread_id: str | None = None,
        kind: Literal["rolling", "running", "chunk", "session", "final", "spine"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[SummaryView]:
        """List the summaries of conversations, newest first. Jobs write them; earlier versions are kept.

        Example:
            [summary.text for summary in memory.list_summaries(user_id="ana", kind="session")]
        """
        return await self._ask(summaries.list_summaries, locals())

    async def get_summary(
        self,
        summary_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> SummaryView:
        """Read one summary, of any version.

        Example:
            for summary in memory.list_summaries(user_id="ana"):
                print(memory.get_summary(summary.summary_id, user_id="ana").text)
        """
        return await self._ask(summaries.get_summary, locals())

    async def set_affect(
        self,
        label: str,
        *,
        confidence: float,
        markers: Sequence[str] | None = None,
        interaction_mode: str | None = None,
        decay_at: datetime | str | None = None,
        every_n_messages: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Set the affect of a thread: the user's mood, as this agent reads it.

        `confidence` is in [0, 1]. It fades every `every_n_messages` messages (3), and is over at `decay_at` (in 30
        minutes). It never becomes a fact.

        Example:
            memory.set_affect("stressed", confidence=0.85, user_id="ana", interaction_mode="reflective")
        """
        return await self._ask(attention.set_affect, locals())

    async def get_affect(
        self,
        *,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> AffectView:
        """Read the affect of a thread. It is `neutral` where none was set, or its time is over.

        Example:
            memory.get_affect(user_id="ana").affect.label
        """
        return await self._ask(attention.get_affect, locals())

    async def set_focus(
        self,
        *,
        topic_focus: str | None = None,
        mode: str | None = None,
        pending_questions: Sequence[str] | None = None,
        active_entity_ids: Sequence[Id] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Set what a thread is about: its topic, its mode, pending questions, and who or what is spoken of.

        The session shows it in `scratch` and `active_entity_ids`. Fields that are left out stay as they are.

        Example:
            memory.set_focus(topic_focus="family", user_id="ana")
        """
        return await self._ask(attention.set_focus, locals())
