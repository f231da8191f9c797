"""The registry's tables and its connection: SQLite by default, PostgreSQL by URL."""
from __future__ import annotations

from pathlib import Path
from typing import Callable

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy import event

from registry.errors import DatabaseUnavailableError, RegistryError
from runner.sentence import Sentence, restored, stored

CONNECT_TIMEOUT_S = "10"
NUL_SIGN = "\N{SYMBOL FOR NULL}"


class Text(sa.types.TypeDecorator[str]):
    """Text that both databases compare and order byte by byte; PostgreSQL's locale has no say.

    PostgreSQL cannot hold NUL, so it becomes ␀ in both.
    """

    impl = sa.String
    cache_ok = True

    def __init__(self, length: int | None = None) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[str]:
        collation = "C" if dialect.name == "postgresql" else None
        kind = sa.String if self.length else sa.Text
        return kind(self.length, collation)

    def bind_processor(self, dialect: sa.Dialect) -> Callable[[str | None], str | None]:
        return _without_nul


def _without_nul(value: str | None) -> str | None:
    return value.replace("\0", NUL_SIGN) if value else value


class Said(Text):
    """A text that may be a sentence, which is kept with what it is made of."""

    cache_ok = True

    def bind_processor(self, dialect: sa.Dialect) -> Callable[[str | None], str | None]:
        return lambda value: _without_nul(stored(value) if value else value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return restored(value) if value else value


metadata = sa.MetaData(naming_convention={
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
})

users = sa.Table(
    "users", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", Text(255), nullable=False, unique=True),
    sa.Column("password_hash", Text, nullable=False),
    sa.Column("is_admin", sa.Boolean, nullable=False),
    sa.Column("session_epoch", sa.Integer, nullable=False,
              comment="counted up to end every session of the user"),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("preferences", sa.JSON, nullable=False, server_default="{}",
              comment="how pages are for the user; what is not said is as the browser has it"),
    sa.Column("locked_at", sa.DateTime,
              comment="an admin locked the user out; None: they may log in"),
    sa.Column("deleted_at", sa.DateTime,
              comment="nothing is left of the user but the name, which is never given again; "
                      "locked_at is set as well"),
)

api_tokens = sa.Table(
    "api_tokens", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("token_hash", Text(64), nullable=False, unique=True, comment="SHA-256, hex"),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("last_used_at", sa.DateTime),
)

sources = sa.Table(
    "sources", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", Text(255), nullable=False, unique=True),
    sa.Column("kind", Text(16), nullable=False, comment="local or github"),
    sa.Column("location", Text, nullable=False,
              comment="absolute path of the folder; of a repository on GitHub owner/name, as now"),
    sa.Column("owner_id", sa.ForeignKey("users.id"), comment="None: the bundled source"),
    sa.Column("head", Text(40),
              comment="commit that the catalog shows; None before the first sync"),
    sa.Column("commits", sa.Integer, nullable=False,
              comment="length of the history at that sync; a deepened shallow clone shows by it"),
    sa.Column("synced_at", sa.DateTime),
    sa.Column("sync_error", Said,
              comment="why the last sync failed as a whole; None when it did not"),
    sa.Column("sub_paths", sa.JSON, nullable=False, server_default="[]",
              comment="folders below which components are looked for; empty: everywhere"),
    sa.Column("tag_prefix", Text(255),
              comment="tags that begin so name versions too; None: tags are not read"),
    sa.Column("sync_requested_at", sa.DateTime, comment="someone asked for a sync now"),
    sa.Column("repo_id", sa.BigInteger, index=True,
              comment="GitHub's number of the repository, its key; None: a local source"),
    sa.Column("branch", Text(255), comment="None: the default branch of the repository"),
    sa.Column("default_branch", Text(255), comment="what that was called at the last sync"),
    sa.Column("is_private", sa.Boolean, nullable=False, server_default=sa.false(),
              comment="shown only to those whose own token was seen to read it"),
    sa.Column("sponsor_id", sa.ForeignKey("users.id"),
              comment="whose token syncs it in the background, as that user agreed"),
    sa.Column("upstream_head", Text(40), comment="the newest commit that GitHub told of"),
    sa.Column("upstream_at", sa.DateTime, comment="when it first told of that"),
    sa.Column("checked_at", sa.DateTime, comment="when GitHub was last asked for that"),
    sa.Column("upstream_state", Text(16), nullable=False, server_default="ok",
              comment="ok, gone, replaced, forbidden, blocked or empty"),
    sa.Column("held_head", Text(40),
              comment="a head that would take away much, which waits for the owner's word"),
    sa.Column("held_count", sa.Integer, nullable=False, server_default="0",
              comment="how many versions that would withdraw"),
    sa.Column("confirmed_head", Text(40), comment="the held head that the owner agreed to"),
    sa.Column("progress", sa.JSON,
              comment="stage, done and total of the sync that runs now; None: none does"),
    sa.Column("last_problems", sa.JSON(none_as_null=True),
              comment="the invalid files of a repository that is gone, as long as it is"),
    sa.Column("next_sync_at", sa.DateTime),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0",
              comment="syncs that failed in a row; each waits longer"),
    sa.Column("paused_at", sa.DateTime, comment="it is not synced since then; None: it is"),
    sa.Column("paused_by", sa.ForeignKey("users.id"), comment="who said so"),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sqlite_autoincrement=True,  # an id names a store on disk and is never given twice
)

versions = sa.Table(
    "versions", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    sa.Column("type", Text(16), nullable=False),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("version", Text(255), nullable=False,
              comment="as written; empty where the file has none"),
    sa.Column("commit", Text(40), nullable=False,
              comment="the first commit that had these bytes"),
    sa.Column("committed_at", sa.DateTime, nullable=False),
    sa.Column("path", Text, nullable=False),
    sa.Column("blob", Text(40), nullable=False),
    sa.Column("last_commit", Text(40),
              comment="the last commit that had these bytes at this path; None: the head has them"),
    sa.Column("head_path", Text,
              comment="the file at the head that holds the component, of its newest good version"),
    sa.Column("position", sa.Integer, nullable=False,
              comment="order in the source's history of when these bytes last came in"),
    sa.Column("text", Text, nullable=False, comment="the frozen YAML"),
    sa.Column("contributor", Text, nullable=False),
    sa.Column("description", Text, nullable=False),
    sa.Column("warnings", sa.JSON, nullable=False),
    sa.Column("is_latest", sa.Boolean, nullable=False),
    sa.Column("is_present", sa.Boolean, nullable=False, comment="still in the source at its head"),
    sa.Column("is_moved", sa.Boolean, nullable=False, server_default=sa.false(),
              comment="this version was recorded before with other bytes, which keep serving"),
    sa.Column("is_tagged", sa.Boolean, nullable=False, server_default=sa.false(),
              comment="the version comes from a tag, not from the file"),
    sa.Column("tags", sa.JSON, nullable=False, server_default="[]",
              comment="the source's tags that name this version"),
    sa.Column("readme", Text, nullable=False, server_default="",
              comment="the README beside the file as of `commit`; empty: there is none"),
    sa.UniqueConstraint("source_id", "type", "name", "version", "blob"),
    sa.Index("ix_versions_type_name", "type", "name"),
    sa.Index("ix_versions_contributor", "contributor", postgresql_using="hash"),
)

file_problems = sa.Table(
    "file_problems", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"),
              nullable=False, index=True),
    sa.Column("path", Text, nullable=False),
    sa.Column("commit", Text(40), nullable=False),
    sa.Column("problems", sa.JSON, nullable=False, comment="Problem.as_json of each"),
)

marks = sa.Table(
    "marks", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    sa.Column("type", Text(16), nullable=False),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("version", Text(255), nullable=False,
              comment="the version that is meant; empty: every version of the component"),
    sa.Column("kind", Text(16), nullable=False, comment="yanked or deprecated"),
    sa.Column("reason", Text, nullable=False),
    sa.Column("successor", Text, nullable=False,
              comment="a reference to use instead; empty where there is none"),
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="SET NULL")),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint("source_id", "type", "name", "version", "kind"),
)

purges = sa.Table(
    "purges", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    sa.Column("type", Text(16), nullable=False),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("version", Text(255), nullable=False),
    sa.Column("blob", Text(40), nullable=False,
              comment="the bytes that are gone and never come back in"),
    sa.Column("reason", Text, nullable=False),
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="SET NULL")),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint("source_id", "type", "name", "version", "blob"),
)

events = sa.Table(
    "events", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.DateTime, nullable=False),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    sa.Column("kind", Text(16), nullable=False,
              comment="published, moved, withdrawn, returned, yanked, restored, deprecated or "
                      "purged"),
    sa.Column("type", Text(16), nullable=False),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("version", Text(255), nullable=False),
    sa.Column("detail", Said, nullable=False, comment="a sentence for people; may be empty"),
    sa.Index("ix_events_type_name", "type", "name"),
    sqlite_autoincrement=True,  # a reader who knows the last id finds what is newer
)

uses = sa.Table(
    "uses", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("version_id", sa.ForeignKey("versions.id", ondelete="CASCADE"),
              nullable=False, index=True),
    sa.Column("kind", Text(16), nullable=False,
              comment="reference, image, data or script: how it is used"),
    sa.Column("target_type", Text(16), nullable=False, comment="empty where it is not said"),
    sa.Column("target", Text, nullable=False,
              comment="of a reference: the name; else the URI in its plain form"),
    sa.Column("target_source", Text(255), nullable=False, comment="empty where not said"),
    sa.Column("target_version", Text(255), nullable=False,
              comment="as written: a version, a range, a commit; empty: the latest"),
    # A URI may be longer than what a row of PostgreSQL's usual index takes.
    sa.Index("ix_uses_target", "target", postgresql_using="hash"),
)

runs = sa.Table(
    "runs", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("job_id", Text(64), nullable=False),
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="SET NULL")),
    sa.Column("source_id", sa.ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    sa.Column("type", Text(16), nullable=False),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("version", Text(255), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint("job_id", "source_id", "type", "name"),
    sa.Index("ix_runs_source_id_type_name", "source_id", "type", "name"),
    sa.Index("ix_runs_user_id", "user_id"),
    comment="one row for each component that took part in a submitted job",
)

github_tokens = sa.Table(
    "github_tokens", metadata,
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("sealed", sa.LargeBinary, nullable=False,
              comment="the token, encrypted with the key named by key_id and bound to user_id"),
    sa.Column("key_id", Text(16), nullable=False),
    sa.Column("login", Text(255), nullable=False),
    sa.Column("github_id", sa.BigInteger, nullable=False, comment="GitHub's number of the user"),
    sa.Column("kind", Text(16), nullable=False, comment="classic, fine-grained or other"),
    sa.Column("scopes", sa.JSON, comment="of a classic token; None: it has none to tell of"),
    sa.Column("last_four", Text(4), nullable=False),
    sa.Column("expires_at", sa.DateTime),
    sa.Column("verified_at", sa.DateTime, nullable=False),
    sa.Column("last_used_at", sa.DateTime),
    sa.Column("problem", Text(32), comment="a code: why it does not work any more; None: it does"),
    sa.Column("access_wanted_at", sa.DateTime,
              comment="the user looked at something, so what they may read is to be asked again"),
    sa.Column("access_checked_at", sa.DateTime),
    sa.Column("background_used", sa.Integer, nullable=False, server_default="0",
              comment="background requests since background_since"),
    sa.Column("background_since", sa.DateTime),
    sa.Column("limited_until", sa.DateTime, comment="GitHub asked to wait until then"),
    sa.Column("sso_url", Text,
              comment="where the token is authorized for an organization that asked for it"),
    sa.Column("sso_at", sa.DateTime, comment="when that was; None: nobody asks for it"),
)

image_logins = sa.Table(
    "image_logins", metadata,
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("server", Text(255), primary_key=True, comment="a registry, as images name it"),
    sa.Column("username", Text(255), nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False,
              comment="the secret, encrypted with the key named by key_id, bound to the row"),
    sa.Column("key_id", Text(16), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("last_used_at", sa.DateTime),
)

repo_access = sa.Table(
    "repo_access", metadata,
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("repo_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("level", Text(8), nullable=False, comment="none, read, write or admin"),
    sa.Column("checked_at", sa.DateTime, nullable=False,
              comment="when the user's own token last proved it"),
    sa.Column("etag", Text(255)),
    sa.Index("ix_repo_access_repo_id", "repo_id"),
)

publications = sa.Table(
    "publications", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.ForeignKey("users.id", ondelete="CASCADE"),
              nullable=False, index=True),
    sa.Column("open_key", Text, unique=True,
              comment="user, repository and component while it is open, so that there is one"),
    sa.Column("state", Text(32), nullable=False, comment="the step that was reached"),
    sa.Column("repo_id", sa.BigInteger, nullable=False, comment="the repository it is for"),
    sa.Column("repository", Text(255), nullable=False, comment="its owner/name"),
    sa.Column("base_branch", Text(255), nullable=False),
    sa.Column("type", Text(16), nullable=False),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("version", Text(255), nullable=False),
    sa.Column("path", Text, nullable=False),
    sa.Column("text", Text, nullable=False, comment="the YAML to publish"),
    sa.Column("before", Text,
              comment="what stands at the path on base_sha; None: nothing, or not looked yet"),
    sa.Column("title", Text, nullable=False),
    sa.Column("body", Text, nullable=False),
    sa.Column("is_signed_off", sa.Boolean, nullable=False,
              comment="the user agreed to a Signed-off-by line"),
    sa.Column("is_direct", sa.Boolean, nullable=False, server_default=sa.false(),
              comment="the branch is in the repository itself, not in a fork"),
    sa.Column("base_sha", Text(40)),
    sa.Column("tree_sha", Text(40)),
    sa.Column("commit_sha", Text(40)),
    sa.Column("fork_id", sa.BigInteger),
    sa.Column("fork", Text(255), comment="owner/name of the fork, as GitHub answered"),
    sa.Column("branch", Text(255)),
    sa.Column("pull_number", sa.Integer),
    sa.Column("pull", sa.JSON, comment="what was last seen of it: url, state, checks, reviews"),
    sa.Column("problem", Text(32), comment="a code: why it does not go on by itself"),
    sa.Column("detail", Said, nullable=False, server_default="",
              comment="GitHub's own words, without secrets"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("next_at", sa.DateTime, comment="not before then; None: nothing more to do"),
    sa.Column("confirmed_at", sa.DateTime,
              comment="when its author last agreed to it; None: a draft that was never sent"),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("updated_at", sa.DateTime, nullable=False),
    sa.Index("ix_publications_next_at", "next_at"),
)

webhook_deliveries = sa.Table(
    "webhook_deliveries", metadata,
    sa.Column("id", Text(64), primary_key=True, comment="X-GitHub-Delivery"),
    sa.Column("received_at", sa.DateTime, nullable=False),
)

search_outbox = sa.Table(
    "search_outbox", metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("type", Text(16), nullable=False),
    sa.Column("name", Text(255), nullable=False),
    sa.Column("source_id", sa.Integer, nullable=False),
)


def create_engine(url: str) -> sa.Engine:
    """Open the database; SQLite gets write-ahead logging, foreign keys and a 10 s busy timeout.

    No message of it holds the password or what was to be written. Raises RegistryError where its
    driver is missing or the URL cannot be read; DatabaseUnavailableError comes from whatever uses
    the engine while a PostgreSQL server does not answer.
    """
    is_sqlite = url.startswith("sqlite")
    try:
        parts = sa.make_url(url)
        if not is_sqlite and "connect_timeout" not in parts.query:
            parts = parts.update_query_dict({"connect_timeout": CONNECT_TIMEOUT_S})
        engine = sa.create_engine(parts, pool_pre_ping=not is_sqlite, hide_parameters=True)
    except (ImportError, sa.exc.NoSuchModuleError) as error:
        raise RegistryError(
            f"The database of PAISHARE_DATABASE_URL cannot be opened: {error}. Is its driver "
            "installed beside PAIShare? For PostgreSQL: pip install 'paishare[postgres]', and a "
            "URL that begins with postgresql+psycopg://.") from error
    except (ValueError, sa.exc.ArgumentError):
        raise unreadable() from None  # its text may quote a part of the password
    if "@" in (parts.host or ""):
        raise unreadable()
    (_on_sqlite if is_sqlite else _on_server)(engine)
    return engine


def unreadable() -> RegistryError:
    return RegistryError(
        "PAISHARE_DATABASE_URL cannot be read. Write it as postgresql+psycopg://user:password@host"
        ":5432/database, with every special character of the password as %XX: @ is %40, / is %2F.")


def _on_sqlite(engine: sa.Engine) -> None:
    @event.listens_for(engine, "connect")
    def set_pragmas(connection, _record):  # type: ignore[no-untyped-def]
        for pragma in ("journal_mode=WAL", "foreign_keys=ON", "busy_timeout=10000",
                       "synchronous=NORMAL"):
            connection.execute(f"PRAGMA {pragma}")


def _on_server(engine: sa.Engine) -> None:
    """A server that is away is an error of its own; its cause, for the log, says where it is."""
    @event.listens_for(engine, "handle_error")
    def name_it(context: sa.ExceptionContext) -> None:
        is_away = context.connection is None or context.is_disconnect
        if is_away and not context.is_pre_ping:
            raise DatabaseUnavailableError(Sentence(
                "The database of this server does not answer, so nothing was changed. Try again in "
                "a moment; if it stays, tell the administrator.")) from context.original_exception


def place(url: sa.URL) -> str:
    """Where a database is, as a message may tell it."""
    query = {name: value for name, value in url.query.items() if name in ("host", "port")}
    return url.set(query=query).render_as_string(hide_password=True)


def upgrade(engine: sa.Engine) -> None:
    """Bring the tables to the newest form; safe to call at every start.

    Raises RegistryError where the database cannot be reached, read or written.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        with engine.begin() as connection:
            _check_encoding(connection)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except DatabaseUnavailableError as error:
        raise DatabaseUnavailableError(
            f"The database {place(engine.url)} does not answer: {_first_line(error.__cause__)}. Is "
            "its server running, and may PAIShare log in there? PAISHARE_DATABASE_URL names it."
            ) from error
    except sa.exc.DBAPIError as error:
        raise RegistryError(
            f"The database {place(engine.url)} cannot be used: {_first_line(error.orig)}. Is it "
            "there, may it be written, and has its disk room? PAISHARE_HOME or "
            "PAISHARE_DATABASE_URL names it.") from error


def _check_encoding(connection: sa.Connection) -> None:
    if connection.dialect.name != "postgresql":
        return
    encoding = connection.scalar(sa.text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise RegistryError(
            f"The database {place(connection.engine.url)} holds text as {encoding}, in which not "
            "every component can be written. Make one with CREATE DATABASE … TEMPLATE template0 "
            "ENCODING 'UTF8' and name it in PAISHARE_DATABASE_URL.")


def _first_line(error: BaseException | None) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
