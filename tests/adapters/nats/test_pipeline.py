"""The pipeline: only so many messages, and so many bytes, wait for their answer; room comes back however they end."""

import asyncio

import pytest
from nats.aio.msg import Msg
from nats.js.errors import APIError, NoStreamResponseError

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.pipeline import Answer, Pipeline, acknowledged


async def placed(pipeline: Pipeline, sizes: list[int]) -> list[Answer]:
    """The answers of those that find room at once."""
    answers: list[Answer] = []

    async def place(size: int) -> None:
        _, answer = await pipeline.place(size)
        answers.append(answer)

    tasks = [asyncio.create_task(place(size)) for size in sizes]
    await asyncio.sleep(0.02)
    for task in tasks:
        task.cancel()
    return answers


@pytest.mark.parametrize(
    ("sizes", "found"),
    [([1] * 5, 3), ([40, 40, 40], 2), ([500], 1), ([500, 1], 1), ([1, 500], 1), ([100], 1), ([50, 50, 1], 2)],
)
async def test_no_more_than_the_count_and_the_bytes_find_room(engine: Engine, sizes: list[int], found: int) -> None:
    async with Pipeline(engine.nats, most=3, most_bytes=100) as pipeline:
        assert len(await placed(pipeline, sizes)) == found


async def test_an_answer_frees_its_room_even_if_nobody_waits_for_it(engine: Engine) -> None:
    async with Pipeline(engine.nats, most=2, most_bytes=100) as pipeline:
        reply, answered = await pipeline.place(60)
        _, forgotten = await pipeline.place(40)
        assert not await placed(pipeline, [1])

        await engine.nats.publish(reply, b"here")
        assert (await answered).data == b"here"
        assert len(await placed(pipeline, [60])) == 1

        forgotten.cancel()
        assert len(await placed(pipeline, [40])) == 1


async def test_those_that_wait_are_served_in_their_order(engine: Engine) -> None:
    order: list[int] = []
    async with Pipeline(engine.nats, most=1) as pipeline:
        _, first = await pipeline.place(1)

        async def wait(number: int) -> None:
            _, answer = await pipeline.place(1)
            order.append(number)
            answer.cancel()

        tasks = [asyncio.create_task(wait(number)) for number in range(5)]
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3, 4]


async def test_what_has_no_answer_at_the_end_is_cancelled(engine: Engine) -> None:
    async with Pipeline(engine.nats) as pipeline:
        _, answer = await pipeline.place(1)
    assert answer.cancelled()


def test_a_refusal_of_jetstream_is_raised(engine: Engine) -> None:
    def said(data: bytes, headers: dict[str, str] | None = None) -> Msg:
        return Msg(_client=engine.nats, data=data, headers=headers)

    assert acknowledged(said(b'{"stream": "S", "seq": 7}')).seq == 7
    with pytest.raises(NoStreamResponseError):
        acknowledged(said(b"", {"Status": "503"}))
    with pytest.raises(APIError, match="maximum bytes"):
        acknowledged(said(b'{"error": {"code": 400, "err_code": 10077, "description": "maximum bytes exceeded"}}'))
