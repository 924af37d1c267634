"""Budgets that the tokenizer of somebody's own model counts (B06)."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from mnemolog.adapters.engine.engine import open_engine
from mnemolog.adapters.tokens import token_counter
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.text import count_tokens
from mnemolog.projections.requests import ContextRequest, MemoryQuery
from tests.engine.person import Person
from tests.testkit.settings import settings_in

SAID = "We had tea number {} in the garden, and talked about चाय और बगीचा"


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """Byte pairs of a few English words: whatever else is said takes a token for each byte."""
    learned = Tokenizer(BPE())
    learned.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(vocab_size=300, initial_alphabet=ByteLevel.alphabet(), show_progress=False)
    learned.train_from_iterator(["we had tea in the garden and talked"] * 3, trainer)
    learned.enable_truncation(8)
    learned.enable_padding(length=8)
    file = tmp_path / "tokenizer.json"
    learned.save(str(file))
    return file


@pytest.mark.spec_part("B06")
async def test_the_tokenizer_of_the_settings_counts_what_a_budget_allows(tmp_path: Path, tokenizer: Path) -> None:
    count = token_counter(tokenizer)
    assert count(SAID) > 2 * count_tokens(SAID), "the estimate would exceed the budget"
    async with open_engine(settings_in(tmp_path / "engine", tokenizer_file=tokenizer)) as engine:
        ana = Person(engine, "ana")
        for place in range(8):
            await ana.says(SAID.format(place), occurred_at=datetime(2026, 1, 1, tzinfo=UTC))
        moment = await ana.caught_up()

        async def text(budget: int | None) -> str:
            request = ContextRequest(query="tea", budget_tokens=budget)
            return (await engine.reads.context(ana.viewer, request, moment)).text

        async def hits(budget: int | None) -> list[str]:
            request = MemoryQuery(tenant="default", user_id="ana", query="tea garden", top_k=8, budget_tokens=budget)
            return [hit.bullet for hit in (await engine.reads.query(request, moment)).hits]

        whole, found = count(await text(None)), await hits(None)
        for budget in range(whole // 3, whole, whole // 6):
            assert whole // 6 < count(await text(budget)) <= budget
        assert await hits(count(found[0]) + count(found[1])) == found[:2]


def test_without_a_tokenizer_tokens_are_estimated() -> None:
    assert token_counter(None)(SAID) == count_tokens(SAID)


@pytest.mark.parametrize("content", [None, "{}", "\N{LATIN SMALL LETTER E WITH ACUTE}".encode("latin-1")])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, content: str | bytes | None) -> None:
    file = tmp_path / "tokenizer.json"
    if content is not None:
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    with pytest.raises(InvalidInput) as refused:
        token_counter(file)

    assert refused.value.field == "tokenizer_file"
