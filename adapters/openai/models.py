"""The models of an engine: those that its settings name."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from mnemolog.adapters.config import ModelFeature, Settings
from mnemolog.adapters.openai.budget import TokenBudget
from mnemolog.adapters.openai.chat import OpenAIChat
from mnemolog.adapters.openai.client import ModelClient
from mnemolog.adapters.openai.endpoint import endpoint_of
from mnemolog.adapters.openai.transcription import OpenAITranscription
from mnemolog.adapters.openai.vision import OpenAIVision
from mnemolog.commands.models import ChatModel, TranscriptionModel, VisionModel


@dataclass(frozen=True, slots=True)
class Models:
    """None for features without a model: what needs one is skipped or replaced by rules (X12)."""

    chat: ChatModel | None
    vision: VisionModel | None
    transcription: TranscriptionModel | None
    budget: TokenBudget


def models_of(stack: AsyncExitStack, settings: Settings, budget: TokenBudget) -> Models:
    """Connects to nothing yet, because a server may be down while an engine starts."""

    def client(feature: ModelFeature) -> ModelClient | None:
        endpoint = endpoint_of(settings, feature)
        if endpoint is None:
            return None
        made = ModelClient(endpoint)
        stack.push_async_callback(made.aclose)
        return made

    chat, vision, transcription = client("chat"), client("vision"), client("transcription")
    return Models(
        OpenAIChat(chat, budget) if chat else None,
        OpenAIVision(OpenAIChat(vision, budget)) if vision else None,
        OpenAITranscription(transcription, budget) if transcription else None,
        budget,
    )
