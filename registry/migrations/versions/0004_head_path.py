"""Where the head holds a component, and whether a tag gave a version: a sync reads what is new."""
import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("versions", sa.Column(
        "head_path", sa.Text().with_variant(sa.Text(collation="C"), "postgresql")))
    op.add_column("versions", sa.Column("is_tagged", sa.Boolean, nullable=False,
                                        server_default=sa.false()))
