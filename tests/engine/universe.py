"""Users of two tenants, each with two agents, and things of every kind and scope, each of which tells its own word."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, count, product, starmap
from typing import Any

from mnemolog.adapters.artifacts import content as contents
from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.adapters.knowledge.adding import add
from mnemolog.adapters.maintenance.segmenting import segment
from mnemolog.adapters.maintenance.summarizing import summarize
from mnemolog.commands.attention import SetAffect
from mnemolog.commands.memories import LinkMemories
from mnemolog.domain.session import Session
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_THREAD, StreamId

TENANTS, AGENTS, SCOPES = ("acme", "acme.b"), ("x", "b:x"), ("global", "agent")
# Ids that differ only in how their parts are cut.
USERS = ("a", "a:b")
MESSAGES = 4  # As many as a rolling summary covers.
_WORD = re.compile(r"zq[0-9]+q")


@dataclass(frozen=True)
class Place:
    """Whose something is; without an agent it is of all of the user's, without a user in the library of the agent."""

    tenant: str
    user: str | None
    agent: str | None = None

    def seen_by(self, tenant: str, user: str, agent: str) -> bool:
        return self.tenant == tenant and self.user in (None, user) and self.agent in (None, agent)


REF = "person:bob"
# What a being keeps, beside its text.
BODIES: Mapping[str, dict[str, str]] = {
    "rule": {},
    "preference": {},
    "note": {"type": "todo"},
    "knowledge": {},
    "diary": {"date": "2026-01-03"},
    "snapshot": {"think_md": "- x"},
    "party_message": {"speaker": "Bob"},
}


class Universe:
    """`words`: where each word may be read. `ids`: what there is of a tenant, user, agent and scope, by kind."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.words: dict[str, Place] = {}
        self.ids: dict[tuple[str, str, str, str], Mapping[str, str]] = {}
        self._numbers = count(1)

    async def begin(self) -> "Universe":
        """All users write at once: that takes less than one after another."""
        conversations = list(product(TENANTS, USERS, AGENTS))
        filled = dict(chain(*await asyncio.gather(*starmap(self._of, product(TENANTS, USERS)))))
        await asyncio.gather(*starmap(self._talked, conversations))
        await self.engine.settled()
        await asyncio.gather(*starmap(self._divided, conversations))
        await self.engine.settled()
        parts = dict(zip(conversations, [await self._parts(*place) for place in conversations], strict=True))
        self.ids = {place: {**own, **parts[place[:3]]} for place, own in filled.items()}
        return self

    def told(self, text: str) -> set[str]:
        """The words that stand in an answer."""
        return set(_WORD.findall(text))

    def readable(self, tenant: str, user: str, agent: str) -> set[str]:
        return {word for word, place in self.words.items() if place.seen_by(tenant, user, agent)}

    async def _of(self, tenant: str, user: str) -> list[tuple[tuple[str, str, str, str], Mapping[str, str]]]:
        places = [(tenant, user, agent, scope) for agent, scope in product(AGENTS, SCOPES)]
        return [(place, await self._filled(*place)) for place in places]

    async def _filled(self, tenant: str, user: str, agent: str, scope: str) -> Mapping[str, str]:
        writes, who = self.engine.writes, {"tenant": tenant, "user_id": user, "agent_id": agent}
        own = Place(tenant, user, agent if scope == "agent" else None)
        shared, private = Place(tenant, user), Place(tenant, user, agent)
        text = {"text": f"tea {self._word(own)}", "scope": scope, "entity_refs": [REF], "importance": 1.0}
        memory_id, receipt = await writes.create({**who, **text})
        other_id, _ = await writes.create({**who, **text, "text": f"tea tea {self._word(own)}"})
        word = self._word(own)  # The same for both, so that one is a variant of the other.
        entity_id, _ = await writes.observe_entity({**who, "name": f"Bob {word}", "scope": scope})
        await writes.observe_entity({**who, "name": f"Rob {word}", "scope": scope})
        fact = {"subject": str(entity_id), "predicate": "likes", "object": self._word(own), "literal": True}
        relation_id, _ = await writes.remember({**who, **fact, "scope": scope})
        todo_id, _ = await writes.open_todo({**who, "kind": "commitment", "text": self._word(private)})
        entry = {"store": "relationship", "body": {"name": self._word(private), "text": self._word(private)}}
        entry_id, _ = await writes.put_entry({**who, **entry})
        for store, body in BODIES.items():
            await writes.put_entry({**who, "store": store, "body": {**body, "text": self._word(private)}})
        for cluster in ("Private", f"Private/{self._word(private)}"):
            scene = {"action": f"tea {self._word(private)}", "actors": ["Ana"], "when": ["2026-01-03"]}
            lived = {"experience": {"scene": scene, "cluster": cluster}, "kind": "scene", "scope": "agent"}
            await writes.create({**who, **lived, "text": scene["action"]})
        turn = {"turn_id": str(new_id()), "text": self._word(shared), "speaker": "Ana"}
        await writes.record_turn({**who, **turn})
        proposed = await writes.propose({**who, "field": "city", "value": self._word(shared)})
        await writes.propose({**who, "field": "tone", "value": self._word(shared), "confidence": 1.0})
        mood = {**who, "label": self._word(private), "confidence": 0.9, "at": now()}
        await writes.handle(SetAffect.model_validate(mood))
        link = {**who, "memory_id": memory_id, "to_id": other_id}
        await writes.execute(LinkMemories.model_validate(link))
        about = {"name": "tea.txt", "caption": self._word(own), "scope": scope}
        artifact_id, _ = await contents.store(self.engine, b"tea", {**who, **about}, None)
        named = {"tenant": tenant, "agent_id": agent, "source": f"{user}-{scope}.txt"}
        document = await add(self.engine, f"tea {self._word(Place(tenant, None, agent))}".encode(), named, None)
        return {
            "document_id": str(document.document_id),
            "artifact_id": str(artifact_id),
            "memory_id": str(memory_id),
            "other_id": str(other_id),
            "entity_id": str(entity_id),
            "relation_id": str(relation_id),
            "todo_id": str(todo_id),
            "entry_id": str(entry_id),
            "patch_id": str(proposed.patch_id),
            "event_id": str(receipt.event_ids[0]),
            "field": "tone",
            "message_id": turn["turn_id"],
        }

    async def _talked(self, tenant: str, user: str, agent: str) -> None:
        for _ in range(MESSAGES):
            said = {"turn_id": str(new_id()), "text": self._word(Place(tenant, user))}
            await self.engine.writes.record_turn({"tenant": tenant, "user_id": user, "agent_id": agent, **said})

    async def _divided(self, tenant: str, user: str, agent: str) -> None:
        stream = StreamId.of_user(user, tenant)
        await segment(self.engine, stream, agent, DEFAULT_THREAD)
        await summarize(self.engine, stream, agent, DEFAULT_THREAD)

    async def _parts(self, tenant: str, user: str, agent: str) -> Mapping[str, str]:
        """What jobs made of an agent's conversation: a session, an episode, a summary; and a webhook."""
        engine, viewer = self.engine, Viewer(tenant, user, agent)
        [session, *_] = await engine.reads.sessions(viewer)
        [episode, *_] = await engine.reads.episodes(viewer)
        [summary, *_] = await engine.reads.summaries(viewer)
        store = engine.webhooks.store
        # Nothing is sent: the address is not public.
        url = f"https://192.0.2.1/{self._word(Place(tenant, user, agent))}"
        hook = await store.create(tenant, user, agent, url, (), "")
        delivery = await store.add(hook, "webhook.test", lambda id_: b"{}")
        hooked = {"webhook_id": str(hook.webhook_id), "delivery_id": str(delivery.delivery_id)}
        named = {"session_id": session, "episode_id": episode, "summary_id": summary}
        return {**hooked, **{name: str(row[name]) for name, row in named.items()}}

    def _word(self, place: Place) -> str:
        word = f"zq{next(self._numbers)}q"
        self.words[word] = place
        return word


def envelope(user: str, agent: str) -> dict[str, Any]:
    """An inference envelope that knows nothing."""
    affect = Session(user, agent, DEFAULT_THREAD).affect_shown(now())
    return {
        **{name: affect[name] for name in ("slot_contract_version", "user_id", "agent_id")},
        "chat_id": DEFAULT_THREAD,
        "AFFECT": affect,
        "GRAPH": {"entities": [], "relations": []},
        "EPISODE": {"hits": []},
        "KNOWLEDGE": {"hits": []},
    }


def fields(ids: Mapping[str, str]) -> Mapping[str, dict[str, Any]]:
    """What each operation is asked beside its user, its agent and the ids in its path; nothing where it is not here."""
    return {
        "create": {"text": "x"},
        "search": {"query": "tea", "since_rev": 0},
        "context": {"query": "tea"},
        "validate_envelope": {"envelope": envelope("a", "x")},
        "served": {"message_id": ids["message_id"]},
        "respond": {"message": "x", "message_id": "x"},
        "check_claims": {"text": "Tea."},
        "envelope": {"message": "Do you remember the tea?"},
        "cards": {"refs": [REF]},
        "watch_": {"since": 0, "wait": 0},
        "update": {"text": "x"},
        "merge": {"absorbed_ids": [ids["other_id"]]},
        "link": {"to_id": ids["other_id"]},
        "undo": {"event_id": ids["event_id"]},
        "add": {"messages": [{"content": "x", "message_id": "x", "occurred_at": "2026-01-03T01:02:10Z"}]},
        "search_artifacts": {"query": "tea"},
        "search_knowledge": {"query": "tea"},
        "describe_artifact": {"text": "x"},
        "get_summary": {"summary_id": ids["summary_id"]},
        "get_thread": {"thread_id": DEFAULT_THREAD},
        "get_message": {"message_id": ids["message_id"]},
        "delete_message": {"message_id": ids["message_id"]},
        "restore_message": {"message_id": ids["message_id"]},
        "erase_message": {"message_id": ids["message_id"]},
        "set_affect": {"label": "x", "confidence": 0.9},
        "set_focus": {"topic_focus": "x"},
        "add_entity": {"name": ids["entity_id"]},
        "update_entity": {"confidence": 0.5},
        "add_alias": {"alias": "x"},
        "merge_entities": {"absorbed_ids": [ids["entity_id"]]},
        "add_fact": {"subject": ids["entity_id"], "predicate": "likes", "object": "x"},
        "propose_profile": {"field": "city", "value": "x"},
        "seed": {"content": {"profile": {"tone": "dry"}}},
        "add_todo": {"text": "x"},
        "update_todo": {"text": "x"},
        "being_context": {"since_rev": 0},
        "recall": {"query": "tea"},
        "recall_memory": {"cluster": "Private"},
        "search_memory": {"query": "tea"},
        "put_being_entry": {"store": "rule", "body": {"text": "x"}},
        "rollback": {"of_thread": "main", "dry_run": True},
        "forget": {"scope": "global", "dry_run": True},
        "erase_scope": {"scope": "global", "dry_run": True},
        "erase_thread": {"thread_id": "main"},
        "create_webhook": {"url": "https://hooks.invalid/x"},
        "prove_erased": {"thread_id": "main"},
    }
