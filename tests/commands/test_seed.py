"""A seed is given once under its name, and its content is not kept a second time."""

from typing import Any
from uuid import UUID

import pytest

from mnemolog.commands.seed import SEED, Seed, SeedUser, seed_of
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput
from mnemolog.events.erasure import UserErased
from mnemolog.events.fields import validated
from mnemolog.events.profile import UserSeeded
from tests.testkit.decider import given

pytestmark = pytest.mark.spec("D14")

FIRST, SECOND = UUID(int=1), UUID(int=2)
CONTENT = {"profile": {"tone": "brief", "goals_add": ["run", "read"]}, "memories": [{"text": "Ana drinks tea"}]}


def give(seed: UUID = FIRST, **content: Any) -> SeedUser:
    return SeedUser(user_id="ana", seed=seed, content=validated(Seed, {**CONTENT, **content}))


def test_a_seed_is_noted_by_what_it_has_and_never_by_what_that_says() -> None:
    [noted] = given(SEED).when(give()).events()
    assert isinstance(noted, UserSeeded)
    assert (noted.source, noted.fields, noted.memories) == ("seeded_profile", ("goals_add", "tone"), 1)
    assert not any(word in noted.model_dump_json() for word in ("brief", "run", "tea"))


def test_the_same_seed_again_is_the_first_one() -> None:
    story = given(SEED).after(give())
    story.when(give(SECOND)).then_nothing()
    assert seed_of(story.state, give(SECOND)) == FIRST


def test_a_seed_is_the_same_in_whatever_order_it_is_written() -> None:
    turned = {name: CONTENT[name] for name in reversed(CONTENT)}
    assert validated(Seed, turned).name == validated(Seed, CONTENT).name
    assert validated(Seed, {**CONTENT, "consent": True}).name != validated(Seed, CONTENT).name


def test_a_name_stands_for_one_content() -> None:
    story = given(SEED).after(give(seed_id="onboarding"))
    story.when(give(SECOND, seed_id="onboarding")).then_nothing()
    story.when(give(SECOND, seed_id="onboarding", memories=[])).then_refused(IdempotencyConflict, "content.seed_id")
    assert story.when(give(SECOND, seed_id="another")).events()


def test_an_erased_user_can_be_seeded_again() -> None:
    assert given(SEED).after(give()).and_then(UserErased()).when(give(SECOND)).events()


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"profile": {"tone": 7}}, "profile.tone"),
        ({"profile": {"tone": ["brief", " "]}}, "profile.tone[1]"),
        ({"consent": "yes"}, "consent"),
        ({"memories": "tea"}, "memories"),
    ],
)
def test_a_fault_is_named(content: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        validated(Seed, {**CONTENT, **content})
    assert caught.value.field == field
