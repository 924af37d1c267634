"""The verbs of the Python face for a conversation."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mnemolog.adapters.operations import conversation
from mnemolog.adapters.operations.conversation import Added, Session
from mnemolog.asking import After, Asking, Id, Moment


class ConversationVerbs(Asking):
    """A part of `AsyncMemory`."""

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
        `metadata`, and the `memories` and `facts` that you extracted from it. Each leaves an episodic memory, which
        keeps its `metadata` and that of all messages given here. A `message_id` of your own makes a retry harmless, as
        an `idempotency_key` does.

        Example:
            memory.add("I moved to Lisbon", user_id="ana")
            memory.add([{"role": "user", "name": "Ana", "content": "I like it here"}], user_id="ana").memory_ids
        """
        return await self._ask(conversation.add, locals())

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
