"""PostgreSQL compares text byte by byte, as SQLite does, and indexes a URI of any length."""
import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_uses_kind_target", "uses")
    op.create_index("ix_uses_target", "uses", ["target"], postgresql_using="hash")
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        set_collations(sa.inspect(connection))


def set_collations(found: sa.Inspector) -> None:
    for table in found.get_table_names():
        for column in found.get_columns(table):
            kind = column["type"]
            if isinstance(kind, sa.String) and table != "alembic_version":
                op.alter_column(table, column["name"],
                                type_=type(kind)(kind.length, collation="C"))
