"""A being's patrols, as tests run and read them, and a scripted model for their steps."""

import json
import re
from typing import Any

from mnemolog.adapters.maintenance import patrolling
from mnemolog.adapters.maintenance.patrolling import Patrolled
from mnemolog.domain.nodes import SceneNode
from mnemolog.domain.patrol import Step, What
from tests.engine.person import Person

SCENE = {"kind": "scene", "scope": "agent"}
NAMES = ("rowing", "baking", "chess", "sewing", "judo", "opera", "hiking", "poker", "yoga", "tennis", "diving")
DIARY = ["I rowed with Zoë.", "- I was proud.", "The lake was cold."]
THINK = ["Zoë likes the lake", "Ask about the race", "Bring gloves"]


def answers(request: dict[str, Any]) -> str:
    """Merges the first two scenes that tell of the lake, splits sports from the rest, and writes the diary."""
    system, shown = request["messages"][0]["content"], request["messages"][-1]["content"]
    lines = re.findall(r"^(\d+)\. (.*)$", shown, re.MULTILINE)
    if "sort the memories" in system:
        return json.dumps({"roots": ["Business" if "invoice" in text else "Private" for _, text in lines]})
    if "tidy the long-term memory" in system:
        lake = [int(number) for number, text in lines if "lake" in text]
        merges = [{"survivor": lake[0], "absorbed": lake[1:]}] if len(lake) > 1 else []
        faded = [int(number) for number, text in lines if "dying" in text and "lake" not in text]
        return json.dumps({"merges": merges, "make_dead": faded})
    if "divide a cluster" in system:
        board = [int(number) for number, text in lines if re.search("chess|poker", text)]
        return json.dumps({"parts": [{"name": "Board games", "scenes": board}, {"name": "One", "scenes": [1]}]})
    return json.dumps({"diary": DIARY, "think": THINK})


async def notes(mia: Person, *texts: str) -> None:
    for text in texts:
        body = {"type": "scene", "text": text}
        fields = {"user_id": mia.user, "agent_id": mia.agent, "store": "note", "body": body}
        await mia.engine.writes.put_entry(fields)


def noted(action: str, **fields: Any) -> str:
    return json.dumps({"action": action, "actors": ["Mia"], "when": ["2026-01-03"], **fields})


async def patrolled(mia: Person, run: str = "1", *, dry_run: bool = False) -> Patrolled:
    await mia.engine.settled(60)
    return await patrolling.patrol(mia.engine, mia.viewer, f"{mia.user}-{run}", dry_run=dry_run)


async def board(mia: Person) -> dict[str, SceneNode]:
    _, found = await mia.engine.reads.board(mia.viewer, moment=await mia.caught_up())
    return {one.text: one for one in found.values()}


async def entries(mia: Person) -> list[tuple[str, str, bool]]:
    rows = await mia.engine.reads.being_entries(mia.viewer, moment=await mia.caught_up(), limit=None)
    text = {"snapshot": "think_md"}
    return sorted((one["store"], one["body"][text.get(one["store"], "text")], one["read"]) for one in rows)


def of(done: Patrolled, step: Step) -> list[tuple[What, str]]:
    [found] = [one for one in done.steps if one.step is step]
    return [(one.what, one.into) for one in found.changes]


def whats(done: Patrolled) -> list[list[What]]:
    return [[one.what for one in step.changes] for step in done.steps]
