"""Where somebody speaks: for an erasure, which leaves whoever speaks in turns that stay."""

from collections.abc import Collection
from uuid import UUID

from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import EventLog
from mnemolog.events.unread import Unread


async def spoken_in(
    log: EventLog, stream: StreamId, speakers: Collection[UUID], but: Collection[str]
) -> tuple[str, ...]:
    """A turn of each of them that stands and is none of these; read no further than there is one of each."""
    found: dict[UUID, str] = {}
    wanted = set(speakers)
    if not wanted:
        return ()
    async for batch in log.scan(stream):
        # Who speaks stands in the open, so that no other turn is decrypted.
        names = [str(one).encode() for one in wanted]
        said = [one for one in batch if one.header.type == _TURN and any(name in one.data for name in names)]
        payloads = (event.payload for event in await log.decode(said, unread=True))
        heard = (payload.shape if isinstance(payload, Unread) else payload for payload in payloads)
        for turn in [payload for payload in heard if isinstance(payload, TurnRecorded)]:
            if turn.speaker_entity_id in wanted and turn.text and turn.turn_id not in but:
                found[turn.speaker_entity_id] = turn.turn_id
        wanted -= found.keys()
        if not wanted:
            break
    return tuple(found.values())


_TURN = TurnRecorded.type_name()
