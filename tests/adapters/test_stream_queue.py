"""The queue of a projection worker: streams take turns, and what does not fit is named instead of held."""

from collections.abc import Sequence

import pytest

from mnemolog.adapters.projecting.queue import Batch, StreamQueue
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.rule import Unread, seq_of

ANA, BOB, EVE = (StreamId.of_user(name) for name in ("ana", "bob", "eve"))


def offered(queue: StreamQueue, stream: StreamId, seqs: Sequence[int]) -> list[bool]:
    return [queue.offer(Position(stream, seq)) for seq in seqs]


async def all_of(queue: StreamQueue) -> list[Batch]:
    batches = list[Batch]()
    while queue._waiting.is_set():
        batches.append(await queue.take())
    return batches


def queue_of(*, size: int = 6, share: int = 2, alone: int | None = None, limit: int = 6) -> StreamQueue:
    return StreamQueue(size, share, alone or share, limit, 0.0)


async def test_streams_take_turns_and_each_stays_in_order() -> None:
    queue = queue_of(size=4)
    offered(queue, EVE, range(1, 4))
    offered(queue, ANA, [7])
    offered(queue, BOB, [1, 2])

    batches = await all_of(queue)

    assert [[(one.stream, one.seq) for one in batch.events if isinstance(one, Position)] for batch in batches] == [
        [(EVE, 1), (EVE, 2), (ANA, 7), (BOB, 1)],
        [(EVE, 3), (BOB, 2)],
    ]


async def test_a_stream_has_more_of_a_batch_while_it_is_alone() -> None:
    queue = queue_of(alone=4, limit=20)
    offered(queue, EVE, range(1, 11))

    assert [seq_of(one) for one in (await queue.take()).events] == [1, 2, 3, 4]
    offered(queue, ANA, [7])
    assert [seq_of(one) for one in (await queue.take()).events] == [5, 6, 7]
    assert [seq_of(one) for one in (await queue.take()).events] == [7, 8, 9, 10]


async def test_a_full_queue_keeps_ranges_and_a_newcomer_still_has_its_turn() -> None:
    queue = queue_of(size=100, limit=3)
    assert all(offered(queue, EVE, range(1, 10)))
    assert all(offered(queue, ANA, [4]))

    first, *others = await all_of(queue)

    assert [seq_of(one) for one in first.events] == [1, 2]
    assert first.unread == [Unread(ANA, 3, 4)]
    assert [[seq_of(one) for one in batch.events] for batch in others] == [[3], [], [], []]
    assert [list(batch.unread) for batch in others] == [
        [],
        [Unread(EVE, 3, 5)],
        [Unread(EVE, 5, 7)],
        [Unread(EVE, 7, 9)],
    ]
    assert offered(queue, EVE, [10]) == [True]
    assert [seq_of(one) for one in (await queue.take()).events] == [10], "there is room again"


async def test_its_length_counts_events_held_and_ranges_to_read() -> None:
    queue = queue_of(size=4, limit=3)
    assert len(queue) == 0
    offered(queue, EVE, range(1, 4))
    assert len(queue) == 3
    offered(queue, ANA, range(5, 8))
    assert len(queue) == 6
    await all_of(queue)
    assert len(queue) == 0


async def test_what_comes_again_widens_a_range() -> None:
    queue = queue_of(limit=1, share=10, size=10)
    offered(queue, EVE, [1])
    offered(queue, ANA, [5, 6, 4])

    assert (await queue.take()).unread == [Unread(ANA, 3, 6)]


@pytest.mark.parametrize("streams", [6, 7])
async def test_more_streams_than_it_can_name_are_refused(streams: int) -> None:
    queue = queue_of(limit=3)
    offers = [queue.offer(Position(StreamId.of_user(f"user-{number}"), 1)) for number in range(streams)]

    assert offers == [True] * 6 + [False] * (streams - 6)


async def test_the_rest_of_a_gap_has_its_turn_after_the_others_and_takes_along_what_waits_of_its_stream() -> None:
    queue = queue_of()
    offered(queue, EVE, [9, 10, 11])
    offered(queue, ANA, [1])
    assert [seq_of(one) for one in (await queue.take()).events] == [9, 10, 1]
    offered(queue, BOB, [1])

    queue.put_back(Unread(EVE, 2, 10))
    queue.put_back(Unread(EVE, 4, 10))

    first, *others = await all_of(queue)
    assert first.unread == [Unread(EVE, 2, 4)]
    assert [seq_of(one) for one in first.events] == [1]
    assert [list(batch.unread) for batch in others] == [
        [Unread(EVE, 4, 6)],
        [Unread(EVE, 6, 8)],
        [Unread(EVE, 8, 10)],
        [Unread(EVE, 10, 11)],
    ]
    assert offered(queue, EVE, range(12, 18)) == [True] * 6, "nothing is held any more"
