"""Whether somebody ever ran a job is looked up at once."""
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_runs_user_id", "runs", ["user_id"])
