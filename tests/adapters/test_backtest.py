"""A back-test shows which recorded decisions another policy would have made otherwise, and writes nothing (X06)."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from mnemolog.adapters.backtest import backtest
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.operations.profile import propose_profile
from mnemolog.commands.backtest.decisions import Judgement
from mnemolog.commands.erasure import EraseMemory, EraseUser
from mnemolog.domain.bands import Bands
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.extraction.policy import ExtractionPolicy
from mnemolog.domain.gate import Gate, Signals
from mnemolog.domain.profile import BENIGN, SENSITIVE, ProfilePolicy
from mnemolog.domain.pronouns import Forms, Pronouns
from mnemolog.domain.retention import Retention
from mnemolog.events.fields import validated
from mnemolog.events.memory import Match
from tests.adapters.cli.command import mnemolog
from tests.engine.person import Person
from tests.engine.teller import Teller


async def says_it_twice(ana: Person) -> Match:
    """The match of the second statement with the first."""
    await ana.creates("Ana pays rent for her flat in Lisbon")
    await ana.engine.settled(60)
    await ana.creates("Ana pays rent for her flat in Lisbon near the river", merge_similar=True)
    found = [getattr(event.payload, "match", None) for event in await ana.engine.log.read(ana.stream)]
    [match] = [one for one in found if one is not None]
    assert match.similarity is not None
    return cast(Match, match)


@pytest.mark.spec("X06")
async def test_another_policy_decides_otherwise_and_nothing_is_written(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    ana = Person(engine, user)
    match = await says_it_twice(ana)
    assert match.similarity is not None
    above = match.similarity + (1 - match.similarity) / 2
    await propose_profile.run(
        engine, validated(propose_profile.request, {"user_id": user, "field": "tone", "value": "brief"})
    )
    await ana.says("We go to the harbour, as ever", turn_id="t1")
    head = await engine.log.head(ana.stream)
    other = replace(
        engine.policy,
        bands=Bands(above, above, above),
        profile=ProfilePolicy(SENSITIVE | {"tone"}, BENIGN),
        gate=Gate({"en": Signals(continuity=("as ever",), progress=(), reflection=(), logging=())}),
        extraction=ExtractionPolicy(long_message=20),
        retention=Retention(ttl_days=1, message_days=30),
    )

    same = await backtest(engine, ana.stream, engine.policy)
    done = await backtest(engine, ana.stream, other)

    assert same.differences == []
    assert same.looked_at == done.looked_at
    once = {"merge": 1, "consent": 1, "gate": 1, "extraction": 1, "pronoun": 1}
    assert {**done.looked_at, "category": 0} == {**once, "category": 0}
    assert (same.shadow, same.unfollowed) == ([], [])
    assert {(one.decision, one.now, one.then) for one in done.differences} == {
        ("merge", match.band.value, "unrelated"),
        ("consent", "needs no consent", "needs consent"),
        ("gate", "does not search", "searches"),
        ("extraction", "read by the rules", "read by the model"),
    }
    assert (done.now, done.then, done.head) == (engine.policy.version, other.version, head)
    assert await engine.log.head(ana.stream) == head
    later = await backtest(engine, ana.stream, other, after=head - 1)
    assert {one.decision for one in later.differences} == {"gate", "extraction"}

    file = tmp_path / "other.yaml"
    file.write_text(f"bands: {{auto: {above}, check_low: {above}, fallback_low: {above}}}\n", encoding="utf-8")
    told = await mnemolog(engine.settings.directory, "policy", "backtest", str(file), "-u", user, "--json")
    [difference] = told.value["differences"]
    assert (difference["decision"], difference["then"]) == ("merge", "unrelated")
    shown = await mnemolog(engine.settings.directory, "policy", "backtest", str(file), "-u", user, "--since", str(head))
    assert f"0 differences in {sum(done.looked_at.values())} decisions up to {head}" in shown.out
    assert "2 differences in what readers see" in shown.out


async def test_what_cannot_be_decided_again_is_counted(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await says_it_twice(ana)
    events = await engine.log.read(ana.stream)
    bands = Bands(1.0, 1.0, 1.0)
    elsewhere = Judgement(engine.policy, replace(engine.policy, bands=bands), bands, "another-model")
    assert list(elsewhere.differences(events)) == []
    assert elsewhere.unread == {"merge": 1}


async def test_a_category_that_the_other_policy_lacks_is_refused(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana likes rye bread", category="preferences")
    events = await engine.log.read(ana.stream)
    without = CategoryPolicy(categories=frozenset({"note"}))
    judgement = Judgement(engine.policy, replace(engine.policy, categories=without), Bands(1, 1, 1), "lexical")
    assert [(one.text, one.now, one.then) for one in judgement.differences(events)] == [
        ("preferences", "accepted", "refused")
    ]


async def test_what_would_fade_now_is_asked_of_both_retentions(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    dim = await ana.creates("Ana saw a heron", importance=0.1)
    await ana.creates("Ana lives in Lisbon", importance=0.9)
    await engine.settled(60)
    other = replace(engine.policy, retention=Retention(ttl_days=30))
    done = await backtest(engine, ana.stream, other, at=engine.writes.now() + timedelta(days=40))
    assert [(one.decision, one.id, one.now, one.then) for one in done.differences] == [
        ("fade", str(dim), "kept", "taken")
    ]


async def test_a_pronoun_of_another_language_refers_to_whom_the_session_is_about(engine: Engine, user: str) -> None:
    bob = Teller(engine, user)
    await bob.calls(await bob.knows_of("Ana Silva"), "Ana")
    await engine.settled(60)
    await bob.says("I met Ana yesterday", speaker="")
    await bob.says("Où est-ce que elle habite ?", speaker="", turn_id="t2")
    french = Forms(she=("elle",), questions=("où", "est-ce", "que", "est"))
    other = replace(engine.policy, pronouns=Pronouns({**engine.policy.pronouns.forms, "fr": french}))

    done = await backtest(engine, bob.stream, other)

    assert [(one.id, one.now, one.then) for one in done.differences] == [("t2", "no pronoun", "elle: Ana Silva")]


async def test_a_pronoun_does_not_refer_to_a_brother_who_was_named_last(engine: Engine, user: str) -> None:
    bob = Teller(engine, user)
    await bob.knows_of("Ana")
    luca = await bob.knows_of("Luca")
    tie = await bob.tells("me", "brother", str(luca))
    await engine.settled(60)
    await bob.says("Ana met Luca", speaker="")
    await bob.says("Luca called", speaker="")
    await bob.says("Où est-ce que elle habite ?", speaker="", turn_id="t2")
    await bob.retires(tie)
    await bob.says("Où est-ce que elle habite ?", speaker="", turn_id="t3")
    french = Forms(she=("elle",), questions=("où", "est-ce", "que", "est"))
    other = replace(engine.policy, pronouns=Pronouns({**engine.policy.pronouns.forms, "fr": french}))

    done = await backtest(engine, bob.stream, other)

    assert [(one.id, one.then) for one in done.differences] == [("t2", "elle: Ana"), ("t3", "elle: Luca")]


async def test_what_was_erased_is_not_in_the_shadow(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await says_it_twice(ana)
    other = replace(engine.policy, bands=Bands(1.0, 1.0, 1.0))
    before = await backtest(engine, ana.stream, other)
    for memory_id in await ana.memory_ids():
        await erase(engine, EraseMemory(user_id=user, memory_id=memory_id))

    after = await backtest(engine, ana.stream, other)
    await erase(engine, EraseUser(user_id=user))
    nothing = await backtest(engine, ana.stream, other)

    assert "near the river" in str(before.shadow)
    assert "Lisbon" not in str(after)
    assert (after.shadow, after.unread) == ([], {"merge": 1})
    assert (nothing.differences, nothing.shadow, nothing.unfollowed) == ([], [], [])
