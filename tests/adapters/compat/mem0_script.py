"""A program on mem0's API, which runs on mem0 and on the engine, and tells what it saw."""

from collections.abc import Callable, Mapping
from typing import Any

SHOWN = ("memory", "hash", "metadata", "user_id", "agent_id", "run_id", "role", "actor_id")
DATED = ("id", "created_at", "updated_at")

Seen = dict[str, Any]


def script(memory: Any) -> Seen:
    """What each call returned, without ids, times and scores; of a refusal, the type of its error."""
    seen: Seen = {}
    ana = {"user_id": "ana"}
    chat = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I moved to Lisbon last spring", "name": "ana"},
        {"role": "assistant", "content": "Lisbon is lovely in spring."},
    ]
    about_home = {"topic": "home", "n": 3}
    added = memory.add(chat, user_id="ana", agent_id="coach", run_id="r1", metadata=about_home, infer=False)["results"]
    seen["add"] = [{name: one[name] for name in ("memory", "event", "role", "actor_id")} for one in added]
    home = added[0]["id"]
    health = _id(
        memory.add("I am allergic to peanuts", user_id="ana", metadata={"topic": "health", "n": 7}, infer=False)
    )
    memory.add("My dog is called Bruno", user_id="ana", infer=False, expiration_date="2020-01-01")
    memory.add("I live in Porto", user_id="bob", infer=False)

    seen["get"] = _shown(memory.get(home))
    seen["get_all"] = _texts(memory.get_all(filters=ana))
    seen["get_all, 1"] = len(memory.get_all(filters=ana, top_k=1)["results"])
    seen["get_all, expired too"] = _texts(memory.get_all(filters=ana, show_expired=True))
    seen["get_all of a run"] = _texts(memory.get_all(filters={**ana, "run_id": "r1"}))
    seen["search"] = _texts(memory.search("In which city does Ana live?", filters=ana, top_k=1))
    seen["search, equal"] = _texts(memory.search("peanuts", filters={**ana, "topic": "health"}))
    seen["search, operator"] = _texts(memory.search("peanuts", filters={**ana, "n": {"gt": 5}}))
    either = [{"topic": "health"}, {"topic": "home"}]
    seen["search, or"] = _texts(memory.search("Lisbon or peanuts", filters={**ana, "OR": either}, threshold=0.0))
    seen["search of nobody"] = _texts(memory.search("Lisbon", filters={"user_id": "nobody"}))

    seen["update"] = memory.update(home, text="I moved to Porto", metadata={"topic": "move", "user_id": "eve"})
    seen["updated"] = _shown(memory.get(home))
    seen["history"] = _told(memory.history(home))
    seen["delete"] = memory.delete(health)
    seen["deleted"] = memory.get(health)
    seen["history of a deleted one"] = _told(memory.history(health))
    seen |= {f"refused: {name}": _refused(call) for name, call in _refusals(memory, home, health).items()}

    memory.add("Be brief", agent_id="tutor", infer=False)
    seen["an agent's own"] = _texts(memory.get_all(filters={"agent_id": "tutor"}))
    seen["delete_all"] = memory.delete_all(user_id="ana")
    seen["after delete_all"] = _texts(memory.get_all(filters=ana))
    seen["another user"] = _texts(memory.get_all(filters={"user_id": "bob"}))
    seen["reset"] = memory.reset()
    seen["after reset"] = _texts(memory.get_all(filters={"user_id": "bob"}))
    return seen


def _refusals(memory: Any, known: str, deleted: str) -> Mapping[str, Callable[[], object]]:
    ana = {"user_id": "ana"}
    return {
        "a search without an owner": lambda: memory.search("x", filters={}),
        "an owner beside the filters": lambda: memory.search("x", user_id="ana"),
        "an empty query": lambda: memory.search(" ", filters=ana),
        "a negative top_k": lambda: memory.search("x", filters=ana, top_k=-1),
        "a threshold over 1": lambda: memory.search("x", filters=ana, threshold=2),
        "an unknown operator": lambda: memory.search("x", filters={**ana, "n": {"over": 5}, "m": {"gt": 1}}),
        "an update of nothing": lambda: memory.update(known),
        "a second delete": lambda: memory.delete(deleted),
        "an update of what is deleted": lambda: memory.update(deleted, text="x"),
        "a delete_all of everybody": lambda: memory.delete_all(),
        "a date that is none": lambda: memory.add("x", user_id="ana", expiration_date="soon", infer=False),
    }


def _refused(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return "accepted"


def _id(added: Mapping[str, Any]) -> str:
    return str(added["results"][0]["id"])


def _texts(found: Mapping[str, Any]) -> list[str]:
    return sorted(one["memory"] for one in found["results"])


def _shown(item: Mapping[str, Any]) -> Seen:
    return {**{name: item.get(name) for name in SHOWN}, **{name: bool(item[name]) for name in DATED}}


def _told(history: list[Mapping[str, Any]]) -> list[tuple[str, str | None, str | None, bool]]:
    return [(one["event"], one["old_memory"], one["new_memory"], bool(one["is_deleted"])) for one in history]
