"""One patrol over the scenes of one being: its seven steps, and its diary (C §Patrol Pipeline).

Each step is planned on a board of the scenes, which is read once, and recorded in one append, where it is decided again
on the current state. A dry run plans all steps and records none. What a model answered is in the events of its step. A
step that cannot be done now says why and changes nothing, so that a later patrol does it: a run that is repeated under
its id goes on where it ended.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from uuid import UUID, uuid5

from mnemolog.adapters.maintenance.minds import RULES
from mnemolog.adapters.services import Services
from mnemolog.commands.being import MarkEntry, PutEntry
from mnemolog.commands.memories import CreateMemory
from mnemolog.commands.models import Completion
from mnemolog.commands.patrol import CloseCycle
from mnemolog.commands.prompts import Prompt, load
from mnemolog.commands.tending import Absorb, Failed, Kept, Move, Review, Revive, TendScenes
from mnemolog.domain.being import NoteType, Store
from mnemolog.domain.cluster import Root, Vector, below, classified, name_of, root_of
from mnemolog.domain.consolidation import (
    DIARY,
    GAIN,
    LEAST_PART,
    THINK,
    Classified,
    Consolidated,
    Reflection,
    Split,
    absorptions,
    lines,
    made_dead,
    parts,
)
from mnemolog.domain.errors import MnemologError, ModelOutputInvalid, NotFound
from mnemolog.domain.memory import Kind, Status
from mnemolog.domain.memory_key import Source
from mnemolog.domain.nodes import (
    Board,
    SceneNode,
    clusters,
    cycled,
    large,
    matching,
    merging,
    moved,
    revived,
    turned,
    vector_of,
)
from mnemolog.domain.origin import Origin, quoted
from mnemolog.domain.patrol import ACTIVATED, Node, Step, What
from mnemolog.domain.scene import scene_to_text
from mnemolog.domain.scene_note import SceneNote, marked, parsed
from mnemolog.domain.scope import Scope
from mnemolog.domain.summary import shortened
from mnemolog.domain.viewer import Viewer
from mnemolog.events.being import BeingEntrySet
from mnemolog.events.envelope import Position, StreamId, run_tag
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.events.memory import MemoryCreated
from mnemolog.events.patrol import Purpose
from mnemolog.projections.reads.moment import Moment

ACTOR = "patrol"
NO_MODEL = "no chat model is configured (setting chat_model)"
SHOWN, CHARACTERS, LEAST_CHARACTERS, TOKENS = 60, 600, 40, 1500
"""The most new scenes that are reflected on, the characters of each scene, and the tokens of an answer.

Of a cluster, a model is shown all scenes (C ❹, ❻): of more than 60, fewer characters each, but at least 40.
"""
NO_KEY = "[graph] BYOK key not set: skipping ❹❻ diary/think_md (mechanical processing only)"
"""What is logged without a chat model, word for word (C §Without BYOK)."""
_logger = logging.getLogger("mnemolog.patrol")
_CYCLES = UUID("c0b1f0de-54d1-5a0e-9b3c-6d0f6d6a2b17")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Change:
    """One change; `into` is the label of a cluster, the id of a survivor, or a store.

    A scene that would be created has the id of its note, and an entry that would be written none.
    """

    what: What
    id: UUID | None
    into: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What a step did; `why` if it, or a part of it, was skipped."""

    step: Step
    changes: tuple[Change, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Patrolled:
    """A patrol of a being. `fault` is the first error that a model raised."""

    being: Viewer
    run_id: str
    steps: tuple[Done, ...]
    dry_run: bool
    fault: MnemologError | None = field(default=None, compare=False)


async def patrol(
    engine: Services,
    being: Viewer,
    run_id: str,
    *,
    cycle_key: str | None = None,
    actor: str = ACTOR,
    dry_run: bool = False,
) -> Patrolled:
    """Run all steps over a being. NotFound if it has neither scenes nor scene notes."""
    run = _Run(engine, being, run_id, actor=actor, dry_run=dry_run)
    await run.begin()
    if engine.models.chat is None:
        _logger.info(NO_KEY)
    steps = (
        await run.notes(),
        *await run.cycle(cycle_key or key_of_cycle(being.agent_id, run_id)),
        await run.consolidate(),
        await run.revive(),
        await run.split(),
        await run.merge(),
        await run.reflect(),
    )
    return Patrolled(being, run_id, steps, dry_run, run.fault)


def key_of_cycle(agent_id: str, of: object) -> str:
    """The idempotency key of an agent's cycle: of a session, by its last turn, or of a run. Ids may be long."""
    name = f"{agent_id}\n{of}"
    return f"cycle:{uuid5(_CYCLES, name)}"


@dataclass(frozen=True, slots=True)
class _Note:
    """An unread scene note; `scene` is None if it does not parse."""

    row: Mapping[str, Any]
    scene: SceneNote | None

    @property
    def text(self) -> str:
        return str(self.row["body"]["text"])


class _Run:
    """A patrol on its way. `board` is what it knows of the scenes after the steps so far."""

    def __init__(self, engine: Services, being: Viewer, run_id: str, *, actor: str, dry_run: bool) -> None:
        self._engine, self._being, self._dry_run = engine, being, dry_run
        self._stream = StreamId.of_user(being.user_id, being.tenant)
        self._who = {
            "tenant": being.tenant,
            "user_id": being.user_id,
            "agent_id": being.agent_id,
            "actor": actor,
            "run_id": run_id,
        }
        self._run_id = run_id
        self.fault: MnemologError | None = None
        self.board: Board = {}

    async def begin(self) -> None:
        """Read the scenes and the unread scene notes, and embed what is new in one call."""
        await self._engine.recalls.flush()
        self._least = (await self._engine.projections.embedder()).calibration.cluster_match
        moment = Moment(after=Position(self._stream, await self._engine.log.head(self._stream)))
        found = await self._engine.reads.being_entries(self._being, {Store.NOTE}, read=False, moment=moment, limit=None)
        rows = [row for row in found if row["body"]["type"] == NoteType.SCENE]
        self._notes = [_Note(row, parsed(row["body"]["text"])) for row in rows]
        texts = [one.scene.experience.embed_text for one in self._notes if one.scene]
        self._questions, self.board = await self._engine.reads.board(self._being, texts, moment)
        self._earlier = await self._engine.log.read(self._stream, tags=[run_tag(self._run_id)])
        self._made = {one.payload.memory_id for one in self._earlier if isinstance(one.payload, MemoryCreated)}
        if not (self.board or self._notes or self._earlier):
            raise NotFound(
                f"agent {self._being.agent_id!r} has no scenes of user {self._being.user_id!r}",
                field="agent_id",
                fix="give a user and an agent with memories of kind `scene` and scope `agent`, or with scene notes",
            )

    async def notes(self) -> Done:
        """❶: a memory for each note, and a cluster for each scene that has none."""
        fault = next((one.fault for one in self._questions if one.fault), None)
        if fault:
            self._failed_with(fault)
            return Done(Step.NOTES, why=f"the embedding model gives no vectors ({fault.code}); the notes stay unread")
        vectors = [one.meaning().tolist() for one in self._questions]
        scenes = [one for one in self._notes if one.scene]
        new = [self._node(one, vector) for one, vector in zip(scenes, vectors, strict=True)]
        labels, review, why = await self._placed([*new, *self.board.values()])
        keep = [
            self._kept(note, node, labels.get(node.memory_id, node.experience.cluster))
            for note, node in zip(scenes, new, strict=True)
        ]
        failed = [self._failed(one) for one in self._notes if not one.scene and marked(one.text) != one.text]
        move = [Move(memory_id=id_, was="", cluster=labels[id_]) for id_ in self.board if id_ in labels]
        await self._record(Step.NOTES, keep=keep, failed=failed, move=move, reviews=review)
        self.board = moved({**self.board, **{one.memory_id: one for one in new}}, labels)
        self._made |= {one.memory_id for one in new}
        created = [Change(What.CREATED, one.memory_id, self.board[one.memory_id].cluster, one.text) for one in new]
        unread = [Change(What.FAILED, one.note.entry_id) for one in failed]
        placed = [Change(What.PLACED, one.memory_id, one.cluster) for one in move]
        return Done(Step.NOTES, (*created, *unread, *placed), why)

    def _node(self, note: _Note, vector: Vector) -> SceneNode:
        assert note.scene
        experience, importance = note.scene.experience, note.scene.importance
        assert experience.scene
        return SceneNode(
            memory_id=note.row["entry_id"] if self._dry_run else self._engine.writes.new_id(),
            text=scene_to_text(experience.scene, experience.feeling),
            experience=experience,
            node=Node(Status.ACTIVE, importance, pinned=False, session_count=ACTIVATED),
            fresh=True,
            external=Origin(note.row["origin"]).external,
            vector=vector,
        )

    async def _placed(self, scenes: Sequence[SceneNode]) -> tuple[Mapping[UUID, str], Sequence[Review], str]:
        """The cluster of each scene that has none: the one most like it, or else a root."""
        placed = {id_: one for id_, one in self.board.items() if one.placed}
        vectors = {label: vector_of(one) for label, one in clusters(placed).items()}
        waiting = [one for one in scenes if not one.placed]
        alike = {one.memory_id: matching(one.vector, vectors, self._least) for one in waiting if one.vector}
        found = {id_: label for id_, label in alike.items() if label is not None}
        rest = [one for one in waiting if one.memory_id not in found]
        if not rest:
            return found, (), ""
        by_words = {one.memory_id: classified(one.text).value for one in rest}
        asked = await self._asked(load("patrol_classify"), _numbered(rest), Classified)
        if isinstance(asked, str):
            return {**found, **by_words}, (), f"scenes that match no cluster were classified by words: {asked}"
        roots = dict(zip((one.memory_id for one in rest), asked.output.roots, strict=False))
        said = {id_: roots.get(id_, Root(root)).value for id_, root in by_words.items()}
        return {**found, **said}, [_review(Purpose.CLASSIFY, rest, asked)], ""

    def _kept(self, note: _Note, node: SceneNode, cluster: str) -> Kept:
        fields = {
            **self._who,
            "memory_id": node.memory_id,
            "text": node.text,
            "kind": Kind.SCENE,
            "scope": Scope.AGENT,
            "importance": node.node.importance,
            "experience": replace(node.experience, cluster=cluster),
            "source": Source.SHADOW_EXTRACTION,
            "origin": _origin(note),
            "source_turn_ids": tuple(note.row["source_turn_ids"]),
        }
        mark = validated(MarkEntry, {**self._who, "entry_id": note.row["entry_id"], "read": True})
        return Kept(note=mark, text=note.text, scene=validated(CreateMemory, fields))

    def _failed(self, note: _Note) -> Failed:
        body = {**note.row["body"], "text": marked(note.text)}
        names = {name: note.row[name] for name in ("entry_id", "key", "source_turn_ids")}
        put = {**self._who, **names, "store": Store.NOTE, "body": body, "origin": _origin(note)}
        return Failed(text=note.text, note=validated(PutEntry, put))

    async def cycle(self, key: str) -> tuple[Done, Done]:
        """❷ and ❸: every active scene is one cycle older, and dying if too little is left of it."""
        after = cycled(self.board)
        turning = {id_: one for id_, one in self.board.items() if after[id_].node.status is not one.node.status}
        if not self._dry_run:
            fields = {
                "memory_ids": tuple(turning),
                "session_counts": tuple(one.node.session_count for one in turning.values()),
            }
            receipt = await self._engine.writes.handle(validated(CloseCycle, {**self._who, **fields}), key)
            if receipt.already:  # By an earlier attempt: the board was read after it.
                why = "the cycle of this session is closed already"
                return Done(Step.COUNT, why=why), Done(Step.FLAG, why=why)
        counted = [Change(What.COUNTED, id_) for id_, one in self.board.items() if one.active]
        flagged = [Change(What.DYING if after[id_].dying else What.RECOVERED, id_) for id_ in turning]
        self.board = after
        return Done(Step.COUNT, tuple(counted)), Done(Step.FLAG, tuple(flagged))

    async def consolidate(self) -> Done:
        """❹: scenes that belong together become one; dying ones that nobody misses become dead."""
        changes, why, alone = list[Change](), "", list[SceneNode]()
        for scenes in clusters(self.board).values():
            shown = _to_consolidate(scenes)
            if len(shown) == 1 and not shown[0].dying:  # A fresh one alone has nothing to join.
                alone += shown
                continue
            if not shown:
                continue
            asked = await self._asked(load("patrol_consolidate"), _numbered(shown, weighed=True), Consolidated)
            if isinstance(asked, str):
                why = asked
                break
            merges = absorptions(asked.output, shown)
            merged = {id_ for one in merges for id_ in (one.survivor_id, *one.absorbed_ids)}
            dead = made_dead(asked.output, shown, merged)
            absorb = [Absorb(survivor_id=one.survivor_id, absorbed_ids=one.absorbed_ids) for one in merges]
            review = _review(Purpose.CONSOLIDATE, shown, asked)
            await self._record(Step.CONSOLIDATE, absorb=absorb, make_dead=dead, reviews=[review])
            for one in merges:
                self._absorb(one.survivor_id, one.absorbed_ids)
                changes += [Change(What.ABSORBED, id_, str(one.survivor_id)) for id_ in one.absorbed_ids]
            self.board = turned(self.board, dead, Status.DORMANT)
            changes += [Change(What.DEAD, id_) for id_ in dead]
        if alone and not self._lacking:
            ids = tuple(one.memory_id for one in alone)
            by_rule = Review(purpose=Purpose.CONSOLIDATE, memory_ids=ids, generation=Generation(model=RULES))
            await self._record(Step.CONSOLIDATE, reviews=[by_rule])
        return Done(Step.CONSOLIDATE, tuple(changes), why or self._lacking)

    def _absorb(self, survivor_id: UUID, absorbed_ids: Sequence[UUID]) -> None:
        survivor = self.board[survivor_id]
        weight = min(1.0, survivor.node.importance + GAIN)
        gone = turned(self.board, absorbed_ids, Status.DORMANT)
        merged = {id_: replace(gone[id_], merged=True) for id_ in absorbed_ids}
        grown = replace(survivor, node=replace(survivor.node, importance=weight))
        self.board = {**gone, **merged, survivor_id: grown}

    async def revive(self) -> Done:
        """❺: dead scenes that were recalled live again."""
        ids = revived(self.board)
        counts = [Revive(memory_id=id_, session_count=self.board[id_].node.session_count) for id_ in ids]
        await self._record(Step.REVIVE, revive=counts)
        self.board = turned(self.board, ids, Status.ACTIVE)
        return Done(Step.REVIVE, tuple(Change(What.REVIVED, id_) for id_ in ids))

    async def split(self) -> Done:
        """❻: parts of large clusters become clusters of their own."""
        changes, why = list[Change](), ""
        for label, scenes in large(self.board).items():
            said = f"Cluster: {name_of(label)}\n\n{_numbered(scenes)}"
            asked = await self._asked(load("patrol_split", least=LEAST_PART), said, Split)
            if isinstance(asked, str):
                why = asked
                break
            siblings = [name_of(one) for one in clusters(self.board) if root_of(one) is root_of(label)]
            goals = {
                id_: below(root_of(label), name) for name, ids in parts(asked.output, scenes, siblings) for id_ in ids
            }
            await self._record(Step.SPLIT, move=self._moves(goals), reviews=[_review(Purpose.SPLIT, scenes, asked)])
            self.board = moved(self.board, goals)
            changes += [Change(What.MOVED, id_, goal) for id_, goal in goals.items()]
        return Done(Step.SPLIT, tuple(changes), why or self._lacking)

    async def merge(self) -> Done:
        """❼: small clusters join the sibling that is most like them, or the root."""
        goals = merging(self.board, self._least)
        await self._record(Step.MERGE, move=self._moves(goals))
        self.board = moved(self.board, goals)
        return Done(Step.MERGE, tuple(Change(What.MOVED, id_, goal) for id_, goal in goals.items()))

    async def reflect(self) -> Done:
        """The diary entry of the day, and think_md, of the scenes that this run made of notes."""
        new = [one for id_, one in self.board.items() if id_ in self._made]
        if self._lacking:
            return Done(Step.REFLECT, why=self._lacking)
        if not new:
            return Done(Step.REFLECT, why="there were no scene notes")
        if any(isinstance(one.payload, BeingEntrySet) and one.payload.store is Store.DIARY for one in self._earlier):
            return Done(Step.REFLECT, why="this run wrote them already")
        names = ("least_lines", "most_lines", "least_bullets", "most_bullets")
        prompt = load("patrol_reflect", **dict(zip(names, (*DIARY, *THINK), strict=True)))
        shown = new[:SHOWN]
        asked = await self._asked(prompt, _numbered(shown), Reflection)
        if isinstance(asked, str):
            return Done(Step.REFLECT, why=asked)
        diary, think = lines(asked.output.diary, DIARY), lines(asked.output.think, THINK)
        if not (diary and think):
            self._failed_with(ModelOutputInvalid("too few lines", field="diary", fix="try again"))
            return Done(Step.REFLECT, why="the model wrote too few lines")
        snapshot = await self._engine.reads.being_entries(self._being, {Store.SNAPSHOT}, limit=1)
        before = snapshot[0]["body"] if snapshot else {}
        put = [
            self._entry(Store.DIARY, {"date": self._engine.writes.now().date().isoformat(), "text": "\n".join(diary)}),
            self._entry(Store.SNAPSHOT, {**before, "think_md": "\n".join(f"- {one}" for one in think)}),
        ]
        await self._record(Step.REFLECT, put=put, reviews=[_review(Purpose.REFLECT, shown, asked)])
        written = [(None if self._dry_run else one.entry_id, one.store) for one in put]
        return Done(Step.REFLECT, tuple(Change(What.WRITTEN, *one) for one in written))

    def _entry(self, store: Store, body: Mapping[str, Any]) -> PutEntry:
        return validated(
            PutEntry, {**self._who, "entry_id": self._engine.writes.new_id(), "store": store, "body": body}
        )

    def _moves(self, goals: Mapping[UUID, str]) -> Sequence[Move]:
        return [
            Move(memory_id=id_, was=self.board[id_].experience.cluster, cluster=goal) for id_, goal in goals.items()
        ]

    @property
    def _lacking(self) -> str:
        return NO_MODEL if self._engine.models.chat is None else ""

    async def _asked(self, prompt: Prompt, text: str, form: type[Output]) -> Completion[Output] | str:
        """The model's answer, or why there is none. After its first failure it is not asked again in this run."""
        chat = self._engine.models.chat
        if chat is None:
            return NO_MODEL
        if self.fault is None:
            try:
                return await chat.complete(self._being.tenant, prompt, text, form, max_tokens=TOKENS)
            except MnemologError as error:
                self.fault = error
        return f"the chat model failed ({self.fault.code})"

    def _failed_with(self, error: MnemologError) -> None:
        self.fault = self.fault or error

    async def _record(self, step: Step, **fields: Sequence[Any]) -> None:
        """One append, if there is something to record."""
        if self._dry_run or not any(fields.values()):
            return
        given = {name: tuple(values) for name, values in fields.items()}
        command = validated(TendScenes, {**self._who, "step": step.value, "at": self._engine.writes.now(), **given})
        await self._engine.writes.handle(command)


def _to_consolidate(scenes: Sequence[SceneNode]) -> Sequence[SceneNode]:
    """The living scenes of a cluster, those that are fresh or dying first; none if none is."""
    living = [one for one in scenes if one.active or one.dying]
    due = [one for one in living if one.fresh or one.dying]
    rest = sorted((one for one in living if one not in due), key=lambda one: -one.node.importance)
    return [*due, *rest] if due else []


def _numbered(scenes: Sequence[SceneNode], *, weighed: bool = False) -> str:
    of_each = max(LEAST_CHARACTERS, min(CHARACTERS, SHOWN * CHARACTERS // max(1, len(scenes))))
    return "\n".join(f"{number}. {_told(one, of_each, weighed=weighed)}" for number, one in enumerate(scenes, 1))


def _told(one: SceneNode, characters: int, *, weighed: bool) -> str:
    """A scene on one line; what comes from outside is quoted."""
    text = shortened(" ".join(one.text.split()), characters)
    said = quoted(text) if one.external else text
    marks = [name for name, holds in (("fresh", one.fresh), ("dying", one.dying), ("pinned", one.node.pinned)) if holds]
    return f"({', '.join([f'importance {one.node.importance:.2f}', *marks])}) {said}" if weighed else said


def _review(purpose: Purpose, scenes: Sequence[SceneNode], asked: Completion[Any]) -> Review:
    ids = tuple(one.memory_id for one in scenes)
    return Review(purpose=purpose, memory_ids=ids, generation=asked.generation)


def _origin(note: _Note) -> Origin:
    """A patrol speaks in nobody's name: what the user noted is its own conclusion, what comes from outside stays so."""
    origin = Origin(note.row["origin"])
    return origin if origin.external else Origin.AGENT
