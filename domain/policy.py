"""The policy: rules configured by the operator, and the version recorded in each event (X04)."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from mnemolog.domain.bands import Bands
from mnemolog.domain.category import SYSTEM_CATEGORIES, CategoryPolicy
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.gate import Gate
from mnemolog.domain.minds.mind import MindPolicy
from mnemolog.domain.predicates import Predicate, PredicatePolicy
from mnemolog.domain.profile import ProfilePolicy
from mnemolog.domain.pronouns import Pronouns
from mnemolog.domain.retention import Retention
from mnemolog.domain.segmentation import SegmentationPolicy

VERSION_LENGTH = 16


@dataclass(frozen=True)
class Policy:
    """`bands` None: those of the embedding model's calibration.

    Equivalent policies have the same version, however their files are written.
    """

    categories: CategoryPolicy = field(default_factory=CategoryPolicy)
    predicates: PredicatePolicy = field(default_factory=PredicatePolicy)
    bands: Bands | None = None
    retention: Retention = field(default_factory=Retention)
    profile: ProfilePolicy = field(default_factory=ProfilePolicy)
    segmentation: SegmentationPolicy = field(default_factory=SegmentationPolicy)
    pronouns: Pronouns = field(default_factory=Pronouns)
    gate: Gate = field(default_factory=Gate)
    extraction: ExtractionPolicy = field(default_factory=ExtractionPolicy)
    minds: MindPolicy = field(default_factory=MindPolicy)

    @cached_property
    def text(self) -> str:
        """The whole policy as one line of canonical JSON, from which the version is computed."""
        return json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def version(self) -> str:
        return version_of(self.text)

    def as_dict(self) -> dict[str, Any]:
        """The policy in the format of its file, with the setting `unlisted_agents`."""
        bands = {"bands": asdict(self.bands)} if self.bands else {}
        pronouns = {"pronouns": own} if (own := self.pronouns.as_dict()) else {}
        # These came later: the built-in policy keeps its version.
        extraction = {} if self.extraction == ExtractionPolicy() else {"extraction": asdict(self.extraction)}
        minds = {} if self.minds == MindPolicy() else {"minds": asdict(self.minds)}
        predicates = (_predicate(name, rule) for name, rule in sorted(self.predicates.predicates.items()))
        return {
            **_categories(self.categories),
            "predicates": list(predicates),
            **bands,
            "retention": asdict(self.retention),
            "profile": {"sensitive": sorted(self.profile.sensitive), "benign": sorted(self.profile.benign)},
            "conversation": {**self.segmentation.as_dict(), **pronouns},
            "gate": self.gate.as_dict(),
            **extraction,
            **minds,
            "unlisted_agents": self.categories.unlisted,
        }


def version_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:VERSION_LENGTH]


def _categories(policy: CategoryPolicy) -> dict[str, Any]:
    return {
        "categories": {
            "system": _modes(policy, policy.categories & SYSTEM_CATEGORIES),
            "custom": _modes(policy, policy.categories - SYSTEM_CATEGORIES),
            **({"free": True} if policy.free else {}),
        },
        "allowlists": {agent: sorted(names) for agent, names in sorted(policy.allowlists.items())},
    }


def _modes(policy: CategoryPolicy, names: Iterable[str]) -> list[dict[str, Any]]:
    return [_mode(policy, name) for name in sorted(names)]


def _mode(policy: CategoryPolicy, name: str) -> dict[str, Any]:
    mode = policy.mode(name)
    length = {"rag_length": mode.rag_length} if mode.context == "rag" else {}
    return {"name": name, "context": mode.context.value, **length}


def _predicate(name: str, rule: Predicate) -> dict[str, Any]:
    return {
        "name": name,
        "single": rule.single,
        "class": rule.group.value,
        "critical": rule.critical,
        "object": rule.object.value if rule.object else None,
        "category": rule.category,
        "subject": rule.subject,
        "timeless": rule.timeless,
    }
