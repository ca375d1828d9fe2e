"""The run of alembic's migrations: always on the connection that `migrate.upgrade` opened."""

from alembic import context

from tamis_schemas.ledger import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
