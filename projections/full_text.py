"""The text search configuration of every full-text index."""

from sqlalchemy import ColumnElement, literal_column

# Stems without stop words, made by the migrations: the domain drops its own.
CONFIGURATION: ColumnElement[str] = literal_column("'mnemolog.words'::regconfig")
