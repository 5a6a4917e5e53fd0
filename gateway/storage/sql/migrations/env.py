"""Alembic's environment: the caller's connection, in the caller's transaction and lock."""

from alembic import context

from gateway.storage.sql.migrations.target_schema import target_metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=target_metadata,
    render_as_batch=True,
)
context.run_migrations()
