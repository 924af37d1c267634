"""What the views show, and to whom."""

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.console.app import VIEWS
from mnemolog.adapters.http.console.pages import HEADERS
from mnemolog.adapters.operations import memories as operations
from mnemolog.domain.principal import Role
from tests.adapters.http.console.conftest import signed_in
from tests.adapters.http.console.person import Told, did, told
from tests.adapters.principals.keys import principal

ALL_ROLES = (Role.READ, Role.WRITE, Role.CONSENT, Role.ERASE, Role.ADMIN)
WRITER = principal("carer", roles=[Role.READ, Role.WRITE])


INLINE = re.compile(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:")
ELSEWHERE = re.compile(r"(?:src|href|action)=\"(?!/console|#)")


def gets(ines: Told) -> dict[str, str]:
    """A request to every view, by the path of its route."""
    return {
        "/": "/",
        "/memories": "/memories",
        "/memories?q": "/memories?q=what+does+Ines+drink",
        "/memories/{id:uuid}": f"/memories/{ines.merged}",
        "/history/{id:uuid}": f"/history/{ines.entity_id}",
        "/timeline": "/timeline",
        "/timeline?at": "/timeline?at=2099-01-01",
        "/timeline/moment": "/timeline/moment",
        "/timeline/changes": "/timeline/changes?from=2020-01-01T00:00",
        "/entities": "/entities",
        "/entities/graph": "/entities/graph",
        "/entities/{id:uuid}": f"/entities/{ines.entity_id}",
        "/decisions": "/decisions",
        "/erasure": "/erasure",
        "/erasure?kind": f"/erasure?kind=memory&id={ines.changed}",
        "/operations": "/operations",
        "/operations/progress": "/operations/progress",
        "/operations/jobs": "/operations/jobs",
        "/operations/letters": "/operations/letters",
        "/operations/incidents": "/operations/incidents",
        "/undo": f"/undo?memory_id={ines.changed}&of={ines.changed}",
    }


def posts(ines: Told) -> dict[str, tuple[str, dict[str, Any]]]:
    return {
        "/memories/{id:uuid}/{act}": (f"/memories/{ines.changed}/delete", {}),
        "/undo": ("/undo", {"memory_id": ines.changed}),
        "/entities/{id:uuid}/merge": (f"/entities/{ines.entity_id}/merge", {"absorbed": ines.entity_id}),
        "/decisions/{decision}": ("/decisions/grant", {"id": ines.patch_id}),
        "/erasure": ("/erasure", {"kind": "memory", "id": ines.changed, "typed": ines.user}),
        "/erasure/prove": ("/erasure/prove", {"kind": "memory", "id": ines.changed}),
    }


def test_every_view_is_among_these() -> None:
    told = Told(*([str(uuid4())] * 7))
    assert {path for method, path, _ in VIEWS if method == "GET"} == {path.partition("?")[0] for path in gets(told)}
    assert {path for method, path, _ in VIEWS if method == "POST"} == posts(told).keys() | {
        "/logout",
        "/operations/{act}",
    }


LINEN = {"text": "Ines wears linen", "category": "note"}
PRIVATE = ("penicillin", "trains", "Sunday", "Portuguese", "1,450", "oat milk", "Fado", "Casa Verde", "Marta", "Lisbon")


def private(page: str) -> list[str]:
    return [word for word in PRIVATE if word in page]


@pytest.mark.spec_part("X20")
async def test_a_key_of_another_user_sees_nothing_on_any_view(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, principal("other", users=["tiago-of-the-console"], roles=ALL_ROLES)) as visitor:
        for path in gets(ines).values():
            for about in ({"user": ines.user}, {}):
                answer = await visitor.http.get(f"/console{path}", params={**dict(_query(path)), **about})
                assert private(answer.text) == [], (path, about)
                assert answer.status_code in (303, 403, 404) or not about, (path, answer.status_code)
        await visitor.get("/memories")
        for path, fields in posts(ines).values():
            for user in (ines.user, "tiago-of-the-console"):
                sent = {**fields, "user": user, **({"typed": user} if "typed" in fields else {})}
                assert private(await visitor.post(path, 404, **sent)) == []


async def test_a_key_of_another_tenant_sees_nothing_on_any_view(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, principal("other", tenant="acme", roles=ALL_ROLES)) as visitor:
        for path in gets(ines).values():
            answer = await visitor.http.get(f"/console{path}", params={**dict(_query(path)), "user": ines.user})
            assert private(answer.text) == [], path
        await visitor.get("/memories", user=ines.user)
        for path, fields in posts(ines).values():
            assert private(await visitor.post(path, 404, user=ines.user, **fields)) == []


async def test_a_key_of_another_agent_is_refused_and_sees_its_own(guarded: Engine, ines: Told) -> None:
    own = await did(guarded, operations.create, ines.user, agent_id="gardener", scope="agent", **LINEN)
    async with signed_in(guarded, principal("other", agents=["gardener"], roles=ALL_ROLES)) as visitor:
        assert "linen" in await visitor.get("/memories", user=ines.user)
        assert private(await visitor.get("/memories", 403, user=ines.user, agent="default")) == []
    async with signed_in(guarded, WRITER) as visitor:
        assert "linen" not in await visitor.get("/memories", user=ines.user)
        await visitor.get(f"/memories/{own.memory_id}", 404, user=ines.user)


async def test_a_key_that_may_only_read_is_offered_no_change(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, principal("reader", roles=[Role.READ])) as visitor:
        for path in gets(ines).values():
            if not path.startswith("/undo"):
                shown = await visitor.http.get(f"/console{path}", params={**dict(_query(path)), "user": ines.user})
                assert "Undo" not in shown.text
                assert shown.text.count('method="post"') <= 1, "only to sign out"
        for path, fields in posts(ines).values():
            await visitor.post(path, 403, user=ines.user, **fields)


async def test_every_answer_has_a_strict_policy_and_nothing_inline(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, principal("all", roles=ALL_ROLES)) as visitor:
        paths = ["/login", "/nowhere", f"/memories/{uuid4()}", "/static/console.css", *gets(ines).values()]
        for path in paths:
            answer = await visitor.http.get(f"/console{path}", params={**dict(_query(path)), "user": ines.user})
            policy = answer.headers["content-security-policy"]
            assert policy == HEADERS["Content-Security-Policy"]
            assert "unsafe" not in policy
            assert "'none'" in policy
            if "html" in answer.headers.get("content-type", ""):
                assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:", answer.text), (
                    path
                )
                assert not re.search(r"(?:src|href|action)=\"(?!/console|#)", answer.text), path


async def test_static_files_are_asked_for_again_and_pages_not_kept(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, WRITER) as visitor:
        file = await visitor.http.get("/console/static/graph.js")
        assert file.headers["cache-control"] == "private, no-cache"
        known = {"If-None-Match": file.headers["etag"]}
        assert (await visitor.http.get("/console/static/graph.js", headers=known)).status_code == 304
        page = await visitor.http.get("/console/memories", params={"user": ines.user})
        assert page.headers["cache-control"] == "no-store"
        assert (await visitor.http.get("/console/static/../app.py")).status_code == 404


async def test_what_was_remembered_is_text_and_never_markup(guarded: Engine) -> None:
    evil = "<img src=x onerror=alert(1)>\"'{{7*7}}"
    made = await did(guarded, operations.create, "evil-of-the-console", text=evil, category="note")
    async with signed_in(guarded, WRITER) as visitor:
        for path in ("/memories", "/memories?q=img", f"/memories/{made.memory_id}"):
            text = await visitor.get(path, **dict(_query(path)), user="evil-of-the-console")
            assert "<img src=x" not in visitor.page
            assert evil in text


async def test_memories_are_paged(guarded: Engine) -> None:
    for number in range(30):
        await did(guarded, operations.create, "many-of-the-console", text=f"Number {number:02} is remembered")
    async with signed_in(guarded, WRITER) as visitor:
        first = await visitor.get("/memories", user="many-of-the-console")
        assert len(re.findall(r"Number \d\d is", first)) == 25
        [after] = re.findall(r'href="/console(/memories\?[^"]*cursor=[^"]*)" rel="next"', visitor.page)
        second = await visitor.get(after.replace("&amp;", "&"), **dict(_query(after.replace("&amp;", "&"))))
        assert len(re.findall(r"Number \d\d is", second)) == 5
        assert not set(re.findall(r"Number \d\d", first)) & set(re.findall(r"Number \d\d", second))


async def test_a_search_says_why(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, WRITER) as visitor:
        found = await visitor.get("/memories", user=ines.user, q="What does Ines drink with her coffee?")
        assert "oat milk" in found
        assert "similar in meaning" in found
        assert "shares words with the question" in found
        assert "from outside: document" in await visitor.get("/memories", user=ines.user, q="invoice of the landlord")
        assert "1,450" not in await visitor.get("/memories", user=ines.user, q="invoice of the landlord", trusted="1")
        await visitor.get("/memories", 422, user=ines.user, q="x", top="many")


async def test_history_shows_old_and_new_text_and_an_undo_brings_the_old_one_back(guarded: Engine) -> None:
    ines = await told(guarded, "undo-of-the-console")
    async with signed_in(guarded, WRITER) as visitor:
        about: dict[str, Any] = {"user": ines.user}
        page = await visitor.get(f"/memories/{ines.changed}", **about)
        assert "before: Ines drinks her coffee black" in page
        assert "after: Ines drinks her coffee with oat milk" in page
        preview = await visitor.get("/undo", **about, memory_id=ines.changed, of=ines.changed, kind="memory")
        assert "Nothing has changed yet" in preview
        assert "before: Ines drinks her coffee black" in preview
        assert "oat milk" in await visitor.get("/memories", **about), "a preview changes nothing"
        await visitor.get("/undo", **about, memory_id=ines.changed, of=ines.changed, kind="memory")
        [once] = re.findall(r'name="once" value="([^"]+)"', visitor.page)
        form: dict[str, Any] = {**about, "memory_id": ines.changed, "of": ines.changed, "kind": "memory", "once": once}
        assert "Undone." in await visitor.post("/undo", **form)
        assert "had been undone before" in await visitor.post("/undo", **form)
        page = await visitor.get("/memories", **about)
        assert "coffee black" in page
        assert "oat milk" not in page


async def test_a_merge_is_undone_after_a_dry_run_that_names_what_comes_back(guarded: Engine) -> None:
    ines = await told(guarded, "merge-of-the-console")
    async with signed_in(guarded, WRITER) as visitor:
        about: dict[str, Any] = {"user": ines.user}
        await visitor.get(f"/memories/{ines.merged}", **about)
        [seq] = re.findall(r'undo\?[^"]*seq=([0-9]+)[^"]*">Undo this merge', visitor.page)
        preview = await visitor.get("/undo", **about, seq=seq, of=ines.merged, kind="memory")
        [event] = re.findall(r'name="event_id" value="([^"]+)"', visitor.page)
        assert "Ines takes the night train" in preview
        assert "night train" not in await visitor.get("/memories", **about)
        await visitor.get("/undo", 404, **about, seq="99", of=ines.merged, kind="memory")
        assert "Undone." in await visitor.post(
            "/undo", **about, event_id=event, of=ines.merged, kind="memory", once="1"
        )
        assert "night train" in await visitor.get("/memories", **about)


async def test_a_memory_is_archived_deleted_restored_and_confirmed(guarded: Engine) -> None:
    ines = await told(guarded, "acts-of-the-console")
    async with signed_in(guarded, principal("carer", roles=[Role.READ, Role.WRITE, Role.CONSENT])) as visitor:
        about: dict[str, Any] = {"user": ines.user}
        place = f"/memories/{ines.outside}"
        assert "from outside: document" in await visitor.get(place, **about)
        assert "Confirmed" in await visitor.post(f"{place}/confirm", **about)
        assert "from outside" not in await visitor.get(place, **about)
        assert "Archived" in await visitor.post(f"{place}/archive", **about)
        assert "1,450" not in await visitor.get("/memories", **about)
        assert "Restored" in await visitor.post(f"{place}/restore", **about)
        assert "Deleted" in await visitor.post(f"{place}/delete", **about)
        await visitor.post(f"{place}/explode", 404, **about)


def _query(path: str) -> list[tuple[str, Any]]:
    return parse_qsl(urlsplit(path).query)
