"""Transcription of audio files."""

from typing import TYPE_CHECKING

from mnemolog.adapters.openai.budget import TokenBudget
from mnemolog.adapters.openai.chat import LONGEST_ANSWER, TOO_LONG, storable
from mnemolog.adapters.openai.client import MOST_TOKENS, ModelClient, count_of, output_invalid
from mnemolog.commands.models import Completion, Transcript
from mnemolog.domain.text import count_tokens
from mnemolog.events.generation import Generation

if TYPE_CHECKING:
    from openai.types.audio import Transcription

# OpenAI counts ten tokens per second of speech. A second takes at least 2 KB even if well compressed, so the file size
# limits the duration, except for rare formats.
TOKENS_A_SECOND = 10
BYTES_A_SECOND = 2000


class OpenAITranscription:
    """Implements `TranscriptionModel`. If a server reports seconds, as Whisper's do, each counts as ten tokens."""

    def __init__(self, client: ModelClient, budget: TokenBudget) -> None:
        self.model = client.endpoint.model
        self._client, self._budget = client, budget

    async def transcribe(self, tenant: str, audio: bytes, file_name: str) -> Completion[Transcript]:
        endpoint, longest = self._client.endpoint, len(audio) // BYTES_A_SECOND + 1
        async with self._budget.reserved(tenant, endpoint, longest * TOKENS_A_SECOND) as spent:
            heard = await self._client.call(
                lambda client: client.audio.transcriptions.create(model=self.model, file=(file_name, audio))
            )
            text = getattr(heard, "text", None)
            if isinstance(text, str) and len(text) > LONGEST_ANSWER:
                raise output_invalid(endpoint, TOO_LONG)
            spent.add(*_tokens(heard, longest, text if isinstance(text, str) else ""))
            if not isinstance(text, str):
                raise output_invalid(endpoint, "gave no text")
        used = Generation(model=self.model, input_tokens=spent.input_tokens, output_tokens=spent.output_tokens)
        return Completion(Transcript(text=storable(text).strip()), used)


def _tokens(heard: "Transcription", longest: int, text: str) -> tuple[int, int]:
    """The server's count, in tokens or in seconds, or an estimate."""
    usage = getattr(heard, "usage", None)
    seconds = getattr(usage, "seconds", None)
    if isinstance(seconds, int | float) and 0 <= seconds <= MOST_TOKENS / TOKENS_A_SECOND:
        return round(seconds * TOKENS_A_SECOND), 0
    heard_tokens = count_of(usage, "input_tokens", longest * TOKENS_A_SECOND)
    return heard_tokens, count_of(usage, "output_tokens", count_tokens(text))
