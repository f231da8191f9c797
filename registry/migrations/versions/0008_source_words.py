"""What pages say of sources and tokens: a default branch's name, files of what is gone, sign-on."""
import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def text(length: int | None = None) -> sa.types.TypeEngine[str]:
    """Compared byte by byte on both databases."""
    kind = sa.String if length else sa.Text
    return kind(length).with_variant(kind(length, collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("sources", sa.Column("default_branch", text(255)))
    op.add_column("sources", sa.Column("last_problems", sa.JSON))
    op.add_column("github_tokens", sa.Column("sso_url", text()))
    op.add_column("github_tokens", sa.Column("sso_at", sa.DateTime))
