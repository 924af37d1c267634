"""A story of one person through every kind of write, one step at a time."""

from collections.abc import AsyncIterator

from tests.engine.person import Person


async def told(ana: Person) -> AsyncIterator[str]:
    """Yields after each write, with the name of what was done."""
    await ana.says("I moved to Lisbon", attachments=[{"type": "image", "caption": "a yellow tram"}])
    yield "a turn with its speaker"
    await ana.says("That is wonderful", speaker="Bot", role="assistant", run_id="run-7")
    yield "a turn of another speaker"
    lactose = await ana.creates("Ana is lactose intolerant", category="personal", importance=0.25)
    yield "a memory"
    milk = await ana.creates("Ana avoids milk", category="personal", importance=0.75)
    tea = await ana.creates("Ana drinks green tea", category="preferences")
    yield "two more"
    await ana.updates(tea, text="Ana drinks white tea", pinned=True)
    yield "an update"
    await ana.merges(lactose, milk, text="Ana avoids lactose")
    yield "a merge"
    await ana.undoes(lactose)
    yield "its undo"
    await ana.links(lactose, milk, strength=0.5)
    yield "a link"
    await ana.deletes(tea, reason="no longer true")
    yield "a deletion"
    await ana.restores(tea)
    yield "a restoration"
    await ana.deletes(milk)
    await ana.undoes(milk)
    yield "a deletion and its undo"
    await ana.updates(tea, pinned=False)
    await ana.merges(lactose, milk, tea)
    yield "a merge of three"
    await ana.says("Never mind", turn_id="aside")
    await ana.deletes_message("aside", reason="beside the point")
    yield "a message that was deleted"
    await ana.restores_message("aside")
    await ana.deletes_message("aside")
    yield "restored, and deleted again"


async def tell(ana: Person) -> None:
    """The whole story."""
    async for _ in told(ana):
        pass
