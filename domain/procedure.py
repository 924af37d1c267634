"""Procedures: instructions as numbered steps (B §12, B12)."""

from mnemolog.domain.category import PROCEDURAL
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import Source
from mnemolog.domain.text import normalize_name

DETECTED = 0.8
"""The minimum confidence of a procedure that was not requested; the figure is ours, B says "high"."""


def kind_and_category(kind: Kind, category: str) -> tuple[Kind, str]:
    """The kind and the category imply each other."""
    if kind is Kind.PROCEDURE or category == PROCEDURAL:
        return Kind.PROCEDURE, PROCEDURAL
    return kind, category


def require_steps(text: str) -> None:
    """Raises InvalidInput unless its lines are steps `1. ...` to `n. ...`, in order and in the imperative (B §12).

    Indented lines belong to the step above.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    numbered = [found and int(found[1]) for found in map(_STEP.match, lines)]
    if not lines or numbered != list(range(1, len(lines) + 1)):
        raise InvalidInput(
            "is not a procedure",
            field="text",
            fix="write one numbered step per line, in the imperative: 1. Open the door",
        )
    for number, line in enumerate(lines, 1):
        step = _STEP.sub("", line, count=1).strip()
        if not imperative(step):
            raise InvalidInput(
                f"step {number} is not an instruction: {step!r:.80}",
                field="text",
                fix="begin each step with an imperative: 'Open the door', not 'You open' or 'Opening'",
            )


def imperative(step: str) -> bool:
    """Whether a step may be in the imperative, which it is not if it begins like a statement.

    That is a person or thing ("You open", "The door"), an auxiliary ("Should open"), or an English verb in another
    form ("Opens", "Opened", "Opening").
    """
    words = _WORD.findall(normalize_name(step))
    if not words or words[0] in _STATING:
        return False
    first = words[0]
    if not first.isascii() or first in _BASE_FORMS or len(first) < 5:
        return True
    third_person = first.endswith("s") and not first.endswith(("ss", "us", "as", "is"))
    return not (first.endswith(("ing", "ed")) or third_person)


def require_wanted(source: Source, confidence: float) -> None:
    """Raises InvalidInput for a procedure that was not requested and has low confidence (B §12)."""
    if source is Source.SHADOW_EXTRACTION and confidence < DETECTED:
        raise InvalidInput(
            f"a procedure was detected with confidence {confidence:g}",
            field="confidence",
            fix=f"create only requested procedures, or those with {DETECTED:g} or more",
        )


_STEP = lazy_compile(r"(\d{1,3})[.)]\s+(?=\S)")
_WORD = lazy_compile(r"[^\W\d_]+")
_SUBJECTS = (
    "i you he she it we they one someone somebody everyone everybody nobody user users agent assistant there"
    " я ты он она оно мы вы они пользователь это ja ty ona ono oni wy uzytkownik to"
    " yo tu ella usted nosotros ellos ellas ich du er wir ihr"
)
_ARTICLES = "the a an this that these those my your his her our their el los las un una der das ein eine"
_AUXILIARIES = "is are was were am be been being has have had will would shall should could might may must can"
_STATING = frozenset(f"{_SUBJECTS} {_ARTICLES} {_AUXILIARIES}".split())
# Verbs and adverbs at the start of instructions that look like another form of a verb.
_LOOKALIKES = "bring string swing fling cling spring wring sting proceed exceed succeed embed bleed breed speed shred"
_ADVERBS = "always sometimes perhaps afterwards besides towards"
_BASE_FORMS = frozenset(f"{_LOOKALIKES} {_ADVERBS}".split())
