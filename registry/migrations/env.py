"""How alembic reaches the tables: over the connection that `registry.db.upgrade` hands in."""
from alembic import context

from registry.db import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata,
                  render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
