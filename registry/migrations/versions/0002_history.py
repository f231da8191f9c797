"""What happens to versions: moved, tagged, yanked, deprecated, purged; and what uses what."""
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table, column in (
            ("sources", sa.Column("sub_paths", sa.JSON, nullable=False, server_default="[]")),
            ("sources", sa.Column("tag_prefix", sa.String(255))),
            ("versions", sa.Column("is_moved", sa.Boolean, nullable=False,
                                   server_default=sa.false())),
            ("versions", sa.Column("tags", sa.JSON, nullable=False, server_default="[]")),
            ("versions", sa.Column("readme", sa.Text, nullable=False, server_default=""))):
        op.add_column(table, column)
    create_marks()
    create_purges()
    create_events()
    create_uses()
    create_runs()


def create_marks() -> None:
    op.create_table(
        "marks",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("version", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("successor", sa.Text, nullable=False),
        sa.Column("user_id", sa.Integer),
        sa.Column("created_at", sa.DateTime, nullable=False),
        *_of_source_and_user("marks"),
        sa.UniqueConstraint("source_id", "type", "name", "version", "kind",
                            name="uq_marks_source_id_type_name_version_kind"),
    )


def create_purges() -> None:
    op.create_table(
        "purges",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("version", sa.String(255), nullable=False),
        sa.Column("blob", sa.String(40), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("user_id", sa.Integer),
        sa.Column("created_at", sa.DateTime, nullable=False),
        *_of_source_and_user("purges"),
        sa.UniqueConstraint("source_id", "type", "name", "version", "blob",
                            name="uq_purges_source_id_type_name_version_blob"),
    )


def create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("version", sa.String(255), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_events_source_id",
                                ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_type_name", "events", ["type", "name"])


def create_uses() -> None:
    op.create_table(
        "uses",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("version_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("target_type", sa.String(16), nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("target_source", sa.String(255), nullable=False),
        sa.Column("target_version", sa.String(255), nullable=False),
        sa.ForeignKeyConstraint(["version_id"], ["versions.id"], name="fk_uses_version_id",
                                ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_uses"),
    )
    op.create_index("ix_uses_version_id", "uses", ["version_id"])
    op.create_index("ix_uses_kind_target", "uses", ["kind", "target"])


def create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("job_id", sa.String(64), nullable=False),
        sa.Column("user_id", sa.Integer),
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("version", sa.String(255), nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        *_of_source_and_user("runs"),
        sa.UniqueConstraint("job_id", "source_id", "type", "name",
                            name="uq_runs_job_id_source_id_type_name"),
        comment="one row for each component that took part in a submitted job",
    )
    op.create_index("ix_runs_source_id_type_name", "runs", ["source_id", "type", "name"])


def _of_source_and_user(table: str) -> tuple[sa.Constraint, ...]:
    return (
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name=f"fk_{table}_source_id",
                                ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=f"fk_{table}_user_id",
                                ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=f"pk_{table}"),
    )
