"""Alembic's entry: runs the migrations on the connection that `migrate` hands over."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table="migrations", version_table_schema="mnemolog")
with context.begin_transaction():
    context.run_migrations()
