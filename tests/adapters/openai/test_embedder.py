"""Embeddings over the API, on a server that answers well and badly."""

from collections.abc import Mapping

import numpy as np
import pytest

from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.adapters.openai import client as calling
from mnemolog.adapters.openai.embedder import MAX_CHARACTERS, OpenAIEmbedder
from mnemolog.domain.bands import Bands
from mnemolog.domain.calibration import calibration_of
from mnemolog.domain.errors import ModelOutputInvalid, ModelRequestRefused, ModelUnavailable
from mnemolog.projections.vectors.projector import variant_of
from tests.adapters.openai.conftest import Clients
from tests.testkit.model_server import Asked, Json, ModelServer, Reply, error, narrower

TEXTS = ["Ana drinks tea", "Ben swims", "昨日 🎉"]


@pytest.fixture
def embedder(clients: Clients) -> OpenAIEmbedder:
    return OpenAIEmbedder(clients(feature="embedding", model="text-embedding-3-small"))


async def test_texts_become_rows_of_length_one_in_their_order(embedder: OpenAIEmbedder, server: ModelServer) -> None:
    rows = await embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, Lexical().embed(TEXTS), atol=1e-6)
    assert server.requests[0].path == "/v1/embeddings"
    assert len(await embedder.embed([])) == 0
    assert server.asked == 1


async def test_many_texts_go_in_portions(embedder: OpenAIEmbedder, server: ModelServer) -> None:
    texts = [f"goat number {n}" for n in range(70)]
    np.testing.assert_allclose(await embedder.embed(texts), Lexical().embed(texts), atol=1e-6)
    assert [len(one.json["input"]) for one in server.requests] == [32, 32, 6]


async def test_rows_are_put_in_order_and_brought_to_length_one(embedder: OpenAIEmbedder, server: ModelServer) -> None:
    data = [{"index": 1, "embedding": [0.0, 5.0]}, {"index": 0, "embedding": [3.0, 4.0]}]
    server.replies.append(Reply({"object": "list", "model": "m", "data": data}))
    np.testing.assert_allclose(await embedder.embed(["a", "b"]), [[0.6, 0.8], [0.0, 1.0]], atol=1e-6)


async def test_only_the_beginning_of_a_text_too_long_for_the_server_is_embedded(
    embedder: OpenAIEmbedder, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = server.good

    def small(request: Asked) -> Reply:
        return error(413) if sum(map(len, request.json["input"])) > 3000 else good(request)

    monkeypatch.setattr(server, "good", small)
    long, text = "tea " * 5000, "Ben swims"
    rows = await embedder.embed([long, text])
    np.testing.assert_allclose(rows, Lexical().embed([long[: MAX_CHARACTERS // 4], text]), atol=1e-6)


BAD: Mapping[str, Json] = {
    "too few": {"object": "list", "data": [{"index": 0, "embedding": [1.0]}]},
    "of other lengths": {
        "object": "list",
        "data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}],
    },
    "zeros": {"object": "list", "data": [{"index": 0, "embedding": [0.0]}, {"index": 1, "embedding": [1.0]}]},
    "words": {"object": "list", "data": [{"index": 0, "embedding": ["x"]}, {"index": 1, "embedding": [1.0]}]},
}


@pytest.mark.parametrize("kind", BAD)
async def test_vectors_that_are_none_are_an_error(kind: str, embedder: OpenAIEmbedder, server: ModelServer) -> None:
    server.replies.append(Reply(BAD[kind]))
    with pytest.raises(ModelOutputInvalid) as invalid:
        await embedder.embed(["a", "b"])
    assert invalid.value.field == "embedding_model"


async def test_portions_of_different_lengths_are_an_error(
    embedder: OpenAIEmbedder, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, narrow = server.good, narrower(server, 300)
    monkeypatch.setattr(server, "good", lambda request: (narrow if server.asked > 1 else good)(request))
    with pytest.raises(ModelOutputInvalid) as invalid:
        await embedder.embed([f"goat number {n} swims in the old harbour of the town" for n in range(40)])
    assert "vectors of 300 and of 384 numbers, which cannot be compared" in invalid.value.message
    assert (invalid.value.field, "the model of before" in invalid.value.fix) == ("embedding_model", True)


async def test_vectors_that_cannot_be_compared_with_those_there_are_an_error(
    clients: Clients, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[int | None] = [None, 384]

    async def indexed() -> int | None:
        return there.pop(0)

    embedder = OpenAIEmbedder(clients(feature="embedding", model="text-embedding-3-small"), indexed)
    monkeypatch.setattr(server, "good", narrower(server, 300))
    assert (await embedder.embed(["Ana sails in the old harbour of the town"])).shape == (1, 300)
    for _ in range(2):  # It asks no more once it knows.
        with pytest.raises(ModelOutputInvalid):
            await embedder.embed(["Ana sails in the old harbour of the town"])
    assert there == []


@pytest.mark.parametrize(("status", "field"), [(401, "model_api_key"), (404, "embedding_model")])
async def test_a_refusal_names_the_setting(
    status: int, field: str, embedder: OpenAIEmbedder, server: ModelServer
) -> None:
    server.replies.append(error(status))
    with pytest.raises(ModelRequestRefused) as refused:
        await embedder.embed(["a", "b"])
    assert (refused.value.field, server.asked) == (field, 1)


async def test_a_temporary_server_failure_is_retried(embedder: OpenAIEmbedder, server: ModelServer) -> None:
    server.replies.extend([error(503), error(429, retry_after="0")])
    assert len(await embedder.embed(["a", "b"])) == 2
    server.replies.extend([error(503)] * 4)
    with pytest.raises(ModelUnavailable):
        await embedder.embed(["a", "b"])


@pytest.mark.parametrize("data", [[], None, [None]])
async def test_an_answer_without_vectors_is_retried(
    data: object, embedder: OpenAIEmbedder, server: ModelServer
) -> None:
    server.replies.append(Reply({"object": "list", "data": data}))
    assert len(await embedder.embed(["a"])) == 1
    assert server.asked == 2


async def test_a_question_waits_for_a_slow_server_for_a_short_time_only(
    embedder: OpenAIEmbedder, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "QUICK_SECONDS", 0.1)
    server.replies.extend([Reply(b"", delay=5.0)] * 2)
    with pytest.raises(ModelUnavailable, match=r"within 0.1 s"):
        await embedder.embed(["a question"])
    assert server.asked == 2


def test_the_specified_figures_are_those_of_the_specified_model() -> None:
    specified = calibration_of("text-embedding-3-small")
    assert (specified.question_floor, specified.question_gap, specified.topic_similarity) == (0.65, 0.12, 0.70)
    assert isinstance(specified.bands, Bands)
    assert calibration_of("somebody/else") == specified


@pytest.mark.parametrize(
    ("model", "variant"),
    [
        ("all-MiniLM-L6-v2-int8", "all_minilm_l6_v2_int8"),
        ("text-embedding-3-small", "text_embedding_3_small"),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence_transformers_e9e2c881"),
    ],
)
def test_each_model_has_tables_of_its_own(model: str, variant: str, clients: Clients) -> None:
    assert variant_of(OpenAIEmbedder(clients(model=model))) == variant


def test_long_names_with_the_same_beginning_stay_distinct(clients: Clients) -> None:
    names = [f"sentence-transformers/all-MiniLM-{layers}-v2" for layers in ("L6", "L12")]
    assert len({variant_of(OpenAIEmbedder(clients(model=name))) for name in names}) == 2
