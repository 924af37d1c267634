"""A writer of summaries that needs no model.

It extracts: it chooses sentences that were said, and changes none. What it writes begins with "Extract:", and the
events that keep it name `EXTRACTIVE` as the model. The same messages give the same summary.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from heapq import nsmallest

from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.summary import (
    ITEMS,
    LIMITS,
    ONE_LINE,
    ROLLING_LIMIT,
    ArtifactNote,
    EpisodeSummary,
    FinalSummary,
    Message,
    PlainSummary,
    RunningSummary,
    SessionSummary,
    Spine,
    Summary,
    SummaryKind,
    shortened,
    summary_of,
)
from mnemolog.domain.text import NOT_A_TITLE, QUESTION_MARKS, normalize_name, search_terms
from mnemolog.domain.topic_markers import TopicMarkers
from mnemolog.domain.turn import Role

EXTRACTIVE = "extractive-5"
"""The name of this writer, with the version of its rules."""
MARK = "Extract:"
NOTHING = f"{MARK} nothing was said in words."
NOTHING_ABOUT = f"{MARK} nothing was said about the user."


def extract(
    kind: SummaryKind, messages: Sequence[Message], names: Collection[str] = (), before: Spine | None = None
) -> Summary:
    """A summary of any kind. `names` are those of known people and things; a spine continues the one `before`."""
    match kind:
        case SummaryKind.SESSION:
            brief = extracted_session(messages, names)
            return summary_of(kind, replace(brief, one_liner=brief.one_liner or NOTHING))
        case SummaryKind.SPINE:
            whole = summary_of(kind, extracted_spine(messages, names, before or Spine()))
            if not whole.text:
                return replace(whole, text=NOTHING_ABOUT if _sentences(messages) else NOTHING)
            return replace(whole, text=f"{MARK}\n\n{whole.text}")
    text = extracted(messages, LIMITS[kind]) or NOTHING
    if kind is SummaryKind.RUNNING:
        return summary_of(kind, RunningSummary(text, tuple(map(_named, _open_loops(_sentences(messages))))))
    if kind is SummaryKind.FINAL:
        return summary_of(kind, FinalSummary(**asdict(extracted_episode(messages, names)), summary=text))
    return summary_of(kind, PlainSummary(text))


def extracted(messages: Sequence[Message], limit: int = ROLLING_LIMIT) -> str:
    """The most central sentences, in the order in which they were said; at most `limit` characters. "" of nothing.

    >>> from datetime import datetime
    >>> ana = Message(Role.USER, "Ana", "Hi! I moved to Lisbon.", datetime(2026, 5, 1))
    >>> extracted([ana])
    'Extract: Ana: I moved to Lisbon.'
    """
    chosen: list[_Sentence] = []
    for sentence in _by_weight(_sentences(messages)):
        if len(_told([*chosen, sentence])) <= limit:
            chosen.append(sentence)
    if not chosen and (first := next(_by_weight(_sentences(messages)), None)):
        return shortened(_told([first]), limit)
    return _told(chosen) if chosen else ""


def extracted_session(messages: Sequence[Message], names: Collection[str] = ()) -> SessionSummary:
    """Without a tone, which rules cannot determine. `people`: mentioned `names`, and users who speak if several do."""
    sentences = _sentences(messages)
    best = [one for one, _ in zip(_by_weight(sentences), range(LISTED), strict=False)]
    speakers = {one.speaker: None for one in messages if one.speaker and one.role is Role.USER}
    return SessionSummary(
        one_liner=shortened(f"{MARK} {_dated(best[0])}", ONE_LINE) if best else "",
        what_mattered=tuple(map(_named, best)),
        open_loops=tuple(map(_named, _open_loops(sentences))),
        commitments=tuple(map(_named, _matching(sentences, PROMISES))),
        people=_people(speakers, _mentioned(messages, names)),
    )


def extracted_spine(messages: Sequence[Message], names: Collection[str], before: Spine) -> Spine:
    """The spine `before`, with what is new; the oldest items go first. Rules do not notice that something is done."""
    sentences = _sentences(messages)
    own = [one for one in sentences if one.role is Role.USER]
    undone = {*_matching(own, NEEDS), *_matching(own, PROMISES)}
    about = (one for one in _matching(own, OF_ONESELF) if one not in undone)
    undertaken = (*_matching(sentences, DECISIONS), *_matching(own, PROMISES, UNDERTAKEN))
    return Spine(
        profile=_continued(before.profile, map(_dated, about)),
        projects=_continued(before.projects, map(_dated, undertaken)),
        people=_continued(before.people, extracted_session(messages, names).people),
        open_loops=_continued(before.open_loops, map(_dated, _open_loops(sentences))),
    )


def extracted_episode(messages: Sequence[Message], names: Collection[str] = ()) -> EpisodeSummary:
    """Without candidates for facts, which rules cannot judge. `entities` are the mentioned `names`."""
    sentences = _sentences(messages)
    first = next(_by_weight(sentences), None)
    return EpisodeSummary(
        topic=shortened(f"{MARK} {first.text}", ONE_LINE) if first else "",
        decisions=tuple(map(_named, _matching(sentences, DECISIONS))),
        todos=tuple(map(_named, _matching(sentences, NEEDS))),
        entities=_mentioned(messages, names),
        artifacts=tuple(
            ArtifactNote(found["id"], found["note"].strip())
            for one in messages
            for found in _SURROGATE.finditer(one.text)
        ),
        open_questions=tuple(map(_named, _unanswered(sentences))),
    )


TOPICS = TopicMarkers()
LISTED = 5
CONSIDERED = 200
# Greetings and assent: sentences with fewer meaningful words are only chosen if there is nothing else.
WORDS = 2
# A sentence that shares more of its words with a chosen one says the same.
SAME = 0.6
# What users say counts for more than what assistants say; tools and instructions do not count.
ROLES = {Role.USER: 1.0, Role.ASSISTANT: 0.5}


def _forms(*patterns: str) -> re.Pattern[str]:
    return lazy_compile(rf"\b(?:{'|'.join(patterns[:-1])})\b|{patterns[-1]}")


# English, Russian, Polish, Spanish, German; Japanese last, without limits of words. As `normalize_name` leaves them.
PROMISES = _forms(
    "i ?(?:will|'ll)|i(?: am|'m) going to|i(?: have|'ve)? promised?",
    "обещаю|я (?:сделаю|буду)|собираюсь",
    "obiecuje|zrobie|zamierzam",
    "voy a|prometo",
    "ich werde|ich verspreche",
    "約束|つもり",
)
NEEDS = _forms(
    "(?:need|needs|have|has|ought) to|must|should|remind me|don't forget",
    "нужно|надо|должен|должна|должны|напомни(?:те)?|не забыть",
    "musze|musimy|trzeba|powinienem|powinnam|przypomnij",
    "tengo que|tenemos que|hay que|necesito|recuerdame",
    "muss|mussen|soll|sollte|sollten|erinnere mich",
    "なければ|忘れない|必要",
)
DECISIONS = _forms(
    "(?:decided|agreed|chose|settled on)|let's",
    "решил[аи]?|договорились|выбрал[аи]?|давай(?:те)?",
    "zdecydowal\\w*|postanowil\\w*|ustalil\\w*|umowil\\w*",
    "decidi|decidimos|decidido|acordamos|quedamos",
    "entschieden|beschlossen|vereinbart|abgemacht",
    "決め|決定|ことにし",
)
UNDERTAKEN = _forms(
    "working on|project|deadline|launch(?:ed|es|ing)?",
    "работаю над|проект\\w*|дедлайн\\w*",
    "pracuje nad|projek\\w+",
    "trabajo en|trabajando en|proyectos?",
    "arbeite an|projekte?s?",
    "プロジェクト|取り組んで",
)
# After "I am" and its like, only what somebody is, and no mood: that is never a fact (A05).
_BEING = "(?:an?|the|from|allergic|intolerant|vegan|vegetarian|married|single|divorced|retired|\\d+)\\b"
OF_ONESELF = _forms(
    rf"i(?: am|'m) (?:not )?{_BEING}|i(?: have|'ve) (?:an?|no|two|three|four|lived|worked)|i (?:live|work|study)"
    "|i (?:like|love|prefer|hate|moved|own|speak)|i (?:can't|cannot|don't|never) (?:eat|drink|drive)"
    "|my (?:\\w+ ){1,2}(?:is|are|lives?|works?)|call me",
    "я (?:живу|работаю|учусь|люблю|предпочитаю|переехала?)|меня зовут|у меня|мо[йяи]",
    "jestem|mieszkam|pracuje|lubie|wole|mam|nazywam sie",
    "soy|vivo|trabajo|prefiero|tengo|me (?:gusta|gustan|llamo|mude)|mi \\w+ (?:es|son)",
    "ich bin (?:kein\\w* |ein\\w* |aus |allergisch|verheiratet|ledig|geschieden|vegan|vegetarier|\\d)"
    "|ich (?:wohne|lebe|arbeite|mag|habe|heisse|liebe)|meine? \\w+ (?:ist|sind)",
    "私は|住んで|好き|働いて",
)
# How a sentence begins that takes back the one before it. Without it, what was said in error would stand.
CORRECTION = lazy_compile(
    r"(?:(?:oh|oops|no|wait|ah|argh|hang on|hmm|sorry|apologies|my mistake|my bad|actually),? )*"
    r"(?:i meant\b(?! to\b)|correction\b|scratch that\b|make that\b"
    r"|i (?:said|got) (?:that|it) wrong\b|(?:that|it)(?:'s| was| is) wrong\b|i misspoke\b)"
    r"|(?:no,? )?(?:sorry|no),? i mean\b(?! it\b)|извини(?:те)?,? я имела? в виду\b|я имела? в виду\b"
    r"|(?:przepraszam,? )?(?:mialam|mialem) na mysli\b|(?:perdon,? )?queria decir\b"
    r"|(?:entschuldigung,? |sorry,? )?ich meinte\b"
)
_END = lazy_compile(NOT_A_TITLE + r"(?<=[.!?…])\s+|(?<=[。！？])\s*|\s*\n+\s*")
_DAY = lazy_compile(r"(?:^|, )\d{4}-\d\d-\d\d: ")
_SURROGATE = lazy_compile(r"\[(?:image|file|audio|video|link)#(?P<id>[\w-]+)\](?P<note>[^\[\n]*)")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """`place` is that of its message and its own within it; `terms` are its meaningful words."""

    place: tuple[int, int]
    day: date
    role: Role
    speaker: str
    text: str
    terms: frozenset[str]


def _sentences(messages: Sequence[Message]) -> Sequence[_Sentence]:
    """What was said, sentence by sentence. One that corrects the speaker's last of that day joins it."""
    found = list[_Sentence]()
    last = dict[tuple[Role, str], int]()
    for at, message in enumerate(messages):
        by = (message.role, message.speaker)
        for number, text in enumerate(sentences_in(message.text) if message.role in ROLES else ()):
            if not any(character.isalnum() for character in text) or TOPICS.only_in(text):
                continue
            before = found[last[by]] if by in last else None
            if before and before.day == message.at.date() and corrects(text):
                whole = f"{before.text}{'.' if before.text[-1].isalnum() else ''} {text}"
                found[last[by]] = replace(before, text=whole, terms=before.terms | frozenset(search_terms(text)))
                continue
            last[by] = len(found)
            found.append(_Sentence((at, number), message.at.date(), *by, text, frozenset(search_terms(text))))
    return found


def corrects(sentence: str) -> bool:
    """Whether it takes back what was said before it."""
    return CORRECTION.match(normalize_name(sentence.replace("’", "'"))) is not None


def sentences_in(text: str) -> Sequence[str]:
    """The sentences of a text, each in one line. A small letter after an ellipsis goes on with the sentence."""
    parts = list[str]()
    for part in (" ".join(one.split()) for one in _END.split(text)):
        if parts and parts[-1].endswith(("...", "…")) and part[:1].islower():
            parts[-1] += f" {part}"
        else:
            parts.append(part)
    return parts


def _by_weight(sentences: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """The most central sentences first, which share words with many messages; none that repeats an earlier one."""
    spread = Counter(term for _, term in {(one.place[0], term) for one in sentences for term in one.terms})

    def weight(sentence: _Sentence) -> float:
        shared = sum(spread[term] for term in sentence.terms) / (len(sentence.terms) + WORDS)
        asks = 0.5 if sentence.text.endswith(QUESTION_MARKS) else 1.0
        return shared * asks * ROLES[sentence.role]

    chosen: list[_Sentence] = []
    worth = [one for one in sentences if len(one.terms) >= WORDS] or sentences
    for sentence in nsmallest(CONSIDERED, worth, key=lambda one: (-weight(one), one.place)):
        if not any(_same(sentence, one) for one in chosen):
            chosen.append(sentence)
            yield sentence


def _same(one: _Sentence, other: _Sentence) -> bool:
    return len(one.terms & other.terms) > SAME * min(len(one.terms), len(other.terms)) or one.text == other.text


def _told(sentences: Sequence[_Sentence]) -> str:
    """As text: the speaker is named whenever it changes, and so is the day if the sentences are of several."""
    days = {one.day for one in sentences}
    said, before = MARK, ("", "")
    for sentence in sorted(sentences, key=lambda one: one.place):
        by = (str(sentence.day) if len(days) > 1 else "", sentence.speaker)
        if said != MARK and said[-1].isalnum():
            said += "."
        said += f" {sentence.text}" if by == before else f" {_by(*by)}{sentence.text}"
        before = by
    return said


def _by(day: str, speaker: str) -> str:
    who = ", ".join(filter(None, (speaker, day)))
    return f"{who}: " if who else ""


def _named(sentence: _Sentence) -> str:
    return f"{_by('', sentence.speaker)}{sentence.text}"


def _dated(sentence: _Sentence) -> str:
    """With the day, for what is told long after it was said."""
    return f"{_by(str(sentence.day), sentence.speaker)}{sentence.text}"


def _unanswered(sentences: Sequence[_Sentence]) -> Sequence[_Sentence]:
    """The questions after which nobody else said anything."""
    last = {speaker: at for at, speaker in enumerate((one.role, one.speaker) for one in sentences)}
    return _latest(
        one
        for at, one in enumerate(sentences)
        if one.text.endswith(QUESTION_MARKS)
        and all(spoke < at for speaker, spoke in last.items() if speaker != (one.role, one.speaker))
    )


def _matching(sentences: Sequence[_Sentence], *markers: re.Pattern[str]) -> Sequence[_Sentence]:
    """The latest sentences that contain one of the markers and are not questions."""
    told = (one for one in sentences if not one.text.endswith(QUESTION_MARKS))
    stated = ((one, normalize_name(one.text.replace("’", "'"))) for one in told)
    return _latest(one for one, plain in stated if any(marker.search(plain) for marker in markers))


def _latest(sentences: Iterable[_Sentence]) -> Sequence[_Sentence]:
    """The last few, in their order, each as it was said first."""
    first = dict[str, _Sentence]()
    for one in sentences:
        first.setdefault(_named(one), one)
    return list(first.values())[-LISTED:]


def _open_loops(sentences: Sequence[_Sentence]) -> Sequence[_Sentence]:
    """What is to be done, and the questions without an answer."""
    return list(dict.fromkeys([*_matching(sentences, NEEDS), *_unanswered(sentences)]))


def _continued(before: Sequence[str], new: Iterable[str]) -> tuple[str, ...]:
    """The items before, and the new ones. What is said again moves to the end, with its last day."""
    items = dict[str, str]()
    for one in (*before, *new):
        said = _DAY.sub(": ", one, count=1)
        items.pop(said, None)
        items[said] = one
    return tuple(items.values())[-ITEMS:]


def _people(speakers: Collection[str], mentioned: Sequence[str]) -> tuple[str, ...]:
    """Whoever is alone with the agent is not a person that was talked about."""
    if len(speakers) > 1:
        return tuple(dict.fromkeys([*speakers, *mentioned]))
    return tuple(one for one in mentioned if one not in speakers)


def _mentioned(messages: Sequence[Message], names: Collection[str]) -> tuple[str, ...]:
    """The names that occur in the messages as whole words."""
    said = f" {' '.join(' '.join(search_terms(one.text)) for one in messages)} "
    return tuple(name for name in names if (terms := " ".join(search_terms(name))) and f" {terms} " in said)
