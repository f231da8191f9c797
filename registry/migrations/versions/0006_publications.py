"""What a publication would replace, and when its author agreed to it: the preview is kept."""
import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("publications", sa.Column(
        "before", sa.Text().with_variant(sa.Text(collation="C"), "postgresql")))
    op.add_column("publications", sa.Column("confirmed_at", sa.DateTime))
