"""What is said of an idempotency key that was used for another request."""

import pytest

from mnemolog.adapters.postgres.receipts import key_used


@pytest.mark.parametrize("stored", ["key-1", "ana/default\nkey-1"])
def test_a_key_is_shown_as_it_was_sent(stored: str) -> None:
    assert key_used(stored).message.startswith("the key 'key-1' was already used")
