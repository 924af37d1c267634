"""The console in a real browser: flows by mouse and by keyboard, with and without script, and what axe finds."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations.entities import add_entity
from mnemolog.domain.principal import Role
from tests.adapters.http.console.conftest import key_of
from tests.adapters.http.console.person import Told, did, told
from tests.adapters.http.console.test_views import gets

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# What scripts put into pages, and the page that sends on.
PARTS = ("/", "/timeline/moment", "/entities/graph", "/operations/progress")
COLORS = ["color-contrast", "link-in-text-block"]
RUN = """rules => axe.run({resultTypes: ["violations"], ...(rules.length ? {runOnly: rules} : {})})
  .then(found => found.violations)"""
LAID_OUT = [*COLORS, "target-size", "scrollable-region-focusable"]
# Every rule once; then those on what looks different.
LOOKS: Sequence[tuple[Literal["light", "dark"], int, list[str]]] = (
    ("light", 1200, []),
    ("dark", 1200, COLORS),
    ("light", 360, LAID_OUT),
    ("dark", 360, COLORS),
)


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


@pytest.fixture(scope="session")
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
            if path not in (
                "/",
                "/timeline/moment",
                "/entities/graph",
                "/operations/progress",
            ):  # The others are parts of pages.
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
    for scheme, width, rules in LOOKS:
        await page.emulate_media(color_scheme=scheme)
        await page.set_viewport_size({"width": width, "height": 740})
        faults = await page.evaluate(RUN, rules)
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


async def test_the_slider_moves_through_time_by_keyboard(browser: Browser, url: str, key: str, guarded: Engine) -> None:
    user = "slider-of-the-console"
    await told(guarded, user)
    async with opened(browser, url, key) as page:
        await page.goto(f"/console/timeline?user={user}")
        then = page.locator("#moment")
        await expect(then).to_contain_text("oat milk")
        slider = page.get_by_role("slider", name="Moment")
        await slider.focus()
        await page.keyboard.press("Home")
        await expect(then).to_contain_text("Nothing was remembered")
        await expect(then).to_contain_text("As of")
        assert "at=20" in page.url
        await page.keyboard.press("End")
        await expect(then).to_contain_text("oat milk")
        await expect(then.locator("figure.graph output")).to_have_text("6 of 6")
        await expect(slider).to_have_attribute("aria-valuetext", "now")


@pytest.mark.parametrize("path", ["/memories", "/timeline", "/entities", "/operations"])
async def test_a_form_is_sent_once_by_each_click(browser: Browser, url: str, key: str, path: str) -> None:
    async with opened(browser, url, key) as page:
        await page.goto(f"/console{path}?user=nobody-of-the-console")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("API key")).to_be_visible()


async def test_the_graph_is_readable_at_500_nodes(browser: Browser, url: str, key: str, guarded: Engine) -> None:
    user = "graph-of-the-console"
    edges = [[int(place**0.6) - 1, "knows", place] for place in range(1, 500)]
    degrees = Counter(end for one, _, other in edges for end in (one, other))
    kinds = ("Person", "Location")
    nodes = [
        {"name": f"Neighbour {place:03}", "category": kinds[place % 2], "degree": degrees[place], "to": "#"}
        for place in range(500)
    ]
    await did(guarded, add_entity, user, name="Somebody")
    async with opened(browser, url, key, viewport={"width": 1280, "height": 900}) as page:
        await page.route("**/entities/graph*", lambda route: route.fulfill(json={"nodes": nodes, "edges": edges}))
        await page.goto(f"/console/entities?user={user}")
        figure = page.locator("figure.graph")
        await expect(figure.locator("output")).to_have_text("10 of 500")
        shown = figure.get_by_label("Show the strongest")
        await shown.evaluate("one => { one.max = 500; one.value = 500; one.dispatchEvent(new Event('input')); }")
        await expect(figure.locator("output")).to_have_text("500 of 500")
        assert await figure.locator("circle").count() == 500
        assert await page.evaluate(OVERLAPS) == 0
        assert await figure.locator("text").count() >= 40
        await expect(figure.locator("text", has_text="Neighbour 000")).to_be_visible()
        few = await figure.locator("text").count()
        for _ in range(4):
            await figure.get_by_role("button", name="Closer").click()
        assert await page.evaluate(OVERLAPS) == 0
        assert await figure.locator("text").count() > few
        await page.get_by_label("Name").fill("neighbour 12")
        await expect(figure.locator("output")).to_have_text("10 of 500")
        await page.get_by_label("Kind").select_option("")
        await page.get_by_label("Name").fill("")
        await figure.locator("circle").first.dispatch_event("click")
        await expect(figure.locator(".picked")).to_contain_text("Neighbour 000 knows Neighbour 001")


# Pairs of labels that overlap by more than rounding.
OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll(".graph svg text")].map((one) => one.getBBox());
  let count = 0;
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
    const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
    const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
    if (wide > 1 && high > 1) count += 1;
  }));
  return count;
}"""
