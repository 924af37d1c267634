"""The curator: which memories about one entity are folded into one, and which are archived (D §source, §status)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations

from mnemolog.domain import importance, markers
from mnemolog.domain.contradiction import one_frame
from mnemolog.domain.extraction.proposals import grounded, names_said
from mnemolog.domain.extraction.validation import Fault, checked
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.memory import Content, Kind, Memory
from mnemolog.domain.memory_key import Source
from mnemolog.domain.text import normalize_name

LEAST_FOLDED, MOST_FOLDED = 3, 8
FOLDS_A_DAY = 3
SETTLED = timedelta(days=7)
UNUSED = timedelta(days=30)
"""A trivial memory that was not used for so long is archived; the figure is ours, half of the retention's."""


_CONTRACTED = lazy_compile(r"(?<=\w)n[’']t\b|\bcannot\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fold:
    """The answer of the model: one text that says all of it, or "" if that is not possible."""

    text: str


def groups(memories: Sequence[tuple[Memory, datetime]], now: datetime) -> Sequence[Sequence[Memory]]:
    """Memories to fold: 3 to 8 facts of one category about one entity, unchanged for a week; the largest groups first.

    Nothing that is pinned, has a key, or was folded before, and no two that contradict each other.
    """
    found = dict[tuple[object, ...], list[Memory]]()
    for memory, updated_at in sorted(memories, key=lambda one: (one[1], one[0].memory_id)):
        if is_foldable(memory) and now - updated_at >= SETTLED:
            of = (memory.scope, memory.agent_id, memory.content.category, memory.origin.external)
            found.setdefault((*of, memory.identity.entity_refs[0]), []).append(memory)
    folded = [group[:MOST_FOLDED] for group in found.values() if len(group) >= LEAST_FOLDED]
    return sorted((group for group in folded if not _is_contested(group)), key=lambda group: -len(group))


def is_foldable(memory: Memory) -> bool:
    """Whether the curator may fold a memory at all."""
    named = bool(memory.identity.entity_refs) and not memory.identity.key
    plain = memory.kind is Kind.FACT and memory.identity.source is not Source.CURATED_FOLD
    return memory.visible and plain and named and not memory.content.pinned


def judge(answer: Fold, group: Sequence[Memory]) -> str | Fault:
    """The text of a fold, or what is wrong: it says less or more than the memories, or cannot be remembered."""
    text = checked(answer.text)
    if isinstance(text, Fault):
        return text
    said = [memory.content.text for memory in group]
    if not grounded(text, said):
        return Fault.UNGROUNDED
    return text if all(keeps(text, one) for one in said) else Fault.UNSTATED


def keeps(text: str, said: str) -> bool:
    """Whether no name, number or negation of a memory is lost in the text of a fold."""
    return names_said(said, [text]) and (not _negates(said) or _negates(text))


def is_trivial(content: Content) -> bool:
    """Whether a memory is of level 0, "trivial, ephemeral", and not pinned (D §importance)."""
    return importance.to_level(content.importance) == 0 and not content.pinned


def _is_contested(group: Sequence[Memory]) -> bool:
    return any(one_frame(one.content.text, other.content.text) for one, other in combinations(group, 2))


def _negates(text: str) -> bool:
    plain = _CONTRACTED.sub(" not", text)
    return any(normalize_name(word) in markers.NEGATIONS for word in re.findall(r"[^\W\d_]+", plain))
