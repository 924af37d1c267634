"""The stores of a being: entries of one agent, put under their keys, read, removed, and undone."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from mnemolog.commands.being import BEING, EntryCommand, MarkEntry, PutEntry, RemoveEntry, UndoEntry
from mnemolog.domain.being import BeingEntry, Store
from mnemolog.domain.errors import Erased, InvalidInput, MnemologError, NotFound, UndoConflict, UntrustedOrigin
from mnemolog.domain.origin import Origin
from mnemolog.events.being import BeingEntryErased, BeingEntryRead, BeingEntryRemoved, BeingEntrySet
from mnemolog.events.being_bodies import BODIES, body_of
from mnemolog.events.erasure import UserErased
from mnemolog.events.fields import validated
from tests.testkit.decider import given
from tests.testkit.events import new
from tests.testkit.examples import examples

FIRST, SECOND = UUID(int=1), UUID(int=2)
WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "mika"}
# An example of each store, and its key; None if the caller chooses it.
SAMPLES: dict[Store, tuple[dict[str, Any], str | None]] = {
    Store.SOUL: ({"personality": "Curious.", "voice": "Dry."}, "soul"),
    Store.RULE: ({"text": "Answer briefly.", "enabled": False}, None),
    Store.PREFERENCE: ({"text": "Prefers tea."}, None),
    Store.RELATIONSHIP: ({"name": "Zoë", "text": "Ana's sister."}, "Zoë"),
    Store.TOOL: ({"name": "calendar", "text": "Ana's appointments."}, "calendar"),
    Store.MAP: ({"name": "office", "text": "Second floor."}, "office"),
    Store.NOTE: ({"type": "scene", "text": '{"action": "met Ana"}'}, None),
    Store.KNOWLEDGE: ({"title": "Rome", "text": "Trams run until midnight."}, None),
    Store.DIARY: ({"date": "2026-01-03", "text": "Ana planned Rome."}, "2026-01-03"),
    Store.SNAPSHOT: ({"think_md": "- ask about Rome"}, "snapshot"),
    Store.PARTY_MESSAGE: ({"speaker": "Juno", "text": "Hello, Mika."}, None),
}


def put(store: Store = Store.NOTE, entry_id: UUID = FIRST, **fields: Any) -> PutEntry:
    body = {"body": {"type": "todo", "text": "ask about Rome"}} if store is Store.NOTE else {}
    return validated(PutEntry, {**WHO, "store": store, "entry_id": entry_id, **body, **fields})


def was_put(command: PutEntry, **fields: Any) -> BeingEntrySet:
    [event] = given(BEING).when(command).events()
    assert isinstance(event, BeingEntrySet)
    return event.model_copy(update=fields)


NOTE = was_put(put(key="rome"))


def of_note(kind: type[EntryCommand], **fields: Any) -> Any:
    return kind.model_validate({**WHO, "entry_id": FIRST, **fields})


@pytest.mark.spec_part("C15")
@pytest.mark.parametrize("store", Store)
def test_each_store_keeps_its_own_form_under_its_own_key(store: Store) -> None:
    body, key = SAMPLES[store]
    entry = was_put(put(store, body=body))
    assert (entry.store, entry.key) == (store, key or str(FIRST))
    assert body.items() <= entry.body.items()
    assert body_of(store, entry.body).model_dump(mode="json") == entry.body
    assert body_of(store, entry.body).line
    with pytest.raises(InvalidInput, match="is not known here") as refused:
        put(store, body={**body, "colour": "red"})
    assert refused.value.field == "body.colour"


@pytest.mark.parametrize(
    ("store", "body", "field"),
    [
        (Store.SOUL, {}, "body.personality"),
        (Store.RULE, {"text": ""}, "body.text"),
        (Store.RULE, {"text": "x", "enabled": "perhaps"}, "body.enabled"),
        (Store.NOTE, {"type": "dream", "text": "x"}, "body.type"),
        (Store.DIARY, {"date": "yesterday", "text": "x"}, "body.date"),
        (Store.DIARY, {"text": "x"}, "body.date"),
        (Store.RELATIONSHIP, {"name": "", "text": "x"}, "body.name"),
        (Store.SNAPSHOT, {"think_md": "x" * 40_000}, "body"),
    ],
)
def test_a_body_that_its_store_does_not_take_is_refused_with_its_path(
    store: Store, body: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        put(store, body=body)
    assert (refused.value.field, bool(refused.value.fix)) == (field, True)


def test_a_store_that_names_its_entries_takes_no_other_name() -> None:
    body, _ = SAMPLES[Store.DIARY]
    with pytest.raises(InvalidInput) as refused:
        put(Store.DIARY, body=body, key="monday")
    assert refused.value.field == "key"
    assert put(Store.DIARY, body=body, key="2026-01-03").name == "2026-01-03"


def test_an_entry_is_replaced_under_its_key_and_repeating_it_is_no_event() -> None:
    again = put(entry_id=SECOND, key="rome")
    given(BEING, NOTE).when(again).then_nothing()
    other = {"type": "todo", "text": "ask about Naples"}
    given(BEING, NOTE).when(put(entry_id=SECOND, key="rome", body=other)).then(NOTE.model_copy(update={"body": other}))
    given(BEING, NOTE).when(put(entry_id=SECOND, key="naples")).then(
        NOTE.model_copy(update={"entry_id": SECOND, "key": "naples"})
    )
    given(BEING, NOTE, BeingEntryRemoved(entry_id=FIRST)).when(again).then(NOTE)
    given(BEING, NOTE, BeingEntryErased(entry_id=FIRST)).when(again).then(NOTE.model_copy(update={"entry_id": SECOND}))


def test_a_note_is_read_and_unread() -> None:
    read = BeingEntryRead(entry_id=FIRST, read=True)
    given(BEING, NOTE).when(of_note(MarkEntry)).then(read)
    given(BEING, NOTE, read).when(of_note(MarkEntry)).then_nothing()
    given(BEING, NOTE, read).when(of_note(MarkEntry, read=False)).then(BeingEntryRead(entry_id=FIRST, read=False))
    rule = was_put(put(Store.RULE, body={"text": "Answer briefly."}))
    given(BEING, rule).when(of_note(MarkEntry)).then_refused(InvalidInput, "entry_id")


@pytest.mark.spec_part("C01")
@pytest.mark.parametrize(
    "command", [of_note(MarkEntry), of_note(RemoveEntry), of_note(UndoEntry, event_id=UUID(int=9))]
)
def test_another_being_of_the_user_finds_no_entry(command: EntryCommand) -> None:
    other = command.model_copy(update={"agent_id": "juno"})
    given(BEING, NOTE).when(other).then_refused(NotFound, "entry_id")
    given(BEING).when(command).then_refused(NotFound, "entry_id")


@pytest.mark.spec_part("C01")
def test_beings_keep_entries_of_one_name_apart() -> None:
    theirs = put(entry_id=SECOND, key="rome", agent_id="juno", body={"type": "todo", "text": "theirs"})
    [event] = given(BEING, NOTE).when(theirs).events()
    assert isinstance(event, BeingEntrySet)
    assert (event.entry_id, event.agent_id) == (SECOND, "juno")
    assert not event.tags() & NOTE.tags()


@pytest.mark.spec("X07")
@pytest.mark.parametrize("erasure", [BeingEntryErased(entry_id=FIRST), UserErased()])
def test_an_erased_entry_can_only_be_put_again(erasure: Any) -> None:
    story = given(BEING, NOTE, erasure)
    story.when(of_note(MarkEntry)).then_refused(Erased, "entry_id")
    story.when(of_note(RemoveEntry)).then_refused(Erased, "entry_id")


@pytest.mark.spec_part("X21")
@pytest.mark.parametrize("store", Store)
@pytest.mark.parametrize("origin", [one for one in Origin if one.external])
def test_what_comes_from_outside_never_instructs_a_being(store: Store, origin: Origin) -> None:
    instructing = {Store.SOUL, Store.RULE, Store.PREFERENCE, Store.RELATIONSHIP, Store.TOOL, Store.MAP, Store.SNAPSHOT}
    command = put(store, body=SAMPLES[store][0], origin=origin)
    if store in instructing:
        given(BEING).when(command).then_refused(UntrustedOrigin, "origin")
    else:
        assert was_put(command).origin is origin


@pytest.mark.spec_part("X21")
def test_what_comes_from_outside_replaces_nothing_else() -> None:
    tool = put(entry_id=SECOND, key="rome", origin="tool", body={"type": "todo", "text": "send money"})
    given(BEING, NOTE).when(tool).then_refused(UntrustedOrigin, "origin")
    as_user = put(key="rome", origin="user")
    given(BEING).when(as_user).then_refused(UntrustedOrigin, "origin")


def test_a_later_change_prevents_the_undo_of_an_earlier_one() -> None:
    first, second = new(NOTE), new(BeingEntryRead(entry_id=FIRST, read=True))
    story = given(BEING, first, second)
    story.when(of_note(UndoEntry, event_id=first.event_id)).then_refused(UndoConflict, "event_id")
    unread = BeingEntryRead(entry_id=FIRST, read=False, undoes=second.event_id)
    story.when(of_note(UndoEntry, event_id=second.event_id)).then(unread)


asked = st.lists(
    st.one_of(
        st.builds(
            lambda key, text: put(key=key, body={"type": "todo", "text": text}),
            st.just("rome"),
            st.sampled_from(["a", "b"]),
        ),
        st.just(of_note(MarkEntry)),
        st.just(of_note(MarkEntry, read=False)),
        st.just(of_note(RemoveEntry)),
    ),
    max_size=6,
)


@pytest.mark.spec_part("X03")
@settings(max_examples=examples(60), deadline=None)
@given_any(asked, asked)
def test_undoing_what_happened_newest_first_restores_the_entry(before: Any, then: Any) -> None:
    state = BEING.evolve(BEING.initial, new(NOTE))

    def play(commands: Any) -> list[UUID]:
        nonlocal state
        done = []
        for command in commands:
            try:
                decided = BEING.decide(state, command)
            except MnemologError:
                continue
            for payload in decided:
                event = new(payload)
                state = BEING.evolve(state, event)
                done.append(event.event_id)
        return done

    play(before)
    was = _shown(state.known[FIRST])
    for event_id in reversed(play(then)):
        assert play([of_note(UndoEntry, event_id=event_id)])
    assert _shown(state.known[FIRST]) == was


def _shown(entry: BeingEntry) -> object:
    """The content of a removed entry is not shown."""
    return "removed" if entry.removed else entry


def test_every_store_has_a_sample() -> None:
    assert SAMPLES.keys() == set(Store) == BODIES.keys()
