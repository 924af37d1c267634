"""The profile of a user: its fields, and which of them need consent (B §10)."""

from collections.abc import Iterable
from dataclasses import dataclass

from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.domain.lazy_regex import lazy_compile
from mnemolog.domain.text import normalize_name

CATEGORY = "profile"
SENSITIVE = frozenset({"preferred_name", "pronouns", "city", "language"})
BENIGN = frozenset({"tone", "goals_add"})
SEEDED = "seeded_profile"  # D §Metadata: the source of the initial profile.
ADDING = "_add"
# A field name is part of tags and key scopes, so it contains no separators.
_NAME = lazy_compile(r"[a-z0-9_]{1,64}")

# The values of a field: one, or several if values are added; empty if unset.
Values = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfilePolicy:
    """The configured fields. The sensitive ones of B §10 are always sensitive."""

    sensitive: frozenset[str] = SENSITIVE
    benign: frozenset[str] = BENIGN

    def __post_init__(self) -> None:
        for kind, names in (("sensitive", self.sensitive), ("benign", self.benign)):
            if wrong := sorted(name for name in names if not _NAME.fullmatch(name)):
                raise InvalidInput(
                    f"{wrong[0]!r:.80} is not a valid field name",
                    field=f"profile.{kind}",
                    fix="use 1 to 64 of the characters a-z 0-9 _",
                )

    def is_sensitive(self, field: str) -> bool:
        """Whether a field needs consent; raises InvalidInput for an unknown field."""
        if always_sensitive(field) or place_of(field) in map(place_of, self.sensitive):
            return True
        if field not in self.benign:
            known = ", ".join(sorted(SENSITIVE | self.sensitive | self.benign))
            raise InvalidInput(
                f"there is no profile field {field!r:.80}",
                field="field",
                fix=f"use one of {known}, or add it to the policy",
            )
        return False


DEFAULT_PROFILE = ProfilePolicy()


def no_such_field(user_id: str, field: str) -> NotFound:
    what = f"nothing was ever proposed or set for the profile field {field!r:.80} of user {user_id!r}"
    return NotFound(what, field="field", fix="look it up with `mnemolog profile get`")


def always_sensitive(field: str) -> bool:
    """Whether B §10 lists the field, or the field that it adds to."""
    return place_of(field) in SENSITIVE


def place_of(field: str) -> str:
    """The field that is changed: `goals_add` adds to `goals`; every other field is set itself."""
    return field.removesuffix(ADDING) or field


def adds(field: str) -> bool:
    return place_of(field) != field


def after(held: Values, field: str, value: str) -> Values:
    if not adds(field):
        return (value,)
    return held if has(held, value) else (*held, value)


def has(held: Iterable[str], value: str) -> bool:
    """Whether a value is among others, compared after normalization."""
    return any(same(one, value) for one in held)


def same(one: str, other: str) -> bool:
    """Whether two values are the same after normalization."""
    return one == other or (normalize_name(one) != "" and normalize_name(one) == normalize_name(other))
