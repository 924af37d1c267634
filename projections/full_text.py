"""What full-text search and vector search have in common: the text search configuration, and what they may find."""

from typing import Any, Protocol

from sqlalchemy import ColumnElement, CompoundSelect, Select, literal_column

from mnemolog.domain.viewer import Viewer

# Stems without stop words, made by the migrations: the domain drops its own.
CONFIGURATION: ColumnElement[str] = literal_column("'mnemolog.words'::regconfig")


class Searchable(Protocol):
    """Which texts a search may find: a value, such as `Candidates` of memories and messages."""

    def documents(self, viewer: Viewer) -> Select[Any] | CompoundSelect[Any]:
        """Of those that the viewer sees, each `id` with the terms that a full-text search finds it by, as `search`."""
        ...
