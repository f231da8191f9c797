"""Since when a source is behind its repository: the time when the newest commit was told of."""
import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sources", sa.Column("upstream_at", sa.DateTime))
