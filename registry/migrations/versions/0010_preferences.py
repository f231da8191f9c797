"""How pages are for each user, and users who are locked out."""
import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("preferences", sa.JSON, nullable=False, server_default="{}"))
    op.add_column("users", sa.Column("locked_at", sa.DateTime))
