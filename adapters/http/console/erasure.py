"""Erasure: what would be destroyed, the destruction, and the proof that nothing is left."""

import secrets
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from mnemolog.adapters.http.console.listing import part_of
from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.operations import erasure as operations
from mnemolog.adapters.operations import memories as of_memories
from mnemolog.adapters.operations.messages import erase_message
from mnemolog.adapters.operations.operation import Operation
from mnemolog.domain.errors import InvalidInput, NotFound, NotPermitted
from mnemolog.domain.principal import Role

PAGE = 20
# What can be erased, in words, its operation, and the field of its id in that and in the proof.
KINDS: Mapping[str, tuple[str, Operation[Any, Any], str]] = {
    "memory": ("A memory", operations.erase, "memory_id"),
    "message": ("A message", erase_message, "message_id"),
    "thread": ("A thread of the conversation", operations.erase_thread, "thread_id"),
    "entity": ("A person, place or thing", operations.erase_entity, "entity_id"),
    "fact": ("A fact", operations.erase_fact, "relation_id"),
    "profile": ("A field of the profile", operations.erase_profile, "field"),
    "todo": ("A todo", operations.erase_todo, "todo_id"),
    "artifact": ("A file or link", operations.erase_artifact, "artifact_id"),
    "user": ("Everything about the user", operations.erase_user, ""),
}


async def erasure(visit: Visit) -> Response:
    """Choose what to erase; then see what that would destroy. It changes nothing."""
    visit.require(Role.ERASE)
    kind = visit.query.get("kind", "")
    if not kind:
        return visit.page("erasure.html", kinds=KINDS, extent=None)
    named = _named(visit.query)
    survivors = _survivors(visit.query)
    extent = await visit.ask(KINDS[kind][1], **named, **survivors, dry_run=True)
    memories = part_of(extent.memories, visit.query, PAGE)
    texts = [(id_, await _text_of(visit, id_)) for id_ in memories.items]
    return visit.page(
        "erasure.html",
        kinds=KINDS,
        kind=kind,
        extent=extent,
        texts=texts,
        memories=memories,
        survivors=bool(survivors),
        once=secrets.token_urlsafe(12),
    )


async def erased(visit: Visit) -> Response:
    """Destroy it, and prove it at once. The user's id, typed again, stands for the will to do so."""
    kind, named = visit.form.get("kind", ""), _named(visit.form)
    if visit.form.get("typed", "") != visit.user:
        raise InvalidInput("is not the id of the user", field="typed", fix=f"type {visit.user} to confirm")
    done = await visit.ask(
        KINDS[kind][1], **named, **_survivors(visit.form), idempotency_key=visit.form.get("once") or None
    )
    proof = await visit.ask(operations.prove_erased, **named)
    return visit.page("proof.html", proof=proof, done=done, what=KINDS[kind][0], named=named)


async def prove(visit: Visit) -> Response:
    """Prove an earlier erasure again."""
    kind, named = visit.form.get("kind", ""), _named(visit.form)
    proof = await visit.ask(operations.prove_erased, **named, text=visit.form.get("text") or None)
    return visit.page("proof.html", proof=proof, done=None, what=KINDS[kind][0], named=named)


def _named(given: Mapping[str, str]) -> dict[str, str]:
    kind = given.get("kind", "")
    if kind not in KINDS:
        raise InvalidInput("cannot be erased", field="kind", fix=f"give one of {', '.join(KINDS)}")
    name, id_ = KINDS[kind][2], given.get("id", "").strip()
    if name and not id_:
        raise InvalidInput("is missing", field="id", fix="give the id of what to erase")
    return {name: id_} if name else {}


def _survivors(given: Mapping[str, str]) -> dict[str, bool]:
    wanted = given.get("with_survivors") and given.get("kind") in ("memory", "message", "thread")
    return {"with_survivors": True} if wanted else {}


async def _text_of(visit: Visit, id_: object) -> str:
    """What a memory says, if this key and agent may read it."""
    try:
        text: str = (await visit.ask(of_memories.get, memory_id=id_)).text
    except (NotFound, NotPermitted):
        return ""
    return text
