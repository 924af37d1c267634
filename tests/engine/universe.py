"""Users of two tenants, each with two agents, and things of every kind and scope, each of which tells its own word."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, product
from typing import Any

from mnemolog.adapters.engine.engine import Engine, new_id
from mnemolog.commands.memories import LinkMemories

TENANTS, AGENTS, SCOPES = ("acme", "acme.b"), ("x", "b:x"), ("global", "agent")
# Ids that differ only in how their parts are cut.
USERS = ("a", "a:b")
_WORD = re.compile(r"zq[0-9]+q")


@dataclass(frozen=True)
class Place:
    """Whose something is; without an agent it is of all of the user's."""

    tenant: str
    user: str
    agent: str | None = None

    def seen_by(self, tenant: str, user: str, agent: str) -> bool:
        return (self.tenant, self.user) == (tenant, user) and self.agent in (None, agent)


REF = "person:bob"


class Universe:
    """`words`: where each word may be read. `ids`: what there is of a tenant, user, agent and scope, by kind."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.words: dict[str, Place] = {}
        self.ids: dict[tuple[str, str, str, str], Mapping[str, str]] = {}
        self._numbers = count(1)

    async def begin(self) -> "Universe":
        for tenant, user, agent, scope in product(TENANTS, USERS, AGENTS, SCOPES):
            self.ids[tenant, user, agent, scope] = await self._filled(tenant, user, agent, scope)
        await self.engine.settled()
        return self

    def told(self, text: str) -> set[str]:
        """The words that stand in an answer."""
        return set(_WORD.findall(text))

    def readable(self, tenant: str, user: str, agent: str) -> set[str]:
        return {word for word, place in self.words.items() if place.seen_by(tenant, user, agent)}

    async def _filled(self, tenant: str, user: str, agent: str, scope: str) -> Mapping[str, str]:
        writes, who = self.engine.writes, {"tenant": tenant, "user_id": user, "agent_id": agent}
        own = Place(tenant, user, agent if scope == "agent" else None)
        shared, private = Place(tenant, user), Place(tenant, user, agent)
        text = {"text": f"tea {self._word(own)}", "scope": scope, "entity_refs": [REF], "importance": 1.0}
        memory_id, receipt = await writes.create({**who, **text})
        other_id, _ = await writes.create({**who, **text, "text": f"tea tea {self._word(own)}"})
        entity_id, _ = await writes.observe_entity({**who, "name": f"Bob {self._word(own)}", "scope": scope})
        await writes.observe_entity({**who, "name": f"Rob {self._word(own)}", "scope": scope})
        fact = {"subject": str(entity_id), "predicate": "likes", "object": self._word(own), "literal": True}
        relation_id, _ = await writes.remember({**who, **fact, "scope": scope})
        todo_id, _ = await writes.open_todo({**who, "kind": "commitment", "text": self._word(private)})
        turn = {"turn_id": str(new_id()), "text": self._word(shared), "speaker": "Ana"}
        await writes.record_turn({**who, **turn})
        proposed = await writes.propose({**who, "field": "city", "value": self._word(shared)})
        await writes.propose({**who, "field": "tone", "value": self._word(shared), "confidence": 1.0})
        link = {**who, "memory_id": memory_id, "to_id": other_id}
        await writes.execute(LinkMemories.model_validate(link))
        return {
            "memory_id": str(memory_id),
            "other_id": str(other_id),
            "entity_id": str(entity_id),
            "relation_id": str(relation_id),
            "todo_id": str(todo_id),
            "patch_id": str(proposed.patch_id),
            "event_id": str(receipt.event_ids[0]),
            "thread_id": "main",
            "field": "tone",
            "user_id": user,
            "id": str(memory_id),
        }

    def _word(self, place: Place) -> str:
        word = f"zq{next(self._numbers)}q"
        self.words[word] = place
        return word


def bodies(ids: Mapping[str, str], user: str, agent: str) -> Mapping[str, dict[str, Any]]:
    """A valid body for each route that takes one."""
    who = {"user_id": user, "agent_id": agent}
    return {
        "POST /memory/query": {"query": "tea", "filters": {"user_id": user}, "agent": agent, "since_rev": 0},
        "POST /memory/context": {**who, "query": "tea"},
        "POST /memory": {**who, "text": "x"},
        "PATCH /memory/{memory_id}": {**who, "text": "x"},
        "POST /memory/{memory_id}/archive": who,
        "POST /memory/{memory_id}/restore": who,
        "POST /memory/{memory_id}/merge": {**who, "absorbed_ids": [ids["other_id"]]},
        "POST /memory/{memory_id}/link": {**who, "to_id": ids["other_id"]},
        "POST /memory/{memory_id}/undo": who,
        "POST /undo": {**who, "event_id": ids["event_id"]},
        "POST /turns": {**who, "text": "x", "message_id": "x", "occurred_at": "2026-01-03T01:02:10Z"},
        "POST /profile": {**who, "field": "city", "value": "x"},
        "POST /consent/{patch_id}/grant": who,
        "POST /consent/{patch_id}/refuse": who,
        "POST /seed": {**who, "profile": {"tone": "dry"}},
        "POST /todos": {**who, "kind": "commitment", "text": "x"},
        "POST /todos/{todo_id}": {**who, "text": "x"},
        "POST /facts": {**who, "subject": ids["entity_id"], "predicate": "likes", "object": "x"},
        "POST /facts/{relation_id}/end": who,
        "POST /facts/{relation_id}/retire": who,
        "POST /facts/{relation_id}/restore": who,
        "POST /entities": {**who, "name": ids["entity_id"]},
        "PATCH /entities/{entity_id}": {**who, "confidence": 0.5},
        "POST /entities/{entity_id}/aliases": {**who, "alias": "x"},
        "POST /entities/{entity_id}/merge": {**who, "absorbed_ids": [ids["entity_id"]]},
        "POST /entities/{entity_id}/restore": who,
        "POST /prove-erased": {**who, "thread_id": "main"},
        "POST /users/{user_id:path}/import": {},
        "POST /rollback": {**who, "of_thread": "main", "dry_run": True},
        "POST /forget": {**who, "scope": "global", "dry_run": True},
    }
