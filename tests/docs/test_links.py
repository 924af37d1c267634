"""Links lead somewhere, decisions are numbered and listed, and pages name no machine."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, called

DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
OTHER = (ROOT / "CHANGELOG.md",)


def slug(heading: str) -> str:
    """How a heading is linked to, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r'<a id="([^"]+)">', text)
    return {*named, *(slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))}


@pytest.mark.parametrize("page", [*PAGES, *OTHER], ids=called)
def test_every_link_of_the_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=called)
def test_every_page_is_reached_from_the_index(page: Path) -> None:
    index = ROOT / "docs" / "index.md"
    listed = {(index.parent / link).resolve() for link in re.findall(r"\]\(([^)#\s]+)", index.read_text("utf-8"))}
    assert page == index or page in listed


def test_decisions_are_numbered_without_a_gap_and_have_their_three_parts() -> None:
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))
    for page in DECISIONS:
        parts = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert parts == ["Context", "Decision", "Consequences"], page.name


@pytest.mark.parametrize("page", [*PAGES, *OTHER], ids=called)
def test_no_page_names_a_machine_or_a_package_index(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"/(?:home|root|work|Users)/\w|index-url|pypi\.|simple/", text)
