"""The console in a real browser: flows by mouse and by keyboard, with and without script, and what axe finds."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.principal import Role
from tests.adapters.http.console.conftest import key_of
from tests.adapters.http.console.person import Told, told
from tests.adapters.http.console.test_views import gets

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
SCHEMES: Sequence[Literal["light", "dark"]] = ("light", "dark")
WIDTHS = (1200, 360)


@asynccontextmanager
async def opened(browser: Browser, url: str, key: str, **options: Any) -> AsyncIterator[Page]:
    """A page of somebody who signed in. It fails if anything is asked of another server, or the policy refuses."""
    asked, said = list[str](), list[str]()
    context: BrowserContext = await browser.new_context(base_url=url, **options)
    page = await context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    await page.goto("/console/")
    await page.get_by_label("API key").fill(key)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Whose memory?")).to_be_visible()
    yield page
    assert asked
    assert [one for one in asked if not one.startswith(f"{url}/")] == []
    assert said == []
    await context.close()


@pytest.fixture(scope="module")
async def key(guarded: Engine) -> str:
    return await key_of(guarded, *Role)


async def shown(page: Page, ines: Told, path: str) -> None:
    await page.goto(f"/console{path}{'&' if '?' in path else '?'}user={ines.user}")


@pytest.mark.spec_part("X20")
async def test_no_view_has_a_fault_that_axe_finds(browser: Browser, url: str, key: str, ines: Told) -> None:
    # Without animations, colors change at once.
    async with opened(browser, url, key, reduced_motion="reduce") as page:
        await require_no_faults(page, "/")
        for path in gets(ines).values():
            if path != "/":
                await shown(page, ines, path)
                await require_no_faults(page, path)
    context = await browser.new_context(base_url=url, reduced_motion="reduce")
    page = await context.new_page()
    await page.goto("/console/login")
    await require_no_faults(page, "/login")
    await context.close()


async def require_no_faults(page: Page, path: str) -> None:
    """In light and dark, on a desk and on a phone."""
    await page.evaluate(AXE)
    for scheme, width in product(SCHEMES, WIDTHS):
        await page.emulate_media(color_scheme=scheme)
        await page.set_viewport_size({"width": width, "height": 740})
        faults = await page.evaluate("axe.run({resultTypes: ['violations']}).then(found => found.violations)")
        said = [(one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"]) for one in faults]
        assert said == [], (scheme, width, path)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (scheme, width, path)


@pytest.mark.parametrize("script", [True, False])
async def test_find_read_and_undo_by_keyboard_alone(
    browser: Browser, url: str, key: str, guarded: Engine, script: bool
) -> None:
    ines = await told(guarded, f"keyboard-{script}-of-the-console")
    async with opened(browser, url, key, java_script_enabled=script) as page:
        await page.get_by_label("User id").press_sequentially(ines.user)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name=f"Memories of {ines.user}")).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        if script:
            await page.keyboard.press("/")
        else:
            await page.get_by_role("searchbox").focus()
        await page.keyboard.type("coffee with milk")
        await page.keyboard.press("Enter")
        await page.get_by_role("link", name="Ines drinks her coffee with oat milk").press("Enter")
        await page.get_by_role("link", name="Undo the last change…").press("Enter")
        await expect(page.get_by_text("Nothing has changed yet")).to_be_visible()
        await page.get_by_role("button", name="Undo it").press("Enter")
        await expect(page.get_by_role("status")).to_contain_text("Undone.")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Ines drinks her coffee black")


async def test_times_are_those_of_the_reader(browser: Browser, url: str, key: str, ines: Told) -> None:
    async with opened(browser, url, key, timezone_id="Asia/Kathmandu", locale="en-GB") as page:
        await shown(page, ines, f"/memories/{ines.changed}")
        time = page.locator("time").first
        local = await time.evaluate(
            "one => new Intl.DateTimeFormat('en-GB', {dateStyle: 'medium', timeStyle: 'short',"
            " timeZone: 'Asia/Kathmandu'}).format(new Date(one.dateTime))"
        )
        assert await time.text_content() == local
        assert "UTC" in (await time.get_attribute("title") or "")
