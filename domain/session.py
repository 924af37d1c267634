"""Working memory: the session object of one user, agent and chat (A §3.1, A04)."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from mnemolog.domain.affect import Affect, moment_text
from mnemolog.domain.message import with_lines

SLOT_CONTRACT_VERSION = "1.0"
KEPT_TURNS = 20
LIFETIME = timedelta(hours=24)
SAID = "said"
LAST_SESSION = "last_session"
FOCUS = frozenset({"topic_focus", "mode", "pending_questions"})
USER = "user"


@dataclass(frozen=True, slots=True)
class Session:
    """A session. `turns` holds the last twenty turns, oldest first, each `{"role": ..., "text": ...}`.

    `scratch["said"]` has `[turn_id, entity_id, ...]` of each turn, its speaker and the entities that it mentions (or
    null), so that a turn can be removed again. `scratch["last_session"]` is the summary of the session before (D09).

    Forgotten turns are kept but not shown until the session ends, so that they can be restored: `numbers` numbers the
    turns in `said`, `mentions` has the last number of each active entity, `forgotten` the number of turns at each
    `SessionForgotten`, and `since` the one in effect. Readers get `shown`.
    """

    user_id: str
    agent_id: str
    chat_id: str
    msg_count: int = 0
    summary: str = ""
    turns: Sequence[dict[str, str]] = ()
    scratch: dict[str, Any] = field(default_factory=dict)
    active_entity_ids: Sequence[str] = ()
    updated_at: str = ""
    numbers: Sequence[int] = ()
    mentions: Mapping[str, int] = field(default_factory=dict)
    forgotten: Mapping[str, int] = field(default_factory=dict)
    since: str | None = None
    affect: Affect | None = None

    def heard(self, role: str, text: str, turn_id: str, entity_ids: Sequence[str], at: datetime) -> "Session":
        """The session after one more turn; the entity that spoke, and then those mentioned, are the active ones."""
        entities, mentions, number = self.active_entity_ids, self.mentions, self.msg_count + 1
        if entity_ids:
            entities = [*entity_ids, *(other for other in entities if other not in entity_ids)][:10]
            mentions = {one: number if one in entity_ids else mentions[one] for one in entities}
        return replace(
            self,
            msg_count=number,
            turns=[*self.turns, {"role": role, "text": text}][-KEPT_TURNS:],
            scratch={**self.scratch, SAID: [*self._said(), [turn_id, *(entity_ids or (None,))]][-KEPT_TURNS:]},
            active_entity_ids=entities,
            numbers=[*self.numbers, number][-KEPT_TURNS:],
            mentions=mentions,
            updated_at=moment_text(at),
            affect=self._mood_after(text if role == USER else None, number, at),
        )

    def _mood_after(self, said: str | None, number: int, at: datetime) -> Affect | None:
        """The affect after a message, none once its time is over. Only what the user says can be short."""
        if self.affect is None or self.affect.is_neutral:
            return self.affect
        return None if self.affect.decay_at < at else self.affect.maintained(at, number, said)

    def felt(self, affect: Affect | None, at: datetime) -> "Session":
        """The session with another affect; None: with none."""
        return replace(self, affect=affect, updated_at=moment_text(at))

    def focused(self, focus: Mapping[str, Any], active: Sequence[str] | None, at: datetime) -> "Session":
        """The session about something else: `focus` by the keys of `FOCUS`, and `active` entities, the latest first."""
        scratch = {name: value for name, value in self.scratch.items() if name not in FOCUS}
        given = {name: one for name, one in focus.items() if one}
        entities = self.active_entity_ids if active is None else active
        return replace(
            self,
            scratch={**scratch, **given},
            active_entity_ids=list(entities),
            mentions={one: self.mentions.get(one, self.msg_count) for one in entities},
            updated_at=moment_text(at),
        )

    def without(self, turn_ids: Collection[str]) -> "Session":
        """The session without these turns and speakers of only these turns; counts stay (X07).

        Older turns without ids are removed too, because they could be any.
        """
        said = self._said()
        known = self.turns[len(self.turns) - len(said) :]
        gone = [one for one in said if one[0] in turn_ids]
        if not gone and len(known) == len(self.turns):
            return self
        left = [one for one in zip(known, said, self.numbers, strict=True) if one[1] not in gone]
        last = {entity_id: number for _, (_, *entity_ids), number in left for entity_id in entity_ids}
        silent = {entity_id for _, *entity_ids in gone for entity_id in entity_ids} - last.keys()
        active = [one for one in self.active_entity_ids if one not in silent]
        return replace(
            self,
            turns=[turn for turn, _, _ in left],
            scratch={**self.scratch, SAID: [one for _, one, _ in left]},
            active_entity_ids=active,
            numbers=[number for _, _, number in left],
            mentions={one: last.get(one, self.mentions[one]) for one in active},
        )

    def summarized(self, summary: str, last_turn_id: str) -> "Session":
        """The session with a summary of its turns up to this one; unchanged if that was forgotten meanwhile."""
        return replace(self, summary=summary) if self._shows(last_turn_id) else self

    def following(self, last_session: Mapping[str, Any], last_turn_id: str) -> "Session":
        """The session with the summary of the one that ended with this turn; unchanged if that was forgotten."""
        if not self._shows(last_turn_id):
            return self
        return replace(self, scratch={**self.scratch, LAST_SESSION: last_session})

    def without_summaries(self) -> "Session":
        """The session without its own summary and that of the session before."""
        if not self.summary and LAST_SESSION not in self.scratch:
            return self
        scratch = {name: value for name, value in self.scratch.items() if name != LAST_SESSION}
        return replace(self, summary="", scratch=scratch)

    def _shows(self, turn_id: str) -> bool:
        """Whether a turn is not forgotten."""
        shown = self.shown() if self.since else self
        return not self.since or (shown is not None and turn_id in {one[0] for one in shown._said()})

    def forgetting(self, entity_id: str) -> "Session":
        """The session without an active entity; unchanged if the entity is not active."""
        if entity_id not in self.active_entity_ids:
            return self
        active = [one for one in self.active_entity_ids if one != entity_id]
        return replace(self, active_entity_ids=active, mentions={one: self.mentions[one] for one in active})

    def forgotten_by(self, event_id: str) -> "Session":
        """The session with all turns up to now hidden."""
        then = self if self.forgotten else self._counted()
        scratch = {name: value for name, value in self.scratch.items() if name not in {*FOCUS, LAST_SESSION}}
        forgotten = {**self.forgotten, event_id: self.msg_count}
        return replace(then, forgotten=forgotten, since=event_id, scratch=scratch, affect=None, summary="")

    def shown_since(self, event_id: str | None) -> "Session":
        """The session with the turns since this `SessionForgotten`; the whole session for None or an unknown one."""
        return replace(self, since=event_id if event_id in self.forgotten else None)

    def shown(self) -> "Session | None":
        """The session as readers see it: turns since the `SessionForgotten` in effect; None if there are none."""
        start = self.forgotten[self.since] if self.since else 0
        if not start:
            return self
        if self.msg_count == start and not self.affect and not self.scratch.keys() & FOCUS:
            return None
        said = self._said()
        known = self.turns[len(self.turns) - len(said) :]
        later = [one for one in zip(known, said, self.numbers, strict=True) if one[2] > start]
        return replace(
            self,
            msg_count=self.msg_count - start,
            turns=[turn for turn, _, _ in later],
            scratch={**self.scratch, SAID: [one for _, one, _ in later]},
            active_entity_ids=[one for one in self.active_entity_ids if self.mentions[one] > start],
        )

    def with_surrogates(self, surrogates: Mapping[str, Sequence[str]]) -> "Session":
        """The session with lines behind the texts of these turns, which stand for their artifacts (E §4)."""
        said = self._said()
        first = len(self.turns) - len(said)
        shown = [
            {**turn, "text": with_lines(turn["text"], surrogates.get(str(turn_id), ()))}
            for turn, (turn_id, *_) in zip(self.turns[first:], said, strict=True)
        ]
        return replace(self, turns=[*self.turns[:first], *shown])

    def naming(self, named: Callable[[str], Sequence[str]]) -> "Session":
        """The session in which each turn made the entities active, too, that are `named` in its text.

        One that a turn introduced was not known when it was said. Those that were put in focus stay first.
        """
        said = self._said()
        texts = (turn["text"] for turn in self.turns[len(self.turns) - len(said) :])
        whole = [
            (turn_id, list(dict.fromkeys([*(one for one in ids if one), *named(text)])))
            for text, (turn_id, *ids) in zip(texts, said, strict=True)
        ]
        last = {entity_id: place for place, (_, ids) in enumerate(whole) for entity_id in ids}
        active = list(self.active_entity_ids)
        for one, turn in last.items():
            if one not in active:
                places = (place for place, other in enumerate(active) if last.get(other, turn) < turn)
                active.insert(next(places, len(active)), one)
        shown = [[turn_id, *(ids or (None,))] for turn_id, ids in whole]
        return replace(self, scratch={**self.scratch, SAID: shown}, active_entity_ids=active)

    @property
    def turn_ids(self) -> frozenset[str]:
        return frozenset(one[0] for one in self._said() if one[0])

    def spoken(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The text of each turn, oldest first, with the entities that it made active: its speaker, then others."""
        said = self._said()
        for turn, (_, *ids) in zip(self.turns[len(self.turns) - len(said) :], said, strict=True):
            yield turn["text"], [one for one in ids if one]

    def _said(self) -> Sequence[list[str | None]]:
        said: Sequence[list[str | None]] = self.scratch.get(SAID, [])
        return said

    @property
    def ends_at(self) -> datetime:
        return datetime.fromisoformat(self.updated_at) + LIFETIME

    def expired(self, now: datetime) -> bool:
        """Whether there was no turn for longer than a session's lifetime."""
        return bool(self.updated_at) and now - datetime.fromisoformat(self.updated_at) > LIFETIME

    def read_at(self, now: datetime) -> "Session | None":
        """As it reads at a time: None once it expired, and without the affect whose time is over."""
        if self.expired(now):
            return None
        return replace(self, affect=self.affect.expired(now)) if self.affect else self

    def as_dict(self) -> dict[str, Any]:
        """The object of A §3.1, field by field."""
        return {
            "slot_contract_version": SLOT_CONTRACT_VERSION,
            "user_id": self.user_id,
            "agent_id": self.agent_id,
            "chat_id": self.chat_id,
            "msg_count": self.msg_count,
            "summary": self.summary,
            "turns": list(self.turns),
            "scratch": self.scratch,
            "active_entity_ids": list(self.active_entity_ids),
            "updated_at": self.updated_at,
        }

    def affect_shown(self, now: datetime) -> dict[str, Any]:
        """The object of A §3.2; neutral where no affect is known."""
        affect = self.affect or Affect.neutral(now)
        return affect.as_dict(self.user_id, self.agent_id, self.scratch.get("topic_focus", ""), self.active_entity_ids)

    def stored(self) -> dict[str, Any]:
        """The stored form of a session, including hidden turns."""
        hidden = {"numbers": list(self.numbers), "mentions": self.mentions, "forgotten": self.forgotten}
        return {**self.as_dict(), **hidden, "since": self.since}

    @classmethod
    def from_stored(cls, blob: dict[str, Any]) -> "Session":
        found = cls(**{name: value for name, value in blob.items() if name != "slot_contract_version"})
        return found if "numbers" in blob else found._counted()

    def _counted(self) -> "Session":
        """The session with turns numbered, which is only needed from the first `SessionForgotten` on."""
        mentions = dict.fromkeys(self.active_entity_ids, self.msg_count)
        return replace(self, numbers=[self.msg_count] * len(self._said()), mentions=mentions)


def key(kind: str, tenant: str, user_id: str, agent_id: str, chat_id: str) -> str:
    """The Redis key `sess:{user}:{agent}:{chat}` of A §2.1.

    Colons in user and agent ids are escaped, so keys are unique; the chat id comes last and may contain colons. Tenants
    other than the default one get a prefix.
    """
    prefix = "" if tenant == "default" else f"tenant:{_escaped(tenant)}:"
    return f"{prefix}{kind}:{_escaped(user_id)}:{_escaped(agent_id)}:{chat_id}"


def unescaped(part: str) -> str:
    """The id that was escaped as part of a key."""
    return part.replace("%3A", ":").replace("%25", "%")


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")
