"""GitHub: repositories as sources, sealed tokens, who may read what, and publications."""
import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def text(length: int | None = None) -> sa.types.TypeEngine[str]:
    """Compared byte by byte on both databases."""
    kind = sa.String if length else sa.Text
    return kind(length).with_variant(kind(length, collation="C"), "postgresql")


def upgrade() -> None:
    for column in (
            sa.Column("repo_id", sa.BigInteger),
            sa.Column("branch", text(255)),
            sa.Column("is_private", sa.Boolean, nullable=False, server_default=sa.false()),
            sa.Column("upstream_head", text(40)),
            sa.Column("checked_at", sa.DateTime),
            sa.Column("upstream_state", text(16), nullable=False, server_default="ok"),
            sa.Column("held_head", text(40)),
            sa.Column("held_count", sa.Integer, nullable=False, server_default="0"),
            sa.Column("confirmed_head", text(40)),
            sa.Column("progress", sa.JSON),
            sa.Column("next_sync_at", sa.DateTime),
            sa.Column("failures", sa.Integer, nullable=False, server_default="0")):
        op.add_column("sources", column)
    # Written out, for SQLite adds a foreign key only together with its column.
    op.execute("ALTER TABLE sources ADD COLUMN sponsor_id INTEGER "
               "CONSTRAINT fk_sources_sponsor_id REFERENCES users (id)")
    op.create_index("ix_sources_repo_id", "sources", ["repo_id"])
    op.create_index("ix_versions_contributor", "versions", ["contributor"],
                    postgresql_using="hash")
    create_tokens()
    create_access()
    create_publications()
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", text(64), nullable=False),
        sa.Column("received_at", sa.DateTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_deliveries"),
    )


def create_tokens() -> None:
    op.create_table(
        "github_tokens",
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        sa.Column("key_id", text(16), nullable=False),
        sa.Column("login", text(255), nullable=False),
        sa.Column("github_id", sa.BigInteger, nullable=False),
        sa.Column("kind", text(16), nullable=False),
        sa.Column("scopes", sa.JSON),
        sa.Column("last_four", text(4), nullable=False),
        sa.Column("expires_at", sa.DateTime),
        sa.Column("verified_at", sa.DateTime, nullable=False),
        sa.Column("last_used_at", sa.DateTime),
        sa.Column("problem", text(32)),
        sa.Column("access_wanted_at", sa.DateTime),
        sa.Column("access_checked_at", sa.DateTime),
        sa.Column("background_used", sa.Integer, nullable=False, server_default="0"),
        sa.Column("background_since", sa.DateTime),
        sa.Column("limited_until", sa.DateTime),
        sa.PrimaryKeyConstraint("user_id", name="pk_github_tokens"),
        _of_user("github_tokens"),
    )


def create_access() -> None:
    op.create_table(
        "repo_access",
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("repo_id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("level", text(8), nullable=False),
        sa.Column("checked_at", sa.DateTime, nullable=False),
        sa.Column("etag", text(255)),
        sa.PrimaryKeyConstraint("user_id", "repo_id", name="pk_repo_access"),
        _of_user("repo_access"),
    )
    op.create_index("ix_repo_access_repo_id", "repo_access", ["repo_id"])


def create_publications() -> None:
    op.create_table(
        "publications",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("open_key", text()),
        sa.Column("state", text(32), nullable=False),
        sa.Column("repo_id", sa.BigInteger, nullable=False),
        sa.Column("repository", text(255), nullable=False),
        sa.Column("base_branch", text(255), nullable=False),
        sa.Column("type", text(16), nullable=False),
        sa.Column("name", text(255), nullable=False),
        sa.Column("version", text(255), nullable=False),
        sa.Column("path", text(), nullable=False),
        sa.Column("text", text(), nullable=False),
        sa.Column("title", text(), nullable=False),
        sa.Column("body", text(), nullable=False),
        sa.Column("is_signed_off", sa.Boolean, nullable=False),
        sa.Column("is_direct", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("base_sha", text(40)),
        sa.Column("tree_sha", text(40)),
        sa.Column("commit_sha", text(40)),
        sa.Column("fork_id", sa.BigInteger),
        sa.Column("fork", text(255)),
        sa.Column("branch", text(255)),
        sa.Column("pull_number", sa.Integer),
        sa.Column("pull", sa.JSON),
        sa.Column("problem", text(32)),
        sa.Column("detail", text(), nullable=False, server_default=""),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("next_at", sa.DateTime),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("updated_at", sa.DateTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_publications"),
        sa.UniqueConstraint("open_key", name="uq_publications_open_key"),
        _of_user("publications"),
    )
    op.create_index("ix_publications_user_id", "publications", ["user_id"])
    op.create_index("ix_publications_next_at", "publications", ["next_at"])


def _of_user(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], ondelete="CASCADE",
                                   name=f"fk_{table}_user_id")
