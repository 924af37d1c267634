"""Descriptions of images, by a chat model that sees."""

from base64 import b64encode

from mnemolog.adapters.openai.chat import OpenAIChat
from mnemolog.commands.models import Completion, ImageDescription
from mnemolog.commands.prompts import load

MAX_TOKENS = 2000


class OpenAIVision:
    """Implements `VisionModel`."""

    def __init__(self, chat: OpenAIChat) -> None:
        self.model = chat.model
        self._chat = chat

    async def describe(
        self, tenant: str, image: bytes, media_type: str, *, caption: str = ""
    ) -> Completion[ImageDescription]:
        url = f"data:{media_type};base64,{b64encode(image).decode()}"
        text = f"Caption: {caption}" if caption else "There is no caption."
        prompt = load("image_description")
        return await self._chat.answer(tenant, prompt, text, [url], ImageDescription, max_tokens=MAX_TOKENS)
