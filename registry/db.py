"""The registry's tables and its connection: SQLite by default, PostgreSQL by URL."""
from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import event

from registry.errors import RegistryError

metadata = sa.MetaData(naming_convention={
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
})

users = sa.Table(
    "users", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(255), nullable=False, unique=True),
    sa.Column("password_hash", sa.Text, nullable=False),
    sa.Column("is_admin", sa.Boolean, nullable=False),
    sa.Column("session_epoch", sa.Integer, nullable=False,
              comment="counted up to end every session of the user"),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

api_tokens = sa.Table(
    "api_tokens", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("token_hash", sa.String(64), nullable=False, unique=True, comment="SHA-256, hex"),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("last_used_at", sa.DateTime),
)

sources = sa.Table(
    "sources", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(255), nullable=False, unique=True),
    sa.Column("kind", sa.String(16), nullable=False, comment="local"),
    sa.Column("location", sa.Text, nullable=False, comment="absolute path of the folder"),
    sa.Column("owner_id", sa.ForeignKey("users.id"), comment="None: the bundled source"),
    sa.Column("head", sa.String(40),
              comment="commit that the catalog shows; None before the first sync"),
    sa.Column("commits", sa.Integer, nullable=False,
              comment="length of the history at that sync; a deepened shallow clone shows by it"),
    sa.Column("synced_at", sa.DateTime),
    sa.Column("sync_error", sa.Text,
              comment="why the last sync failed as a whole; None when it did not"),
    sa.Column("sync_requested_at", sa.DateTime, comment="someone asked for a sync now"),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sqlite_autoincrement=True,  # an id names a store on disk and is never given twice
)

versions = sa.Table(
    "versions", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("version", sa.String(255), nullable=False,
              comment="as written; empty where the file has none"),
    sa.Column("commit", sa.String(40), nullable=False,
              comment="the first commit that had these bytes"),
    sa.Column("committed_at", sa.DateTime, nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("blob", sa.String(40), nullable=False),
    sa.Column("last_commit", sa.String(40),
              comment="the last commit that had these bytes at this path; None: the head has them"),
    sa.Column("position", sa.Integer, nullable=False,
              comment="order in the source's history of when these bytes last came in"),
    sa.Column("text", sa.Text, nullable=False, comment="the frozen YAML"),
    sa.Column("contributor", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("warnings", sa.JSON, nullable=False),
    sa.Column("is_latest", sa.Boolean, nullable=False),
    sa.Column("is_present", sa.Boolean, nullable=False, comment="still in the source at its head"),
    sa.UniqueConstraint("source_id", "type", "name", "version", "blob"),
    sa.Index("ix_versions_type_name", "type", "name"),
)

file_problems = sa.Table(
    "file_problems", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"),
              nullable=False, index=True),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("commit", sa.String(40), nullable=False),
    sa.Column("problems", sa.JSON, nullable=False, comment="Problem.as_json of each"),
)

search_outbox = sa.Table(
    "search_outbox", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("source_id", sa.Integer, nullable=False),
)


def create_engine(url: str) -> sa.Engine:
    """Open the database; SQLite gets write-ahead logging, foreign keys and a 10 s busy timeout.

    Raises RegistryError where its driver is missing.
    """
    try:
        engine = sa.create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
    except (ImportError, sa.exc.ArgumentError) as error:
        raise RegistryError(
            f"The database of PAISHARE_DATABASE_URL cannot be opened: {error}. Is its driver "
            "installed beside PAIShare? For PostgreSQL: pip install 'psycopg[binary]', and a URL "
            "that begins with postgresql+psycopg://.") from error
    if engine.dialect.name == "sqlite":
        @event.listens_for(engine, "connect")
        def set_pragmas(connection, _record):  # type: ignore[no-untyped-def]
            for pragma in ("journal_mode=WAL", "foreign_keys=ON", "busy_timeout=10000",
                           "synchronous=NORMAL"):
                connection.execute(f"PRAGMA {pragma}")
    return engine


def upgrade(engine: sa.Engine) -> None:
    """Bring the tables to the newest form; safe to call at every start.

    Raises RegistryError where the database cannot be reached, read or written.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except sa.exc.DBAPIError as error:
        cause = str(error.orig).splitlines()[0]
        raise RegistryError(
            f"The database {engine.url} cannot be used: {cause}. Is it there, may it be written, "
            "and has its disk room? PAISHARE_HOME or PAISHARE_DATABASE_URL names it.") from error
