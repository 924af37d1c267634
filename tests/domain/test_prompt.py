"""The prompt begins with what rarely changes, so that a provider's cache keeps its prefix (C14)."""

from dataclasses import replace

from mnemolog.domain.prompt import BlockName, Contents, prompt

FIRST = Contents(
    instructions="You are Deanna.",
    profile=["city: Leipzig"],
    todos=["Call Marta"],
    diary=["[2026-01-03] Ana was tired"],
    header="[Δ r1→r2]",
    recent=["Dinner at the harbour"],
    graph=["Ana lives in Leipzig"],
    affect="stressed (0.80)",
    turns=["user: Hi", "assistant: Hello"],
    message="Where do I live?",
)


def test_two_successive_prompts_share_the_stable_prefix_byte_for_byte() -> None:
    one = prompt(FIRST)
    other = prompt(replace(FIRST, header="", recent=["A walk"], graph=[], affect="", message="And Marta?"))

    assert one.prefix == other.prefix
    assert [block.name for block in one.blocks if block.stable] == [BlockName.SYSTEM_PROMPT, BlockName.SNAPSHOT]
    for each in (one, other):
        assert f"{each.system}\n\n{each.user}".startswith(each.prefix)


def test_the_blocks_are_in_order_with_the_header_first_among_the_volatile_ones() -> None:
    blocks = prompt(FIRST).blocks
    assert [block.name for block in blocks] == list(BlockName)
    assert [block.stable for block in blocks] == sorted((block.stable for block in blocks), reverse=True)
    assert blocks[2].text == FIRST.header
    assert prompt(FIRST).user.endswith("The message to answer:\nWhere do I live?")


def test_empty_blocks_are_left_out() -> None:
    assert [block.name for block in prompt(Contents(instructions="Be kind.", message="Hi")).blocks] == [
        BlockName.SYSTEM_PROMPT,
        BlockName.CONVERSATION,
    ]
