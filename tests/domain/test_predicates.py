"""What is configured of predicates, by whatever spelling; what is not, is multi-valued and of the identity class."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.predicates import (
    DEFAULT_PREDICATES,
    ObjectKind,
    Predicate,
    PredicateClass,
    PredicatePolicy,
    predicate_name,
)


@pytest.mark.spec("A09")
def test_a_predicate_is_found_by_any_spelling_and_the_unknown_is_open() -> None:
    assert DEFAULT_PREDICATES.rule("Lives in").single
    assert DEFAULT_PREDICATES.rule("ALLERGY").critical
    assert not DEFAULT_PREDICATES.rule("ALLERGY").single
    assert DEFAULT_PREDICATES.rule("Diet-Plan").group is PredicateClass.AGENT
    assert DEFAULT_PREDICATES.rule("Likes tea") == Predicate("likes_tea")


@pytest.mark.spec("A09")
@pytest.mark.parametrize("text", ["a" * 65, "a" + "*" * 64])
def test_a_predicate_is_measured_as_it_was_written(text: str) -> None:
    with pytest.raises(InvalidInput, match="has 65 characters"):
        predicate_name(text)


def test_configuration_takes_precedence_over_built_in_values() -> None:
    policy = PredicatePolicy.of([Predicate("LIVES-IN", object=ObjectKind.LITERAL)])

    assert not policy.rule("lives_in").single
    assert policy.rule("works_at").single
