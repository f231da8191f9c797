"""Sources that are paused, and users who were deleted."""
import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sources", sa.Column("paused_at", sa.DateTime))
    # Written out, for SQLite adds a foreign key only together with its column.
    op.execute("ALTER TABLE sources ADD COLUMN paused_by INTEGER "
               "CONSTRAINT fk_sources_paused_by REFERENCES users (id)")
    op.add_column("users", sa.Column("deleted_at", sa.DateTime))
