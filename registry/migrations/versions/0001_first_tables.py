"""The first tables: users, tokens, sources, versions, problems, and what the index still lacks."""
import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_accounts()
    create_sources()
    create_versions()
    op.create_table(
        "search_outbox",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_outbox"),
    )


def create_accounts() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("is_admin", sa.Boolean, nullable=False),
        sa.Column("session_epoch", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name", name="uq_users_name"),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("last_used_at", sa.DateTime),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_api_tokens_user_id",
                                ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_api_tokens"),
        sa.UniqueConstraint("token_hash", name="uq_api_tokens_token_hash"),
    )
    op.create_index("ix_api_tokens_user_id", "api_tokens", ["user_id"])


def create_sources() -> None:
    op.create_table(
        "sources",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("owner_id", sa.Integer),
        sa.Column("head", sa.String(40)),
        sa.Column("commits", sa.Integer, nullable=False),
        sa.Column("synced_at", sa.DateTime),
        sa.Column("sync_error", sa.Text),
        sa.Column("sync_requested_at", sa.DateTime),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name="fk_sources_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("name", name="uq_sources_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "file_problems",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("commit", sa.String(40), nullable=False),
        sa.Column("problems", sa.JSON, nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_file_problems_source_id",
                                ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_file_problems"),
    )
    op.create_index("ix_file_problems_source_id", "file_problems", ["source_id"])


def create_versions() -> None:
    op.create_table(
        "versions",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("version", sa.String(255), nullable=False),
        sa.Column("commit", sa.String(40), nullable=False),
        sa.Column("committed_at", sa.DateTime, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("blob", sa.String(40), nullable=False),
        sa.Column("last_commit", sa.String(40)),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("contributor", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("warnings", sa.JSON, nullable=False),
        sa.Column("is_latest", sa.Boolean, nullable=False),
        sa.Column("is_present", sa.Boolean, nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_versions_source_id",
                                ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_versions"),
        sa.UniqueConstraint("source_id", "type", "name", "version", "blob",
                            name="uq_versions_source_id_type_name_version_blob"),
    )
    op.create_index("ix_versions_type_name", "versions", ["type", "name"])
