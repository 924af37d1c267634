"""Ports of the models: chat with structured output, vision and transcription.

That of embeddings is beside the vectors (`mnemolog.projections.vectors.embedder`). Models are asked before a
decision, by jobs, and never while a connection is held; what they answered is recorded in an event.

All of them raise ModelUnavailable (try again after `retry_after` seconds), ModelRequestRefused (a setting is wrong),
ModelOutputInvalid (there is an answer, and it cannot be used) or ModelBudgetExceeded (no tokens are left for today).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from mnemolog.commands.prompts import Prompt
from mnemolog.domain.prompt import Message
from mnemolog.events.generation import Generation

Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Completion(Generic[Output]):
    """A validated answer, and how it was generated, for the event that stores it."""

    output: Output
    generation: Generation


class ChatModel(Protocol):
    """Answers in the form of a dataclass or a pydantic model, all of whose fields it fills.

    done = await chat.complete("acme", load("session_summary"), "Ana: I moved to Lisbon", SessionSummary)
    done.output.one_liner  # "Ana moved to Lisbon."
    done.generation        # Generation(model="gpt-4o-mini", prompt="session_summary", prompt_version=1, ...)
    """

    @property
    def model(self) -> str: ...

    async def complete(
        self,
        tenant: str,
        prompt: Prompt,
        text: str,
        output: type[Output],
        *,
        max_tokens: int = 1000,
        temperature: float = 0.0,
        before: Sequence[Message] = (),
    ) -> Completion[Output]:
        """The model's answer to the prompt about this text. The tokens are the tenant's.

        `before`: messages between the prompt and the text.
        """
        ...


@dataclass(frozen=True, slots=True)
class ImageDescription:
    """What an image shows (E, attachments): one or two lines, a paragraph, and the text that can be read in it."""

    short: str
    detail: str
    text: str


class VisionModel(Protocol):
    """Describes images."""

    @property
    def model(self) -> str: ...

    async def describe(
        self, tenant: str, image: bytes, media_type: str, *, caption: str = ""
    ) -> Completion[ImageDescription]:
        """What the image shows. `media_type` is such as image/png; `caption` is what the user wrote with it."""
        ...


@dataclass(frozen=True, slots=True)
class Transcript:
    """What is said in an audio file."""

    text: str


class TranscriptionModel(Protocol):
    """Turns speech into text."""

    @property
    def model(self) -> str: ...

    async def transcribe(self, tenant: str, audio: bytes, file_name: str) -> Completion[Transcript]:
        """What is said. The end of `file_name` tells the format, such as .mp3."""
        ...
