"""The sync verbs describe themselves as the async ones do, for editors, notebooks and `help`."""

import inspect
import pydoc

import pytest

from mnemolog import AsyncMemory, Memory

VERBS = [name for name, _ in inspect.getmembers(AsyncMemory, inspect.isfunction) if not name.startswith("_")]
VERBS.remove("close")  # Of the object, not of the memory: each class says what it closes.


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_has_the_parameters_and_the_docstring_of_its_async_twin(name: str) -> None:
    sync, twin = getattr(Memory, name), getattr(AsyncMemory, name)
    assert inspect.signature(sync).parameters == inspect.signature(twin).parameters
    assert sync.__doc__ == twin.__doc__


def test_help_shows_the_signature() -> None:
    lines = pydoc.plain(pydoc.render_doc(Memory.search)).splitlines()[2:5]

    # Since Python 3.13, each parameter of a long signature has a line of its own.
    assert "".join(lines).replace(" ", "").startswith("search(self,query:'str'")


def test_a_bound_verb_takes_no_self() -> None:
    assert "self" not in inspect.signature(Memory(user_id="ana").search).parameters
