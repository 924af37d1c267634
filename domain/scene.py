"""Scenes: what a being experienced, in the format of C (§Scene Format), and what it felt."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from typing import Any

from mnemolog.domain.cluster import label_of
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import clean

MAX_PART = 8 * 1024
"""Bytes of UTF-8 in one text of a scene."""
MAX_PARTS = 100
"""Entries in one list of a scene."""
_DAY = lazy_compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Dated:
    """The object form of an entry in `when`: a day, and what happened on it."""

    date: str
    action: str


WhenItem = str | Dated
"""An entry of the timeline: a day such as 2026-01-03, or a day with what happened on it."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One event, decision, emotion or observation. `action` says what happened, `actors` who was involved."""

    action: str
    actors: tuple[str, ...]
    when: tuple[WhenItem, ...]
    setting: str = ""
    dialogue: tuple[str, ...] = ()
    sensory: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Emotion:
    """A VADSNT vector; each number is in [-1, 1]."""

    valence: float = 0.0
    arousal: float = 0.0
    dominance: float = 0.0
    safety: float = 0.0
    novelty: float = 0.0
    trust: float = 0.0


@dataclass(frozen=True, slots=True)
class Experience:
    """What a being remembers of a scene.

    `feeling` is its own impression, kept apart from the scene. `cluster` is the label of the scene's cluster (see
    `domain/cluster.py`); "" until a patrol places it.
    """

    scene: Scene | None = None
    feeling: str = ""
    themes: tuple[str, ...] = ()
    emotion: Emotion | None = None
    cluster: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON, with the lists as lists."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    @property
    def embed_text(self) -> str:
        """What the vector of the scene is made of: when, action and feeling (C §Layer 1); "" without a scene."""
        if self.scene is None:
            return ""
        return "\n".join(filter(None, (*when_texts(self.scene), self.scene.action, self.feeling)))


def scene_to_text(scene: Scene, feeling: str = "") -> str:
    """A scene as a person reads it (C §Scene Format, `sceneToText`). Absent parts are left out.

    >>> scene_to_text(Scene("Mia won", ("Mia",), ("2026-01-03",), dialogue=("Yes!",)), "proud")
    '2026-01-03 — Mia won — "Yes!" — (proud)'
    """
    day = day_of(scene.when[0]) if scene.when else ""
    quoted = f'"{scene.dialogue[0]}"' if scene.dialogue else ""
    return " — ".join(filter(None, (day, scene.setting, scene.action, quoted, f"({feeling})" if feeling else "")))


def day_of(item: WhenItem) -> str:
    """The day of a timeline entry, in either form."""
    return item if isinstance(item, str) else item.date


def when_texts(scene: Scene) -> Sequence[str]:
    """The timeline as text, one line an entry."""
    return [item if isinstance(item, str) else f"{item.date} {item.action}" for item in scene.when]


def dated(scene: Scene) -> tuple[Dated, ...]:
    """The timeline of a scene that another one absorbs, as objects, so that its history is kept (C ❹)."""
    return tuple(item if isinstance(item, Dated) else Dated(item, scene.action) for item in scene.when)


def absorbing(survivor: Experience, absorbed: Sequence[Experience]) -> Experience:
    """An experience that absorbs others: their days are kept in its timeline, once each, as objects (C ❹)."""
    if survivor.scene is None:
        return survivor
    news = [item for one in absorbed if one.scene for item in dated(one.scene)]
    when = tuple(dict.fromkeys((*survivor.scene.when, *news)))
    return replace(survivor, scene=replace(survivor.scene, when=when))


def scene_of(value: object, field: str = "scene") -> Scene:
    """A scene from JSON; raises InvalidInput with the path of the first fault. Both forms of `when` are accepted."""
    if isinstance(value, Scene):
        return value
    given = _object(value, field, Scene, {"action", "actors", "when"})
    when = [_when(one, f"{field}.when[{place}]") for place, one in enumerate(_list(given, field, "when"))]
    return Scene(
        action=_text(given["action"], f"{field}.action"),
        actors=_texts(given, field, "actors"),
        when=tuple(when),
        setting=_optional(given, field, "setting"),
        dialogue=_texts(given, field, "dialogue"),
        sensory=_texts(given, field, "sensory"),
    )


def experience_of(value: object, field: str = "experience") -> Experience:
    """An experience from JSON; raises InvalidInput like `scene_of`."""
    if isinstance(value, Experience):
        return value
    given = _object(value, field, Experience)
    scene, emotion = given.get("scene"), given.get("emotion")
    return Experience(
        scene=None if scene is None else scene_of(scene, f"{field}.scene"),
        feeling=_optional(given, field, "feeling"),
        themes=_texts(given, field, "themes"),
        emotion=None if emotion is None else emotion_of(emotion, f"{field}.emotion"),
        cluster=label_of(given["cluster"], f"{field}.cluster") if given.get("cluster") else "",
    )


def emotion_of(value: object, field: str = "emotion") -> Emotion:
    """An emotion from JSON. What is not given is 0; raises InvalidInput for a number outside [-1, 1]."""
    if isinstance(value, Emotion):
        return value
    given = _object(value, field, Emotion)
    for name, number in given.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not -1 <= number <= 1:
            raise InvalidInput(
                f"is not a number from -1 to 1: {number!r:.40}", field=f"{field}.{name}", fix="change it"
            )
    return Emotion(**{name: float(number) for name, number in given.items()})


def _when(value: object, field: str) -> WhenItem:
    if isinstance(value, Dated):
        return value
    if isinstance(value, str):
        return _day(value, field)
    given = _object(value, field, Dated, {"date", "action"})
    return Dated(_day(given["date"], f"{field}.date"), _text(given["action"], f"{field}.action"))


def _day(value: object, field: str) -> str:
    """A day that can be. Other texts are accepted: C's own example is `Day7`."""
    text = _text(value, field)
    if _DAY.fullmatch(text):
        try:
            date.fromisoformat(text)
        except ValueError as error:
            fix = "give a day that exists, such as 2026-01-03"
            raise InvalidInput(f"{text} is not a day of the calendar", field=field, fix=fix) from error
    return text


def _object(value: object, field: str, form: type[Any], required: set[str] = frozenset()) -> Mapping[str, Any]:  # type: ignore[assignment]
    names = [one.name for one in fields(form)]
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"must be an object, not {type(value).__name__}", field=field, fix=f"give {', '.join(names)}"
        )
    if unknown := sorted(str(name) for name in value if name not in names):
        raise InvalidInput(
            "is not known here", field=f"{field}.{unknown[0]}"[:200], fix="remove it, or correct its name"
        )
    if missing := sorted(required - value.keys()):
        raise InvalidInput("is missing", field=f"{field}.{missing[0]}", fix="add this field")
    return value


def _list(given: Mapping[str, Any], field: str, name: str) -> Sequence[Any]:
    value = given.get(name)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MAX_PARTS:
        raise InvalidInput(f"must be a list of up to {MAX_PARTS}", field=f"{field}.{name}", fix="give a list of texts")
    return value


def _texts(given: Mapping[str, Any], field: str, name: str) -> tuple[str, ...]:
    return tuple(_text(one, f"{field}.{name}[{place}]") for place, one in enumerate(_list(given, field, name)))


def _optional(given: Mapping[str, Any], field: str, name: str) -> str:
    value = given.get(name)
    return "" if value in (None, "") else _text(value, f"{field}.{name}")


def _text(value: object, field: str) -> str:
    return clean(value, field, max_bytes=MAX_PART)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return value
