"""The bullets of an answer, and without the day that each one ends with."""

import re

from mnemolog.projections.context import AgentContext
from mnemolog.projections.prompt_text import Shown, is_outside, line_of

_BULLET = re.compile(r"(.*) \(\d{4}-\d\d-\d\d(?:; ([^()]*))?\)", re.DOTALL)


def undated(bullet: str) -> str:
    """The text of a bullet, which must say when it was said."""
    found = _BULLET.fullmatch(bullet)
    assert found, f"{bullet!r} has no day"
    return found[1]


def bullets_of(context: AgentContext) -> list[str]:
    """What a context shows, in its order; what comes from outside is last."""
    rest: list[Shown] = [*context.conversation, *context.recent, *context.known, *context.rows]
    first: list[Shown] = [*context.critical, *context.entities, *context.cards]
    return list(map(line_of, [*first, *sorted(rest, key=is_outside)]))
