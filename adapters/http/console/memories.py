"""Memories: the newest, a search with its reasons, one memory, and the history of whatever has one."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.responses import Response

from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.operations import memories as operations
from mnemolog.adapters.operations.operation import Operation
from mnemolog.domain.errors import InvalidInput, NotFound

PAGE, FOUND, MOST_FOUND = 25, 10, 100
# What parts of a score say beyond similarity and words (docs/explanation/retrieval.md).
REASONS = {
    "words": "words of the question in it: {:.0f}",
    "alike": "names spelled much alike: {:.0f}",
    "recency": "recent: +{:.2f}",
    "frequency": "about what other answers are about: +{:.2f}",
    "links": "linked to other answers: +{:.2f}",
    "hops": "steps away in the graph: {:.0f}",
    "beside": "lowered, since others tell what is asked: ×{:.2f}",
    "outside": "lowered, since it comes from outside: ×{:.2f}",
}
ACTS: Mapping[str, Operation[Any, Any]] = {
    "confirm": operations.confirm,
    "archive": operations.archive,
    "delete": operations.delete,
    "restore": operations.restore,
}


async def home(visit: Visit) -> Response:
    """Choose a user, unless the key is bound to one."""
    return visit.to("/memories") if visit.user else visit.page("home.html")


async def memories(visit: Visit) -> Response:
    """The newest memories, or the answer to a question."""
    question = visit.query.get("q", "").strip()
    if not question:
        page = await visit.ask(operations.list_, limit=PAGE, cursor=visit.query.get("cursor"))
        return visit.page("memories.html", question="", page=page)
    top, flags = _top(visit.query.get("top", "")), _flags(visit.query)
    found = await visit.ask(operations.search, query=question, top_k=top, **{"return": "full"}, **flags)
    more = min(top + FOUND, MOST_FOUND) if len(found.hits) == top < MOST_FOUND else None
    hits = [(hit, _reasons(hit)) for hit in found.hits]
    return visit.page("search.html", question=question, found=found, hits=hits, more=more, flags=flags)


async def memory(visit: Visit) -> Response:
    """One memory: what it says, where it comes from, and what happened to it."""
    id_ = _id(visit)
    found = await visit.ask(operations.get, memory_id=id_)
    links = await visit.ask(operations.links, memory_id=id_)
    return visit.page("memory.html", memory=found, links=links, **await past(visit, id_))


async def history_of(visit: Visit) -> Response:
    """The history of a fact or an entity."""
    found = await past(visit, _id(visit))
    kind = found["history"].items[0].subject if found["history"].items else "memory"
    return visit.page("history.html", id=_id(visit), kind=kind, **found)


async def changed(visit: Visit) -> Response:
    """Confirm, archive, delete or restore a memory."""
    act = visit.request.path_params["act"]
    if act not in ACTS:
        raise NotFound("there is no such page", field="", fix="go back to the start")
    await visit.ask(ACTS[act], memory_id=_id(visit), idempotency_key=visit.form.get("once"))
    return visit.to(f"/memories/{_id(visit)}", done=act)


async def past(visit: Visit, id_: UUID) -> Mapping[str, Any]:
    """A page of the history. The origin is read on request: it takes a look through the whole log of the user."""
    history = await visit.ask(operations.history, id=id_, limit=PAGE, cursor=visit.query.get("cursor"))
    why = await visit.ask(operations.why, id=str(id_)) if visit.query.get("origin") else None
    return {"history": history, "why": why}


def _id(visit: Visit) -> UUID:
    id_: UUID = visit.request.path_params["id"]
    return id_


def _top(text: str) -> int:
    if not text:
        return FOUND
    if not text.isdecimal() or not 0 < int(text) <= MOST_FOUND:
        raise InvalidInput("is not a number of results", field="top", fix=f"give 1 to {MOST_FOUND}")
    return int(text)


def _flags(query: Mapping[str, str]) -> dict[str, Any]:
    flags: dict[str, Any] = {"trusted_only": True} if query.get("trusted") else {}
    return flags | ({"superseded": "exclude"} if query.get("current") else {})


def _reasons(hit: Any) -> Sequence[str]:
    """Why a hit was found and stands where it does, in words."""
    said = [f"similar in meaning: {hit.similarity:.2f}"] if hit.similarity else []
    said += [f"shares words with the question: {hit.text_rank:.2f}"] if hit.text_rank else []
    for name, part in hit.parts.items():
        if part and (label := REASONS.get(name)):
            said.append(label.format(part))
    return said
