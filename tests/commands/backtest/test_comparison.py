"""What another policy would decide over a recorded life, and what readers would see (X06)."""

from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

from mnemolog.commands.backtest.comparison import Comparison
from mnemolog.commands.backtest.memories import MOST_COMPARED
from mnemolog.commands.memories import SoftDeleteMemory, UndoChange, UpdateMemory
from mnemolog.commands.profile import DecidePatch
from mnemolog.domain.bands import Bands
from mnemolog.domain.category import SYSTEM_CATEGORIES, CategoryPolicy, Context, ContextMode
from mnemolog.domain.consent import QUEUED_FOR, PatchStatus
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.minds.mind import MindPolicy
from mnemolog.domain.policy import Policy
from mnemolog.domain.predicates import Predicate, PredicateClass, PredicatePolicy
from mnemolog.domain.profile import BENIGN, SENSITIVE, ProfilePolicy
from mnemolog.domain.pronouns import Forms, Pronouns
from mnemolog.domain.segmentation import SegmentationPolicy
from tests.commands.backtest.life import Life
from tests.testkit.calls import calls

BUILT_IN = Policy()
APART = replace(BUILT_IN, bands=Bands(1.0, 1.0, 1.0))
RENT = "Ana pays rent for her flat in Lisbon"
NEAR = "Ana pays rent for her flat in Lisbon near the river"


def decided(done: Comparison, kind: str) -> list[tuple[str, str, str]]:
    return [(one.text, one.now, one.then) for one in done.differences if one.decision == kind]


def seen(done: Comparison, *kinds: str) -> list[tuple[str, str, str]]:
    return [(one.text, one.now, one.then) for one in done.shadow if one.kind in kinds]


def with_categories(**fields: Any) -> Policy:
    return replace(BUILT_IN, categories=CategoryPolicy(**fields))


def test_an_allowlist_shows_a_memory_to_an_agent_or_hides_it() -> None:
    life = Life()
    life.tells(text="Ana likes rye bread", category="preferences")
    life.tells(text="Ana trains for a marathon", category="goals")
    life.tells(text="Only the coach knows", category="goals", agent_id="coach", scope="agent")

    listed = life.compared(with_categories(allowlists={"planner": frozenset({"preferences"})}))
    none = life.compared(with_categories(unlisted="none"))

    of_planner = [one for one in decided(listed, "allowlist") if "planner" in one[1]]
    assert of_planner == [
        ("Ana likes rye bread", "hidden from planner", "seen by planner"),
        ("Ana trains for a marathon", "seen by planner", "hidden from planner"),
    ]
    assert ("Only the coach knows", "seen by coach", "hidden from coach") in decided(none, "allowlist")
    assert listed.shadow == none.shadow == []


def test_a_context_takes_a_category_whole_or_the_best_of_it() -> None:
    life = Life()
    for city in ("Lisbon", "Porto", "Faro"):
        life.tells(text=f"Ana was in {city}", category="event")
    life.tells(text="Ana likes rye bread", category="preferences")

    whole = life.compared(with_categories(modes={"preferences": ContextMode(Context.ALL)}))
    two = life.compared(with_categories(modes={"event": ContextMode(Context.RAG, 2)}))

    assert decided(whole, "context") == [("Ana likes rye bread", "if it matches", "always")]
    assert {one[1:] for one in decided(two, "context")} == {("if it matches", "if it is among the best 2")}
    assert len(decided(two, "context")) == 3


def test_threads_are_divided_again() -> None:
    life = Life()
    first = life.says("I moved to Lisbon", "t1")
    life.waits(minutes=40)
    life.says("The flat is near the river", "t2")
    life.waits(hours=9)
    life.says("Good morning", "t3")
    life.waits(minutes=5)

    done = life.compared(replace(BUILT_IN, segmentation=SegmentationPolicy(session_minutes=60, gap_hours=12)))
    again = life.compared(replace(BUILT_IN, segmentation=SegmentationPolicy(session_minutes=31)))

    assert decided(done, "session") == [("The flat is near the river", "begins", "continues")]
    assert decided(done, "episode") == [("Good morning", "begins time_gap", "continues")]
    assert ("Good morning", "from t3, open", "not there") in seen(done, "episode")
    assert (("I moved to Lisbon", f"from {first} to t2", f"from {first}, open")) in seen(done, "episode")
    assert (decided(again, "session"), seen(again, "session", "episode")) == ([], [])


def test_messages_of_another_topic_begin_an_episode_by_their_kept_vectors() -> None:
    life, rent, tea = Life(), "The rent of my flat in Lisbon is due", "Green tea with ginger for breakfast"
    for text in (f"{rent} now", f"{rent} soon", f"{rent} today", f"{tea} now", f"{tea} again"):
        life.says(text)
    other = replace(BUILT_IN, segmentation=SegmentationPolicy(topic_similarity=-1.0))

    done, blind = life.compared(other), life.compared(other, keeps=lambda text: False)

    assert decided(done, "episode") == [(f"{tea} now", "begins topic_shift", "continues")]
    assert (decided(blind, "episode"), blind.unread["topic"]) == ([], 5)


def test_pronouns_that_another_policy_looks_up() -> None:
    life = Life()
    life.says("Où habite-t-il ? Est-ce que son frère est là")
    french = Forms(he=("il",), someone=("son",), there=("là",), questions=("où", "est-ce", "que", "est"))

    done = life.compared(replace(BUILT_IN, pronouns=Pronouns({**BUILT_IN.pronouns.forms, "fr": french})))

    [(_, now, then)] = decided(done, "pronoun")
    assert now == "nothing"
    assert then == "il (he), son (someone), là (there)"


def test_what_is_extracted_waits_for_another_day_beyond_the_limit() -> None:
    life = Life()
    for number in range(3):
        life.extracts("me", "likes", f"tea {number}", life.says(f"I like tea {number}", f"t{number}"))
    life.waits(days=1)
    other = replace(BUILT_IN, extraction=ExtractionPolicy(writes_per_day=1))

    done, none = life.compared(other), life.compared(replace(other, extraction=ExtractionPolicy(writes_per_day=0)))

    limit = [(one.id, one.now, one.then) for one in done.differences if one.decision == "extraction limit"]
    assert limit == [
        ("t1", "recorded on 2026-01-03", "recorded on 2026-01-04"),
        ("t2", "recorded on 2026-01-03", "waits for another day"),
    ]
    assert [(text, then) for text, _, then in seen(done, "fact")] == [("ana likes tea 2", "not there")]
    assert {then for *_, then in seen(none, "fact")} == {"not there"}


def test_an_entity_that_waits_with_what_was_extracted_comes_with_the_next_fact_about_it() -> None:
    life = Life(replace(BUILT_IN, predicates=PredicatePolicy.of([Predicate("likes")])))
    life.extracts("Marta", "likes", "tea", life.says("Marta likes tea"))
    life.states("Marta", "likes", "tea")
    life.states("Marta", "knows", "Ben")

    done = life.compared(replace(life.policy, extraction=ExtractionPolicy(writes_per_day=0)))

    assert seen(done, "fact") == [
        ("Marta likes tea", "holds from 2026-01-03 01:04:10", "holds from 2026-01-03 01:05:10")
    ]


def test_a_statement_that_merged_becomes_a_memory_with_which_later_ones_are_compared() -> None:
    life = Life()
    life.tells(text=RENT, merge_similar=True)
    life.tells(text=NEAR, merge_similar=True)
    life.tells(text=NEAR, merge_similar=True)

    done = life.compared(APART)
    assert seen(done, "memory") == [
        ("", f"note, active: {NEAR}", f"note, active: {RENT}"),
        (NEAR, "not there", "note, active"),
    ]
    assert done.unfollowed == []


def test_what_was_never_compared_is_listed() -> None:
    life = Life()
    life.tells(text=RENT, merge_similar=True)
    life.tells(text=NEAR, merge_similar=True)
    life.tells(text=f"{NEAR} bank", merge_similar=True)

    done = life.compared(APART, keeps=lambda text: False)

    [one] = {(one.seq, one.why.partition(" with ")[0]) for one in done.unfollowed}
    assert one == (3, "it was never compared")
    assert len(seen(done, "memory")) == 2


def test_a_statement_is_compared_with_the_last_of_many_that_split_off() -> None:
    life = Life()
    for number in range(MOST_COMPARED + 3):
        life.tells(text=f"{RENT} {'near the river ' * number}".strip(), merge_similar=True)

    done = life.compared(APART)

    assert [one.why.partition(" memories")[0] for one in done.unfollowed] == ["it was compared with 20 of 21"]


def test_what_is_done_to_a_memory_that_would_be_several_is_listed() -> None:
    life = Life()
    first = life.tells(text=RENT, merge_similar=True)
    life.tells(text=NEAR, merge_similar=True)
    life.asks(SoftDeleteMemory, memory_id=first, at=life.at)

    done = life.compared(APART)

    assert [one.why.partition(" memory ")[0] for one in done.unfollowed] == ["it may be about what would be"]


def test_a_category_that_the_other_policy_lacks_leaves_no_memory() -> None:
    life = Life()
    task = life.tells(text="Ana calls the bank", category="tasks")
    life.asks(UpdateMemory, memory_id=task, text="Ana calls the bank today")
    note = life.tells(text="Ana likes rye bread")
    life.asks(UpdateMemory, memory_id=note, category="tasks")
    life.asks(UndoChange, memory_id=note, at=life.at)

    done = life.compared(with_categories(categories=SYSTEM_CATEGORIES - {"tasks"}))

    assert decided(done, "category") == [("tasks", "accepted", "refused")] * 2
    assert seen(done, "memory") == [("Ana calls the bank today", "tasks, active", "not there")]
    assert [one.why for one in done.unfollowed] == ["it undoes what would not have happened"]


def test_new_words_contradict_what_is_similar_enough_for_the_other_policy() -> None:
    life = Life()
    life.tells(text="Ana drinks green tea in the morning")
    other = life.tells(text="Ana drinks tea with ginger")
    life.asks(UpdateMemory, memory_id=other, text="Ana never drinks green tea in the morning")

    assert [(now, then) for _, now, then in seen(life.compared(APART), "contradiction")] == [("linked", "not there")]


def test_a_predicate_with_one_value_ends_the_earlier_one() -> None:
    life = Life()
    life.states("me", "likes", "tea")
    life.states("me", "likes", "coffee")
    life.states("me", "likes", "tea")
    single = replace(BUILT_IN, predicates=PredicatePolicy.of([Predicate("likes", single=True)]))

    done = life.compared(single)

    assert seen(done, "fact") == [
        ("ana likes tea", "holds from 2026-01-03 01:03:10", "holds from 2026-01-03 01:05:10"),
        ("ana likes coffee", "holds from 2026-01-03 01:04:10", "ended 2026-01-03 01:05:10"),
    ]
    assert done.unfollowed == []
    again = life.events[-1]
    life.events[-1] = replace(again, payload=again.payload.model_copy(update={"valid_from": None}))
    done = life.compared(single)
    assert [(one.seq, one.why.partition(":")[0]) for one in done.unfollowed] == [(4, "since when was not recorded")]


def test_the_class_of_a_predicate_says_which_of_two_facts_is_shown() -> None:
    life = Life()
    life.states("me", "diet", "vegan")
    life.states("me", "diet", "keto", agent_id="coach", scope="agent")
    one = Predicate("diet", single=True)
    first, second = (PredicatePolicy.of([replace(one, group=group)]) for group in PredicateClass)
    life.policy = replace(BUILT_IN, predicates=first)

    done = life.compared(replace(BUILT_IN, predicates=second))

    assert [(text, "overridden" in now, "overridden" in then) for text, now, then in seen(done, "fact")] == [
        ("ana diet vegan", False, True),
        ("ana diet keto", True, False),
    ]


def test_a_proposal_waits_for_consent_or_needs_none() -> None:
    life = Life()
    life.proposes("tone", "brief", confidence=0.9)
    asked = life.proposes("goals_add", "run a marathon")
    life.asks(DecidePatch, patch_id=asked, decision=PatchStatus.GRANTED, at=life.at)
    strict = replace(BUILT_IN, profile=ProfilePolicy(SENSITIVE | {"tone"}, BENIGN - {"goals_add"}))

    done = life.compared(strict)
    life.waits(seconds=QUEUED_FOR.total_seconds() + 3600)
    late = life.compared(strict)

    assert ("tone: brief", "corroborated", "proposed") in seen(done, "proposal")
    assert ("tone: brief", "corroborated", "expired") in seen(late, "proposal")
    assert ("goals_add: run a marathon", "granted", "not there") in seen(done, "proposal")
    assert {(text, then) for text, _, then in seen(done, "profile")} == {("tone", "not there"), ("goals", "not there")}


def test_minds_stay_untested() -> None:
    life = Life()
    life.tells(text=RENT)

    done = life.compared(replace(BUILT_IN, minds=MindPolicy(quiet_minutes=9)))

    assert done.untested == ["minds"]
    assert (done.differences, done.shadow, done.unfollowed) == ([], [], [])


def test_the_work_grows_with_the_stream() -> None:
    strict = with_categories(categories=SYSTEM_CATEGORIES - {"tasks"})
    work = []
    for size in (50, 100):
        life = Life()
        for number in range(size):
            life.says(f"Bird {number}", f"t{number}")
            life.states("me", f"saw_{number}", "heron")
            life.states("me", f"saw_{number}", "stork")
            life.tells(text=sha256(str(number).encode()).hexdigest(), category="tasks")
        rules = [Predicate(f"saw_{number}", single=True) for number in range(size)]
        policy = replace(strict, predicates=PredicatePolicy.of(rules), segmentation=SegmentationPolicy(gap_hours=1))
        with calls() as counted:
            life.compared(replace(policy, bands=Bands(1.0, 1.0, 1.0)))
        work.append(counted.total())
    assert work[1] < 2.2 * work[0]


def test_silence_is_that_of_the_time_of_the_comparison() -> None:
    life = Life()
    life.says("Good night", "t1")
    other = replace(BUILT_IN, segmentation=SegmentationPolicy(gap_hours=1))

    before = seen(life.compared(other), "episode")
    life.at += timedelta(hours=2)

    assert (before, seen(life.compared(other), "episode")) == ([], [("Good night", "from t1, open", "from t1 to t1")])
