"""The policy file: YAML, validated completely at start; each fault has a line, a path and a fix (B §5)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)
from pydantic import model_validator as whole
from pydantic_core import PydanticCustomError

from mnemolog.adapters.yaml_tree import tree
from mnemolog.domain.bands import Bands
from mnemolog.domain.category import (
    DEFAULT_ALLOWLISTS,
    DEFAULT_MODES,
    SYSTEM_CATEGORIES,
    CategoryPolicy,
    Context,
    ContextMode,
    Unlisted,
)
from mnemolog.domain.entity import THING
from mnemolog.domain.errors import InvalidInput, PolicyFault, PolicyRefused
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.gate import DEFAULT_SIGNALS, Gate, Signals
from mnemolog.domain.minds.mind import MindPolicy
from mnemolog.domain.policy import Policy
from mnemolog.domain.predicates import ObjectKind, Predicate, PredicateClass, PredicatePolicy, predicate_name
from mnemolog.domain.profile import BENIGN, SENSITIVE, ProfilePolicy
from mnemolog.domain.pronouns import DEFAULT_FORMS, Forms, Pronouns
from mnemolog.domain.retention import Retention
from mnemolog.domain.segmentation import SegmentationPolicy
from mnemolog.domain.topic_markers import DEFAULT_PHRASES, Phrases, TopicMarkers
from mnemolog.events.fields import REFUSED, Flag, Id, Unit, fault_of

MAX_RAG_LENGTH = 1000


def load(file: Path | None, unlisted: Unlisted = "all") -> Policy:
    """The policy of a file, or the built-in one; PolicyRefused lists every error in the file."""
    if file is None:
        return Policy(CategoryPolicy(unlisted=unlisted))
    path = file.expanduser()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = "is not UTF-8" if isinstance(error, ValueError) else f"cannot be read: {error.strerror}"
        raise PolicyRefused([PolicyFault(path.name, 0, "", reason, "correct the setting policy_file")]) from error
    return read(text, path.name, unlisted)


def from_dict(content: Mapping[str, Any]) -> Policy:
    """The policy whose `as_dict` this is."""
    parts = {name: part for name, part in content.items() if name != "unlisted_agents"}
    return PolicyFile.model_validate(parts, context=_declared_in(parts)).policy(content["unlisted_agents"])


def read(text: str, name: str = "policy.yaml", unlisted: Unlisted = "all") -> Policy:
    """The policy in a file's text; errors refer to the file as `name`."""
    found = tree(text, name)
    try:
        file = PolicyFile.model_validate(found.data, context=_declared_in(found.data))
    except ValidationError as error:
        faults = [*found.faults, *(found.fault(one["loc"], *fault_of(one, PolicyFile)) for one in error.errors())]
        raise PolicyRefused(sorted(faults, key=lambda fault: fault.line)) from error
    if found.faults:
        raise PolicyRefused(found.faults)
    return file.policy(unlisted)


@dataclass(frozen=True, slots=True)
class Declared:
    """The names that a file defines, valid or not, so that an invalid one is reported only once, at its definition."""

    categories: Counter[str]
    predicates: Counter[str]
    free: bool = False


def _declared(info: ValidationInfo) -> Declared:
    assert isinstance(info.context, Declared)
    return info.context


def _one_category(name: str, info: ValidationInfo) -> str:
    return _once(name, _declared(info).categories)


def _one_predicate(name: str, info: ValidationInfo) -> str:
    return _once(predicate_name(name), _declared(info).predicates)


def _once(name: str, declared: Counter[str]) -> str:
    if declared[name] > 1:
        raise _refused(f"{name!r} is a duplicate", "remove one of the two")
    return name


def _built_in(name: str) -> str:
    if name not in SYSTEM_CATEGORIES:
        raise _refused(f"{name!r} is not a built-in category", "declare it under categories.custom")
    return name


def _own(name: str) -> str:
    if name in SYSTEM_CATEGORIES:
        raise _refused(f"{name!r} is a built-in category", "name it under categories.system")
    return name


def _known(name: str, info: ValidationInfo) -> str:
    known = SYSTEM_CATEGORIES | _declared(info).categories.keys()
    if name not in known and not _declared(info).free:
        raise _refused(f"there is no category {name!r}", f"use one of {', '.join(sorted(known))}, or declare it")
    return name


def _only_with_rag(length: int, info: ValidationInfo) -> int:
    if info.data.get("context") is Context.ALL:
        raise _refused("belongs to context: rag", "leave it out, or write context: rag")
    return length


def _ruled(rule: Callable[[str], object]) -> AfterValidator:
    """A text that a rule of the domain may refuse with InvalidInput."""

    def check(value: str) -> str:
        _translating(lambda: rule(value))
        return value

    return AfterValidator(check)


def _translating(rule: Callable[[], object]) -> None:
    try:
        rule()
    except InvalidInput as error:
        raise _refused(error.message, error.fix) from error


def _refused(message: str, fix: str) -> PydanticCustomError:
    return PydanticCustomError(REFUSED, "{message}", {"message": message, "fix": fix})


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Category(_Part):
    """A category, and how it enters the context."""

    name: Annotated[Id, AfterValidator(_one_category)]
    context: Context = Context.RAG
    rag_length: Annotated[int, Strict(), Field(ge=1, le=MAX_RAG_LENGTH), AfterValidator(_only_with_rag)] = (
        ContextMode().rag_length
    )

    @property
    def mode(self) -> ContextMode:
        return ContextMode(self.context, self.rag_length)


class SystemCategory(Category):
    """A built-in category, to configure how it enters the context."""

    name: Annotated[Id, AfterValidator(_built_in), AfterValidator(_one_category)]


class CustomCategory(Category):
    """A custom category."""

    name: Annotated[Id, AfterValidator(_own), AfterValidator(_one_category)]


class Categories(_Part):
    """Built-in categories always exist. If they are `free`, any other may be used, too."""

    system: tuple[SystemCategory, ...] = ()
    custom: tuple[CustomCategory, ...] = ()
    free: Flag = False


class PredicateEntry(_Part):
    """The configuration of one predicate (A §4.2)."""

    name: Annotated[str, Strict(), _ruled(predicate_name), AfterValidator(_one_predicate)]
    single: Flag = False
    group: PredicateClass = Field(PredicateClass.IDENTITY, alias="class")
    critical: Flag = False
    object: ObjectKind | None = None
    category: Id = THING
    subject: Id = THING
    timeless: Flag = False


class BandsEntry(_Part):
    """Where the merge bands begin; by default, where the embedding model's calibration says."""

    auto: float
    check_low: float
    fallback_low: float

    @whole(mode="after")
    def _rising(self) -> Self:
        _translating(lambda: Bands(**self.model_dump()))
        return self


class RetentionEntry(_Part):
    """When memories that nobody uses fade (B §7), and how long messages are kept."""

    ttl_days: Annotated[int, Strict(), Field(ge=1)] = Retention().ttl_days
    ttl_importance: Unit = Retention().ttl_importance
    message_days: Annotated[int, Strict(), Field(ge=1)] | None = Retention().message_days


ProfileField = Annotated[str, Strict(), _ruled(lambda name: ProfilePolicy(benign=frozenset({name})))]


class ProfileEntry(_Part):
    """Fields that need consent, in addition to those of B §10, which always do; and fields that do not."""

    sensitive: tuple[ProfileField, ...] = ()
    benign: tuple[ProfileField, ...] = tuple(sorted(BENIGN))

    @property
    def policy(self) -> ProfilePolicy:
        return ProfilePolicy(SENSITIVE | set(self.sensitive), frozenset(self.benign))


Words = tuple[Annotated[str, Strict(), StringConstraints(min_length=1, max_length=100)], ...]
Phrase = Annotated[str, Strict()]


class PhrasesEntry(_Part):
    """Phrases of one language that announce another topic."""

    change: tuple[Phrase, ...] = ()
    aside: tuple[Phrase, ...] = ()


class FormsEntry(_Part):
    """The pronouns of one language, and how its elliptic questions begin and end."""

    he: Words = ()
    she: Words = ()
    someone: Words = ()
    they: Words = ()
    it: Words = ()
    there: Words = ()
    questions: Words = ()
    openings: Words = ()
    endings: Words = ()
    not_there: Words = ()


class ConversationEntry(_Part):
    """Where threads are divided into sessions and episodes (D07, E02), and what refers to what was said (A12)."""

    session_minutes: Annotated[float, Field(ge=1, allow_inf_nan=False)] = SegmentationPolicy().session_minutes
    gap_hours: Annotated[float, Field(ge=1, allow_inf_nan=False)] = SegmentationPolicy().gap_hours
    carry_over_minutes: Annotated[float, Field(ge=0, allow_inf_nan=False)] = SegmentationPolicy().carry_over_minutes
    topic_similarity: Annotated[float, Field(ge=-1, le=1)] | None = None
    markers: dict[Id, PhrasesEntry] | None = None
    pronouns: dict[Id, FormsEntry] = {}

    @whole(mode="after")
    def _ruled(self) -> Self:
        _translating(lambda: self.policy)
        return self

    @property
    def policy(self) -> SegmentationPolicy:
        """The languages that the file names replace the built-in ones of the same name; the others stay."""
        own = {language: Phrases(one.change, one.aside) for language, one in (self.markers or {}).items()}
        return SegmentationPolicy(
            **self.model_dump(exclude={"markers", "pronouns"}), markers=TopicMarkers({**DEFAULT_PHRASES, **own})
        )

    @property
    def forms(self) -> Pronouns:
        own = {language: Forms(**one.model_dump()) for language, one in self.pronouns.items()}
        return Pronouns({**DEFAULT_FORMS, **own})


class SignalsEntry(_Part):
    """Phrases of one language for which episodes and knowledge are searched (A13)."""

    continuity: tuple[Phrase, ...] = ()
    progress: tuple[Phrase, ...] = ()
    reflection: tuple[Phrase, ...] = ()
    logging: tuple[Phrase, ...] = ()
    asking: tuple[Phrase, ...] = ()

    @whole(mode="after")
    def _ruled(self) -> Self:
        _translating(lambda: Gate({"here": Signals(**self.model_dump())}))
        return self


class ExtractionEntry(_Part):
    """How much is extracted from what users say in a day, and from which length a model reads a message (B13)."""

    writes_per_day: Annotated[int, Strict(), Field(ge=0)] = ExtractionPolicy().writes_per_day
    long_message: Annotated[int, Strict(), Field(ge=1)] = ExtractionPolicy().long_message


class MindsEntry(_Part):
    """When the slow brain reflects, and which memories are unsure (A17)."""

    quiet_minutes: Annotated[float, Field(ge=1, le=1440)] = MindPolicy().quiet_minutes
    batch: Annotated[int, Strict(), Field(ge=2)] = MindPolicy().batch
    unsure: Unit = MindPolicy().unsure


class PolicyFile(_Part):
    """The content of a policy file. Omitted parts have their built-in values."""

    categories: Categories = Categories()
    allowlists: dict[Id, tuple[Annotated[str, Strict(), AfterValidator(_known)], ...]] | None = None
    predicates: tuple[PredicateEntry, ...] = ()
    bands: BandsEntry | None = None
    retention: RetentionEntry = RetentionEntry()
    profile: ProfileEntry = ProfileEntry()
    conversation: ConversationEntry = ConversationEntry()
    gate: dict[Id, SignalsEntry] = {}
    extraction: ExtractionEntry = ExtractionEntry()
    minds: MindsEntry = MindsEntry()

    def policy(self, unlisted: Unlisted) -> Policy:
        named = {one.name: one.mode for one in (*self.categories.system, *self.categories.custom)}
        return Policy(
            CategoryPolicy(
                SYSTEM_CATEGORIES.union(named),
                self._readable,
                {**DEFAULT_MODES, **named},
                unlisted,
                free=self.categories.free,
            ),
            PredicatePolicy.of([Predicate(**one.model_dump()) for one in self.predicates]),
            Bands(**self.bands.model_dump()) if self.bands else None,
            Retention(**self.retention.model_dump()),
            self.profile.policy,
            self.conversation.policy,
            self.conversation.forms,
            Gate({**DEFAULT_SIGNALS, **{language: Signals(**one.model_dump()) for language, one in self.gate.items()}}),
            ExtractionPolicy(**self.extraction.model_dump()),
            MindPolicy(**self.minds.model_dump()),
        )

    @property
    def _readable(self) -> Mapping[str, frozenset[str]]:
        if self.allowlists is None:
            return DEFAULT_ALLOWLISTS
        return {agent: frozenset(names) for agent, names in self.allowlists.items()}


def _declared_in(data: Mapping[str, Any]) -> Declared:
    categories = data.get("categories")
    sections = categories if isinstance(categories, dict) else {}
    named = [name for section in ("system", "custom") for name in _names(sections.get(section))]
    predicates = Counter(map(_spelt, _names(data.get("predicates"))))
    return Declared(Counter(named), predicates, free=sections.get("free") is True)


def _names(entries: object) -> Iterator[str]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            yield entry["name"]


def _spelt(name: str) -> str:
    try:
        return predicate_name(name)
    except InvalidInput:
        return name
