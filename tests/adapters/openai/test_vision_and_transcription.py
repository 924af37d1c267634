"""Descriptions of images and transcripts of audio."""

from base64 import b64encode

import pytest

from mnemolog.adapters.openai.budget import TokenBudget, Usage
from mnemolog.adapters.openai.chat import OpenAIChat
from mnemolog.adapters.openai.transcription import OpenAITranscription
from mnemolog.adapters.openai.vision import OpenAIVision
from mnemolog.commands.models import ImageDescription
from mnemolog.commands.prompts import load
from mnemolog.domain.errors import ModelOutputInvalid, ModelUnavailable
from mnemolog.events.generation import Generation
from tests.adapters.openai.conftest import Clients
from tests.testkit.model_server import ModelServer, Reply, error

PNG = b"\x89PNG\r\n\x1a\n rest"
MP3 = b"ID3" + bytes(4000)


async def test_an_image_is_sent_with_its_caption_and_described(
    clients: Clients, budget: TokenBudget, server: ModelServer
) -> None:
    vision = OpenAIVision(OpenAIChat(clients(feature="vision"), budget))
    done = await vision.describe("acme", PNG, "image/png", caption="My new bike")
    assert done.output == ImageDescription(short="short", detail="detail", text="text")
    assert (done.generation.prompt, done.generation.prompt_version) == ("image_description", 1)
    prompt, said = server.requests[0].json["messages"]
    assert prompt["content"] == load("image_description", version=1).text
    assert said["content"] == [
        {"type": "text", "text": "Caption: My new bike"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"}},
    ]


async def test_audio_is_transcribed_and_charged_by_its_seconds(
    clients: Clients, budget: TokenBudget, server: ModelServer, tenant: str
) -> None:
    transcription = OpenAITranscription(clients(feature="transcription", model="whisper-1"), budget)
    done = await transcription.transcribe(tenant, MP3, "voice.mp3")
    assert done.output.text == "hello there"
    assert done.generation == Generation(model="whisper-1", input_tokens=30)
    [asked] = server.requests
    assert asked.path == "/v1/audio/transcriptions"
    assert b'filename="voice.mp3"' in asked.body
    assert MP3 in asked.body
    assert await budget.of_today(tenant) == [Usage("transcription", "whisper-1", 1, 30, 0, 0)]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"type": "tokens", "input_tokens": 14, "output_tokens": 5, "total_tokens": 19}, (14, 5)),
        (None, (30, 1)),
        ("many", (30, 1)),
        ({"type": "tokens", "input_tokens": None, "output_tokens": -5}, (30, 1)),
        ({"type": "duration", "seconds": None}, (30, 1)),
        ({"type": "duration", "seconds": -3}, (30, 1)),
    ],
)
async def test_audio_is_charged_as_the_server_counts_or_by_an_estimate(
    usage: object, tokens: tuple[int, int], clients: Clients, budget: TokenBudget, server: ModelServer
) -> None:
    server.replies.append(Reply({"text": "hello", "usage": usage}))
    done = await OpenAITranscription(clients(), budget).transcribe("acme", MP3, "voice.mp3")
    assert (done.generation.input_tokens, done.generation.output_tokens) == tokens


async def test_a_server_without_text_or_answer_is_reported_as_such(
    clients: Clients, budget: TokenBudget, server: ModelServer
) -> None:
    transcription = OpenAITranscription(clients(retries=0, feature="transcription"), budget)
    server.replies.extend([Reply({"duration": 3}), Reply({"text": 5}), error(500)])
    for _ in range(2):
        with pytest.raises(ModelOutputInvalid, match="gave no text"):
            await transcription.transcribe("acme", MP3, "voice.mp3")
    with pytest.raises(ModelUnavailable, match="the transcription model"):
        await transcription.transcribe("acme", MP3, "voice.mp3")
