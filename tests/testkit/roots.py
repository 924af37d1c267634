"""Roots for tests: the integrity keys derive from the testkit's key."""

import os

from mnemolog.adapters.postgres.roots import Roots
from tests.testkit.events import KEY

ROOT_ID = bytes(8)


def roots(integrity: bytes = KEY) -> Roots:
    """Roots that every test shares, so that one log opens what another sealed."""
    return Roots(integrity, {ROOT_ID: bytes(range(32))}, ROOT_ID, os.urandom)
