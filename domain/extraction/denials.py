"""What a sentence says that never was so: "I never lived in Bath", "I never said I was vegan"."""

import re

from mnemolog.domain.lazy_regex import lazy_compile

_HAVE = {
    "been": "I'm",
    "had": "I have",
    "lived": "I live",
    "worked": "I work",
    "owned": "I own",
    "liked": "I like",
    "loved": "I love",
    "hated": "I hate",
    "studied": "I study",
    "driven": "I drive",
    "drove": "I drive",
    "taken": "I take",
    "took": "I take",
    "spoken": "I speak",
    "spoke": "I speak",
    "moved": "I moved",
}
"""What somebody has never done, as they would state it."""
_NEVER = rf"(?:i|we)(?: (?:was|were) never| never (?:was|were)|(?:'ve| have)? never (?:actually |really )?(?P<verb>{'|'.join(_HAVE)}))"
# Not "I never told you that I moved": who says so has not told it yet.
_NEVER_SAID = r"i(?:(?:'ve| have)? never| did(?:n't| not)) (?:actually |ever )?(?:said|say|claimed|claim)(?: that)?"
_TO_ITS_END = r"[^,;.!]+?(?=$|[,;.!]| (?:and|but|because) (?:i|we|my|our)\b)"
_DENIAL = lazy_compile(
    rf"(?:^|[,;] (?:(?:and|but|because|since) )?| (?:and|but|because|since) )(?:{_NEVER_SAID} (?P<said>(?:i|we)\b{_TO_ITS_END})|{_NEVER} (?P<what>{_TO_ITS_END}))",
    re.IGNORECASE,
)
# "I don't live in Bath, I never did" denies nothing else.
# "Never lived in Bath", of oneself.
_ELLIPSIS = lazy_compile(rf"^(?=never (?:actually |really |ever )?(?:{'|'.join(_HAVE)})\b)", re.IGNORECASE)
_MORE = lazy_compile(
    rf"^((?:i|we|i'm|we're) [^,;]{{2,60}}[,;] )(?=never (?:actually |really |ever )?(?:{'|'.join(_HAVE)})\b)",
    re.IGNORECASE,
)
_TAG = lazy_compile(r",? (?:and |but )?(?:i|we) never (?:did|was|were|have)(?=\W*$)", re.IGNORECASE)
_PAST = lazy_compile(
    rf"^(?:i|we) (?:(?P<be>was|were)|(?:used to )?(?P<verb>{'|'.join(_HAVE)}|live|work))\b", re.IGNORECASE
)
# Never in such a way, or for so long.
_QUALIFIED = lazy_compile(
    r"\b(?:long|much|alone|before|until|till|since|when|while|again|permanently|properly|full[- ]time|part[- ]time|together|there|more"
    r"|(?:for|with) (?!(?-i:[A-Z]))|(?<!work )(?<!worked )as )\b",
    re.IGNORECASE,
)


def denials(sentence: str) -> tuple[str, tuple[str, ...]]:
    """A sentence without what it says that never was so, and that as it would be stated.

    >>> denials("I don't live in Bath, I never did.")
    ("I don't live in Bath.", ())

    >>> denials("I'm not vegan, I never said I was vegan.")
    ("I'm not vegan.", ("I'm vegan",))
    >>> denials("I've never lived in Bath")
    ('', ('I live in Bath',))
    >>> denials("I never lived in Bath for long")
    ('I never lived in Bath for long', ())
    """
    found: list[str] = []
    if "never" in sentence.lower():
        sentence = _MORE.sub(r"\1I ", _ELLIPSIS.sub("I ", sentence))

    def taken_out(one: re.Match[str]) -> str:
        if _QUALIFIED.search(one[0]):
            return one[0]
        found.append(_stated(one))
        return ""

    return _TAG.sub("", _DENIAL.sub(taken_out, sentence)).strip(" ,;"), tuple(found)


def _stated(found: re.Match[str]) -> str:
    if found["what"]:
        return f"{_HAVE[found['verb'].lower()] if found['verb'] else _HAVE['been']} {found['what']}"
    said = _PAST.match(found["said"])
    if not said:
        return found["said"]
    verb = (said["verb"] or "").lower()
    return f"{_HAVE['been'] if said['be'] else _HAVE.get(verb, f'I {verb}')}{found['said'][said.end() :]}"
