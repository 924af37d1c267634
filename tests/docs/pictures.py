"""Draw the pictures of the console in docs/images anew: python -m tests.docs.pictures

With a real engine, a user whose months are made up, and a headless Chromium.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from random import Random

from PIL import Image
from playwright.async_api import Page, async_playwright

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.adapters.export.importing import checked, imported
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.operations.entities import add_entity
from mnemolog.adapters.operations.facts import add_fact
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import StreamId
from tests.adapters.http.console.conftest import CHROMIUM
from tests.adapters.http.console.person import did, told
from tests.adapters.principals.keys import principal
from tests.testkit.settings import settings_in

IMAGES = Path(__file__).parents[2] / "docs" / "images"
NAMES = ("Elisa", "Filipe", "Sofia", "Bruno", "Vera", "Nuno", "Graça", "Paulo", "Olga", "Duarte", "Luísa", "Marco")
SURNAMES = ("Serra", "Moura", "Reis", "Pinto", "Leal", "Rocha", "Dias", "Neves", "Lopes", "Faria")
PLACES = ("Porto", "Lisbon", "Coimbra", "Braga", "Faro", "Évora")
COLORS = 128


async def spread(engine: Engine, source: str, user: str, days: int) -> None:
    """Import what was recorded of `source` as another user, as if it had taken so many days until now."""
    stream = StreamId.of_user(source)
    pieces = [piece async for _, piece in lines(engine, stream, await head_of(engine, stream))]
    head, *events = b"".join(pieces).decode().splitlines()
    now, moved = datetime.now(UTC) - timedelta(minutes=10), [head]
    for done, line in enumerate(events):
        at = (now - timedelta(days=days * (1 - done / len(events)))).isoformat()
        valid_from = json.loads(line)["data"].get("valid_from")
        event = json.loads(line.replace(valid_from, at) if valid_from else line)
        moved.append(json.dumps({**event, "occurred_at": at, "recorded_at": at}))
    file = checked(BytesIO("\n".join([*moved, ""]).encode()), engine.writes.now())
    await imported(engine, file, user)


async def acquaintances(engine: Engine, user: str) -> None:
    """Many people who know each other, some much better connected than others."""
    random = Random(5)
    people = [f"{name} {surname}" for surname in SURNAMES for name in random.sample(NAMES, 6)]
    for place in PLACES:
        await did(engine, add_entity, user, name=place, category="Location")
    for person in people:
        await did(engine, add_entity, user, name=person, category="Person")
    for number, person in enumerate(people[1:], start=1):
        for other in {people[int(random.random() ** 2 * number)] for _ in range(random.choice((1, 1, 2, 3)))}:
            await did(engine, add_fact, user, subject=person, predicate="knows", object=other)
        if random.random() < 0.3:
            await did(engine, add_fact, user, subject=person, predicate="lives_in", object=random.choice(PLACES))


@asynccontextmanager
async def console(url: str, key: str, height: int, *, dark: bool = False) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM)
        page = await browser.new_page(
            base_url=url,
            viewport={"width": 1000, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        await page.goto("/console/")
        await page.get_by_label("API key").fill(key)
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="Whose memory?").wait_for()
        yield page
        await browser.close()


async def take(page: Page, name: str) -> None:
    image = Image.open(BytesIO(await page.screenshot())).convert("RGB").quantize(COLORS)
    image.save(IMAGES / f"console-{name}.png", optimize=True)


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mnemolog-pictures-") as folder:
        async with open_engine(settings_in(Path(folder), embedder="minilm")) as engine:
            _, key = await engine.api_keys.create(principal("maria", roles=list(Role)))
            await told(engine, "source")
            await spread(engine, "source", "ines", days=90)
            await acquaintances(engine, "rui")
            await engine.settled()
            async with serve(engine) as url:
                async with console(url, key, 740) as page:
                    await page.goto("/console/memories?user=ines&q=What+does+Ines+drink")
                    await take(page, "search")
                    await page.goto("/console/timeline?user=ines")
                    await page.get_by_role("slider", name="Moment").focus()
                    await page.keyboard.press("PageDown")
                    await page.locator("#moment").get_by_role("heading", name="As of").first.wait_for()
                    await page.wait_for_load_state("networkidle")
                    await take(page, "timeline")
                async with console(url, key, 920, dark=True) as page:
                    await page.goto("/console/entities?user=rui")
                    await page.locator("figure.graph circle").first.wait_for()
                    await take(page, "graph")


if __name__ == "__main__":
    asyncio.run(main())
