"""Text in any script: normalized names, validation, search terms, token estimates."""

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby, pairwise

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.lazy_regex import lazy_compile

MAX_TEXT_BYTES = 256 * 1024
TITLES = "Dr Mr Mrs Ms Miss Prof"
TITLE = f"(?:{'|'.join(TITLES.split())})"
NOT_A_TITLE = r"(?<!\b(?:Dr|St|Mr|Ms|Mt|Ft)\.)(?<!\bMrs\.)(?<!\bProf\.)"
"""Of a pattern for the ends of sentences: the full stop of `Dr.` ends none."""
SENTENCE_END = lazy_compile(NOT_A_TITLE + r"(?<=[.!?])\s+|\n+")


def normalize_name(name: str) -> str:
    """lower(unaccent(name)) for any script (A §4.1): names are the same if the results are. Idempotent; empty only for
    white space.
    """
    if name.isascii():  # A shortcut with the same result: for ASCII, only the case changes.
        return " ".join(name.lower().split())
    letters = _OPTIONAL.sub("", unicodedata.normalize("NFKD", name))
    letters = _ACCENT.sub(r"\1", letters).casefold().translate(_UNACCENTED)
    return _tidy(letters) or _of_marks(name)


def name_key(name: str) -> str:
    """The form in which names are compared: `Data Platform`, `data-platform` and `data_platform` are one name."""
    normal = normalize_name(name)
    return " ".join(_SEPARATORS.split(normal)).strip() or normal


def without_questions(text: str) -> str:
    """A text without its sentences that ask something; they tell nothing.

    >>> without_questions("My shoe size is 38. Which boots do I need?"), without_questions("What is my shoe size?")
    ('My shoe size is 38.', '')
    """
    return " ".join(one for one in SENTENCE_END.split(text.strip()) if not one.endswith("?"))


def ends_of(text: str) -> str:
    """What rules read of a question: of one that is as long as a book, its two ends.

    Some rules look for one word anywhere after another, which takes time in the square of the length.
    """
    return text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"


_END = 1_000


def _of_marks(name: str) -> str:
    """A name of combining marks only is not changed, unless its lower case contains a letter, as for U+0345."""
    lower = _tidy(unicodedata.normalize("NFKD", name).casefold())
    return lower if lower in ("", name) else normalize_name(lower)


def clean(text: object, field: str, *, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """The stripped text; raises InvalidInput if it cannot be stored unchanged."""
    if not isinstance(text, str):
        raise InvalidInput(f"must be text, not {type(text).__name__}", field=field, fix="send a string")
    require_no_control(text, field)
    text = text.strip()
    if not text:
        raise InvalidInput("is empty", field=field, fix="send at least one visible character")
    require_short(text, field, max_bytes)
    return text


def require_no_control(text: str, field: str) -> None:
    if control := CONTROL.search(text):
        found = "a NUL character" if control[0] == "\0" else f"the control character U+{ord(control[0]):04X}"
        raise InvalidInput(f"contains {found}", field=field, fix="remove it; tabs and line breaks are allowed")


def require_short(text: str, field: str, max_bytes: int = MAX_TEXT_BYTES) -> None:
    """InvalidInput if the text has more bytes in UTF-8, or none."""
    size = utf8_size(text, field)
    if size > max_bytes:
        message = f"has {size:,} bytes of UTF-8, at most {max_bytes:,} are accepted"
        raise InvalidInput(message, field=field, fix="shorten the text or split it")


def same_text(text: str) -> str:
    """A form in which texts are equal if they differ only in case, spacing, Unicode form and a final full stop."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.rstrip(" .。") or plain


def search_terms(text: str) -> tuple[str, ...]:
    """The search terms of a query: each term once, in order. Empty only if the text has no word."""
    return tuple(dict.fromkeys(_content(text, _sought)))


def search_document(text: str) -> str:
    """The text as its terms, with repetition, for a full-text index: letters, marks, digits and single spaces only.

    Input for `to_tsvector` with 'simple' or 'english'. At most 512 KiB, which fits the 1 MiB of a tsvector.
    """
    document = " ".join(_content(text, _stored))
    stored = document.encode()
    if len(stored) <= _MAX_DOCUMENT_BYTES:
        return document
    return stored[:_MAX_DOCUMENT_BYTES].decode(errors="ignore").rpartition(" ")[0]


def indented(text: str) -> str:
    """A text as one item of a list in a prompt: its other lines are indented below the first, and none is blank.

    Lines end as a model may read them: at a carriage return or U+2028, too.

    >>> print("- " + indented("PEOPLE\\n\\n- Ana"))
    - PEOPLE
      - Ana
    """
    return "\n  ".join(line for line in text.splitlines() if line.strip())


CountTokens = Callable[[str], int]
"""Counts the tokens of a text."""


def count_tokens(text: str) -> int:
    """An estimate of the number of tokens, without a tokenizer (B06); it never decreases for a longer text.

    A word of Latin letters counts one for every 6 begun (single spaces are free), a number one for every 3, other
    alphabets one for every 2; ideographs, kana, Hangul, Thai and punctuation one each; emoji two. On LoCoMo's turns
    this is 3.8 characters per token, 11 % above BERT's word pieces, so budgets are not exceeded.
    """
    return sum(-(-len(run) * tokens // per) for runs, tokens, per in _TOKENS for run in runs.findall(text))


# Postgres keeps no NUL; the others are six bytes each in JSON, which would take a text beyond what NATS carries.
# Scripts without spaces between words.
UNSPACED = lazy_compile(r"[\u3040-\u30ff\u3400-\u9fff]")
QUESTION_MARKS = ("?", "？", "؟")
CONTROL = lazy_compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SEPARATORS = lazy_compile(r"[\s_-]+")
# Marks that writers leave out or put in at will, and characters without a shape: format and variation selectors,
# Hebrew points, Arabic vowels and the stretching tatweel. The marks of other scripts (Devanagari vowel signs, Thai
# tones, kana voicing, Thaana) are letters of the word and stay.
_OPTIONAL = lazy_compile(
    "[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
)

# Accents go, except where the marked letter is another letter: й ї ў ѓ ќ (as in Postgres' unaccent.rules, which
# folds ё alone) and hamza on waw, yeh and heh (alef loses it: أحمد is also written احمد).
_ACCENT = lazy_compile(
    "([иИуУ]\u0306|[іІ]\u0308|[гГкК]\u0301|[\u0648\u064a\u06c1\u06d2\u06d5]\u0654)"
    "|[\u0300-\u036f\u0483-\u0487\u0653-\u0655\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)

# Letters that Unicode does not decompose, and quotes and dashes, as in Postgres' contrib/unaccent/unaccent.rules.
_UNACCENTED = (
    str.maketrans("øđðħıĸłŋŧƀɓƈɗɖƒǥɠɨƙƚɲƞƥɍƭʈʉʋƴɏƶȥɛⱥⱦ", "oddhiqlntbbcddfggiklnnprttuvyyzzeat")
    | str.maketrans({"æ": "ae", "œ": "oe", "þ": "th", "ƕ": "hv", "ƣ": "oi", "\u0671": "\u0627"})
    | str.maketrans("‘’‛′ʹʻʼʽ“”‟‐‑‒–—―−", "'" * 8 + '"' * 3 + "-" * 7)
)


def _tidy(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def utf8_size(text: str, field: str) -> int:
    """In bytes; InvalidInput if a surrogate stands alone."""
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        fix = "send well-formed Unicode: a surrogate stands alone, often half of a cut emoji"
        raise InvalidInput("is not encodable as UTF-8", field=field, fix=fix) from None


# Scripts written without spaces between words, so that a word is found only by pieces of a run; Hangul too, whose
# words carry particles: Thai, Lao, Myanmar, Khmer, Hangul, kana, bopomofo and Han.
DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
    "\u3005-\u3007\u3040-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_DENSE_LETTER = lazy_compile(f"[{DENSE}]")

# Postgres indexes no word above 2,046 bytes, at most four a character, and a short word takes twice its bytes.
_MAX_TERM = 500
_MAX_DOCUMENT_BYTES = 512 * 1024

# The maximum length of an indexed word; the rest is ignored.
_ASCII_TERM = lazy_compile(f"([A-Za-z0-9]{{1,{_MAX_TERM}}})[A-Za-z0-9]*")
_CLITIC = lazy_compile(r"\b\w+n't\b|'(?:s|d|m|ll|re|ve)\b")

# Snowball's English list without "will" and "don", which are names.
_SNOWBALL = (
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it"
    " its itself they them their theirs themselves what which who whom this that these those am is are was were be been"
    " being have has had having do does did doing a an the and but if or because as until while of at by for with about"
    " against between into through during before after above below to from up down in out on off over under again"
    " further then once here there when where why how all any both each few more most other some such no nor not only"
    " own same so than too very s t can just should now would could"
)
_STOP_WORDS = frozenset(_SNOWBALL.split())


def _content(text: str, split: Callable[[str], list[str]]) -> list[str]:
    """The terms of a text; stop words only if there are no others."""
    normal = normalize_name(text)
    words = _CLITIC.sub(" ", normal) if "'" in normal else normal
    kept = [term for term in _terms(words, split) if term not in _STOP_WORDS]
    return kept or _terms(normal, split)


def _terms(normal: str, split: Callable[[str], list[str]]) -> list[str]:
    if normal.isascii():
        return _ASCII_TERM.findall(normal)
    terms: list[str] = []
    for kind, run in groupby(normal, _kind):
        if kind == "word":
            terms.append("".join(run)[:_MAX_TERM])
        elif kind == "dense":
            terms += split("".join(run))
    return terms


@lru_cache(maxsize=8192)
def _kind(character: str) -> str:
    """`word`, `dense`, or nothing for what separates words. Marks belong to the word, which `\\w` would cut there."""
    if unicodedata.category(character)[0] not in "LMN":
        return ""
    return "dense" if _DENSE_LETTER.match(character) else "word"


def _sought(run: str) -> list[str]:
    letters = _letters(run)
    return [first + second for first, second in pairwise(letters)] or letters


def _stored(run: str) -> list[str]:
    """Bigrams, and single letters too: a query may be one ideograph."""
    letters = _letters(run)
    return letters + [first + second for first, second in pairwise(letters)]


def _letters(run: str) -> list[str]:
    """Letters with the marks that follow them."""
    letters = [""]
    for character in run:
        if unicodedata.category(character)[0] == "M" and len(letters[-1]) < _MAX_TERM // 2:
            letters[-1] += character
        else:
            letters.append(character)
    return letters if letters[0] else letters[1:]


_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_TOKENS = tuple(
    (lazy_compile(pattern), tokens, per)
    for pattern, tokens, per in (
        (f"[{_LATIN}]+", 1, 6),
        ("[0-9]+", 1, 3),
        (rf"[^\x00-\x7f{_LATIN}{DENSE}\u2000-\u206f\u3000-\u303f\U00010000-\U0010ffff\s]+", 1, 2),
        (rf"[!-/:-@\[-`{{-~]+|[{DENSE}\u2000-\u206f\u3000-\u303f]+", 1, 1),
        ("[\U00010000-\U0001ffff\U00040000-\U0010ffff]+", 2, 1),
        (r"\s\s", 1, 2),
    )
)
