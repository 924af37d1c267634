"""Where something known comes from, and what may be done with what came from outside (X21)."""

import json
import unicodedata
from enum import StrEnum

from mnemolog.domain.errors import UntrustedOrigin
from mnemolog.domain.turn import Role


class Origin(StrEnum):
    """Where something known comes from, the most trusted first.

    `user`: what the user said, or somebody wrote in the user's or an operator's name. `agent`: what an agent concluded.
    The others are from outside.
    """

    USER = "user"
    AGENT = "agent"
    DOCUMENT = "document"
    TOOL = "tool"
    OTHER_AGENT = "other_agent"
    IMPORT = "import"

    @property
    def external(self) -> bool:
        """Whether it came from outside: it may have been written by anybody."""
        return self not in (Origin.USER, Origin.AGENT)

    @property
    def label(self) -> str:
        """How a search and a context mark it; "" for what is not from outside."""
        return _LABELS.get(self, "")

    @classmethod
    def of_role(cls, role: Role | None) -> "Origin":
        """The origin of a message, or of what its speaker said."""
        return _BY_ROLE.get(role, Origin.USER) if role else Origin.USER


EXTERNAL = frozenset(one for one in Origin if one.external)
TRUSTED = frozenset(Origin) - EXTERNAL


def lowest(first: Origin, *others: Origin) -> Origin:
    """The least trusted: that of a conclusion from all of these."""
    return max((first, *others), key=_ORDER.index)


def restated(before: Origin, now: Origin) -> Origin:
    """The origin of something that is stated again: only the user's word raises it."""
    return now if now is Origin.USER else lowest(before, now)


def require_inside(origin: Origin, what: str, field: str) -> None:
    """Refuse something from outside."""
    if origin.external:
        raise UntrustedOrigin(
            f"what comes {origin.label} cannot {what}",
            field=field,
            fix="let the user or an operator write it, or confirm it",
        )


def quoted(text: str) -> str:
    """A text from outside as one line in double quotes, so that nothing in it reads as a part of a prompt.

    It is a JSON string: quotes, line breaks, and characters that are invisible or change the direction are escaped.
    """
    line = json.dumps(text, ensure_ascii=False)
    return "".join(json.dumps(one)[1:-1] if unicodedata.category(one) in _INVISIBLE else one for one in line)


def told(text: str, origin: Origin) -> str:
    """A text in a prompt, quoted if it comes from outside."""
    return f"(from outside, {origin.label}) {quoted(text)}" if origin.external else text


_ORDER = tuple(Origin)
_BY_ROLE = {Role.ASSISTANT: Origin.AGENT, Role.SYSTEM: Origin.AGENT, Role.TOOL: Origin.TOOL}
_LABELS = {
    Origin.DOCUMENT: "from a document",
    Origin.TOOL: "from tool output",
    Origin.OTHER_AGENT: "from another agent",
    Origin.IMPORT: "from an import",
}
# Controls, formats such as bidirectional marks, and the separators of lines and paragraphs.
_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp"})
