"""Alembic's environment: the caller's connection, in the caller's transaction and lock."""

from alembic import context

from gateway.storage.sql.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
