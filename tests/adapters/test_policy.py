"""The policy file: what it says, and that each fault names its line, its path and what to do (B05)."""

from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from mnemolog.adapters.config import load as settings
from mnemolog.adapters.policy import from_dict, load, read
from mnemolog.domain.bands import Bands
from mnemolog.domain.category import Context, ContextMode
from mnemolog.domain.errors import InvalidInput, PolicyRefused
from mnemolog.domain.policy import Policy
from mnemolog.domain.predicates import ObjectKind, Predicate, PredicateClass
from mnemolog.domain.retention import Retention

ENTITY = ObjectKind.ENTITY

OF_THE_SPECIFICATION = """
categories:
  system:
    - name: profile
      context: all
    - name: event
      context: rag
      rag_length: 30
    - name: activity
      context: rag
      rag_length: 50
  custom: []
allowlists:
  supervisor: [profile, goals, preferences, event, activity, relationships, tasks]
  planner:    [goals, tasks, projects]
  stylist:    [preferences, tone, style]
  researcher: [knowledge, interests, history]
  executor:   [tasks, recent_activity, constraints]
"""


def faults(text: str) -> list[tuple[str, str]]:
    with pytest.raises(PolicyRefused) as refused:
        read(text)
    return [(fault.place, fault.message) for fault in refused.value.faults]


@pytest.mark.spec("B05")
def test_the_example_of_the_specification_is_accepted_and_means_what_it_says() -> None:
    policy = read(OF_THE_SPECIFICATION).categories

    assert policy.mode("profile") == ContextMode(Context.ALL)
    assert policy.mode("activity") == ContextMode(Context.RAG, 50)
    assert policy.readable("planner") == frozenset({"goals", "tasks", "projects"})


def test_without_a_file_and_with_an_empty_one_the_built_in_policy_holds() -> None:
    assert load(None) == Policy()
    assert read("").version == Policy().version


def test_a_policy_that_is_written_out_and_read_again_is_the_same() -> None:
    policy = read("categories: {custom: [{name: wines, context: all}]}\nallowlists: {chef: [wines]}")
    told = policy.as_dict()
    del told["unlisted_agents"]

    assert read(yaml.safe_dump(told)).version == policy.version


def test_no_rule_is_lost_when_a_policy_is_written_out() -> None:
    everything = {"single": True, "class": "agent", "critical": True, "object": "entity", "category": "Place"}
    rules = {**everything, "subject": "Person", "timeless": True}
    policy = read(yaml.safe_dump({"predicates": [{"name": "coach", **rules}]}))

    assert policy.predicates.rule("coach") == Predicate(
        "coach", True, PredicateClass.AGENT, True, ENTITY, "Place", "Person", timeless=True
    )
    assert from_dict(policy.as_dict()).predicates == policy.predicates
    assert from_dict(Policy().as_dict()).predicates == Policy().predicates
    less = read(yaml.safe_dump({"predicates": [{"name": "coach", **rules, "timeless": False}]}))
    assert less.version != policy.version


@pytest.mark.spec("B05")
def test_every_error_in_a_file_is_reported_at_once_with_its_line() -> None:
    text = """categories:
  system:
    - name: profile
      context: all
      rag_length: 3
    - name: evnt
  custom:
    - name: recipes
      contxt: all
    - name: goals
    - context: some
allowlists:
  chef:
    - recipes
    - taks
  "": [goals]
  planner: 3
colour: red
"""

    found = [place for place, _ in faults(text)]

    assert found == [
        "policy.yaml:5 categories.system[0].rag_length",
        "policy.yaml:6 categories.system[1].name",
        "policy.yaml:9 categories.custom[0].contxt",
        "policy.yaml:10 categories.custom[1].name",
        "policy.yaml:11 categories.custom[2].name",
        "policy.yaml:11 categories.custom[2].context",
        "policy.yaml:15 allowlists.chef[1]",
        "policy.yaml:16 allowlists..[key]",
        "policy.yaml:17 allowlists.planner",
        "policy.yaml:18 colour",
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: [", "policy.yaml:1", "is not YAML"),
        ("- goals", "policy.yaml:1", "is not a mapping"),
        ("categories: &all\n  system: *all", "policy.yaml:2", "aliases"),
        ("allowlists:\n  a: [goals]\n  a: [tone]", "policy.yaml:3 allowlists.a", "is a duplicate, first in line 2"),
        ("categories:\n  custom: [{name: x}, {name: x}]", "policy.yaml:2 categories.custom[0].name", "is a duplicate"),
        ("allowlists:\n  planner: [no]", "policy.yaml:2 allowlists.planner[0]", "valid string"),
        (
            "categories: {custom: [{name: x, rag_length: 0}]}",
            "policy.yaml:1 categories.custom[0].rag_length",
            "greater",
        ),
    ],
)
def test_a_fault_says_where_and_what(text: str, place: str, message: str) -> None:
    first_place, first_message = faults(text)[0]

    assert first_place == place
    assert message in first_message


@pytest.mark.spec("X13", "B07", "B10")
@pytest.mark.spec_part("B04")
def test_predicates_bands_retention_and_profile_fields_are_read() -> None:
    policy = read("""
predicates:
  - {name: LIVES_IN, single: false}
  - {name: Coach, class: agent, object: entity, category: Person}
bands: {auto: 0.9, check_low: 0.8, fallback_low: 0.7}
retention: {ttl_days: 90, ttl_importance: 0.25}
profile:
  sensitive: [diagnosis]
  benign: [tone]
""")

    assert policy.predicates.rule("lives in").single is False
    assert policy.predicates.rule("coach") == Predicate("coach", False, PredicateClass.AGENT, False, ENTITY, "Person")
    assert policy.predicates.rule("allergy").critical, "built-in ones stay"
    assert policy.bands == Bands(0.9, 0.8, 0.7)
    assert policy.retention == Retention(90, 0.25)
    assert policy.profile.is_sensitive("diagnosis")
    assert policy.profile.is_sensitive("city"), "what B §10 names stays sensitive"
    assert not policy.profile.is_sensitive("tone")
    told = policy.as_dict()
    del told["unlisted_agents"]
    assert read(yaml.safe_dump(told)).version == policy.version


def test_errors_in_predicates_bands_retention_and_profile_have_line_numbers() -> None:
    found = faults("""predicates:
  - {name: LIVES_IN}
  - {name: lives-in}
  - {name: "!!"}
  - {name: x, clas: agent}
bands: {auto: 0.5, check_low: 0.8, fallback_low: 0.7}
retention:
  ttl_days: 0
  ttl_importance: 2.0
profile:
  sensitive: [diagnosis, "Bad Name"]
""")

    assert [place for place, _ in found] == [
        "policy.yaml:2 predicates[0].name",
        "policy.yaml:3 predicates[1].name",
        "policy.yaml:4 predicates[2].name",
        "policy.yaml:5 predicates[3].clas",
        "policy.yaml:6 bands",
        "policy.yaml:8 retention.ttl_days",
        "policy.yaml:9 retention.ttl_importance",
        "policy.yaml:11 profile.sensitive[1]",
    ]


@pytest.mark.spec("B05")
def test_settings_that_moved_into_the_file_are_refused_with_where_they_went() -> None:
    with pytest.raises(InvalidInput) as refused:
        settings(allowlists={"chef": ["goals"]})

    assert (refused.value.field, refused.value.fix) == ("allowlists", "set it in the file named by `policy_file`")


def test_the_settings_name_the_file_and_what_unlisted_agents_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("allowlists: {chef: [goals]}", encoding="utf-8")

    policy = settings(policy_file=file, unlisted_agents="none").policy.categories

    assert policy.readable("chef") == frozenset({"goals"})
    assert policy.readable("planner") == frozenset()


@pytest.mark.parametrize("content", [None, b"\xff\xfe\xff"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "gone.yaml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(PolicyRefused) as refused:
        load(file)

    assert refused.value.field == "gone.yaml"


def test_free_categories_are_read_and_an_allowlist_may_name_one() -> None:
    policy = read("categories:\n  free: true\nallowlists:\n  cook: [recipes]\n").categories

    assert policy.free
    assert policy.allowed("cook", []) == frozenset({"recipes"})
    with pytest.raises(PolicyRefused):
        read("allowlists:\n  cook: [recipes]\n")


def test_pronouns_of_a_language_are_added_to_the_built_in_ones() -> None:
    policy = read("conversation:\n  pronouns:\n    fr: {she: [elle], questions: [où]}\n")

    assert [one.text for one in policy.pronouns.found_in("Où est elle ?").pronouns] == ["elle"]
    assert policy.pronouns.found_in("Where is she?")
    assert read(yaml.safe_dump({"conversation": policy.as_dict()["conversation"]})).version == policy.version
    assert faults("conversation: {pronouns: {fr: {she: ['']}}}")
