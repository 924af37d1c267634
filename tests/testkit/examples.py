"""How many examples hypothesis tries: few and the same in each run, or many new ones with `make test-long`."""

from hypothesis import settings

USUAL, LONG = 50, "long"
FACTOR = 20


def register() -> None:
    """Profiles of `--hypothesis-profile`; the first is in force when none is named."""
    settings.register_profile("usual", max_examples=USUAL, deadline=None, derandomize=True)
    settings.register_profile(LONG, max_examples=FACTOR * USUAL, deadline=None, print_blob=True)
    settings.load_profile("usual")


def examples(usual: int) -> int:
    """For a test whose examples cost more, or less, than most: so many, or in proportion."""
    return usual * FACTOR if settings.get_current_profile_name() == LONG else usual
