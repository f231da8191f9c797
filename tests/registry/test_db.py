"""The tables and the connection, on SQLite and on a real PostgreSQL."""
import logging
from datetime import datetime
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from registry import db
from registry.errors import DatabaseUnavailableError, RegistryError
from tests.postgresql import PASSWORD

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901)
SOURCE = {"id": 1, "name": "one", "kind": "local", "location": "/one", "commits": 1,
          "created_at": NOW}
VERSION = {"source_id": 1, "type": "data", "name": "digits", "version": "1.0.0",
           "commit": "c" * 40, "committed_at": NOW, "path": "data/digits.yaml", "blob": "b" * 40,
           "position": 0, "text": "名: ä", "contributor": "Ann", "description": "",
           "warnings": [], "is_latest": True, "is_present": True}


@pytest.fixture
def engine(database_url):
    engine = db.create_engine(database_url)
    db.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def empty_url(databases, postgresql, request):
    """A database without tables."""
    url = databases.new()
    if url.startswith("postgresql"):
        databases.drop(url)
        url = postgresql.new_database(template="template1")
        request.addfinalizer(lambda: postgresql.drop(url))
    return url


def upgrade_to(engine, revision):
    config = Config()
    config.set_main_option("script_location", "registry/migrations")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_the_migrations_make_exactly_the_tables_of_the_code(engine):
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), db.metadata)
    assert [difference for difference in found if not is_comment(difference)] == []


def is_comment(difference):
    """SQLite keeps none, so they stand in the code alone."""
    return isinstance(difference, list) and difference[0][0] == "modify_comment"


def test_upgrading_twice_changes_nothing(engine):
    with engine.begin() as connection:
        connection.execute(db.search_outbox.insert().values(type="job", name="a", source_id=1))
    db.upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(sa.select(db.search_outbox.c.name)) == "a"


def test_what_the_first_release_wrote_is_there_after_the_upgrade(empty_url):
    engine = db.create_engine(empty_url)
    upgrade_to(engine, "0001")
    first = sa.MetaData()
    first.reflect(engine, only=["sources", "versions"])
    with engine.begin() as connection:
        connection.execute(first.tables["sources"].insert().values(SOURCE))
        connection.execute(first.tables["versions"].insert().values(
            {**VERSION, "warnings": [{"message": "short"}]}))
    db.upgrade(engine)
    with engine.connect() as connection:
        source = connection.execute(sa.select(db.sources)).one()
        version = connection.execute(sa.select(db.versions)).one()
    assert (source.sub_paths, source.tag_prefix, source.created_at) == ([], None, NOW)
    assert (version.text, version.is_latest, version.committed_at) == ("名: ä", True, NOW)
    assert (version.is_moved, version.tags, version.readme, version.warnings) == (
        False, [], "", [{"message": "short"}])
    engine.dispose()


def test_text_is_ordered_and_told_apart_byte_by_byte(engine):
    names = ["b", "B", "a_b", "a-b", "Ä", "ä", "A", "中", "ab", "_", "~"]
    with engine.begin() as connection:
        connection.execute(db.search_outbox.insert(), [
            {"type": "data", "name": name, "source_id": 1} for name in names])
        ordered = connection.scalars(sa.select(db.search_outbox.c.name).order_by(
            db.search_outbox.c.name)).all()
        assert ordered == sorted(names)
        assert connection.scalars(sa.select(db.search_outbox.c.name).where(
            db.search_outbox.c.name == "a")).all() == []


def test_every_text_of_postgresql_has_the_collation_that_orders_by_bytes(postgresql):
    engine = db.create_engine(postgresql.url("whole"))
    with engine.connect() as connection:
        rows = connection.execute(sa.text(
            "SELECT table_name, column_name FROM information_schema.columns WHERE "
            "table_schema = 'public' AND data_type IN ('text', 'character varying') AND "
            "collation_name IS DISTINCT FROM 'C' AND table_name <> 'alembic_version'"))
        assert rows.all() == []
    engine.dispose()


def test_nul_which_postgresql_cannot_hold_is_shown_as_a_sign(engine):
    with engine.begin() as connection:
        connection.execute(db.search_outbox.insert().values(type="a\0b", name="\0", source_id=1))
        row = connection.execute(sa.select(db.search_outbox).where(
            db.search_outbox.c.type == "a\0b")).one()
    assert (row.type, row.name) == ("a␀b", "␀")


def test_a_uri_of_any_length_is_kept_and_found(engine):
    long = "".join(quote(chr(0x4e00 + number)) for number in range(20_000))
    with engine.begin() as connection:
        connection.execute(db.sources.insert().values(SOURCE))
        connection.execute(db.versions.insert().values(id=1, **VERSION))
        connection.execute(db.uses.insert().values(
            version_id=1, kind="data", target_type="data", target=long, target_source="",
            target_version=""))
        assert connection.scalar(sa.select(sa.func.count()).where(db.uses.c.target == long)) == 1


def test_an_id_of_a_source_is_never_given_twice(engine):
    values = {key: value for key, value in SOURCE.items() if key != "id"}
    ids = []
    for _ in range(2):
        with engine.begin() as connection:
            ids.append(connection.execute(db.sources.insert().values(values)).inserted_primary_key)
            connection.execute(db.sources.delete())
    assert ids[0] != ids[1]


def test_sqlite_writes_ahead_and_holds_foreign_keys(tmp_path):
    engine = db.create_engine(f"sqlite:///{tmp_path}/registry.db")
    with engine.connect() as connection:
        found = {name: connection.execute(sa.text(f"PRAGMA {name}")).scalar()
                 for name in ("journal_mode", "foreign_keys", "busy_timeout")}
    assert found == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 10000}
    engine.dispose()


# --- messages -----------------------------------------------------------------------------------

def test_a_driver_that_is_missing_is_named():
    with pytest.raises(RegistryError, match="sqlalchemy.dialects:postgresql.no.*pip install"):
        db.create_engine("postgresql+no://ann:secret@host/registry")


def test_a_database_that_cannot_be_used_is_named_with_the_cause(tmp_path):
    (tmp_path / "registry.db").write_text("no database at all, but a text of some length" * 9)
    engine = db.create_engine(f"sqlite:///{tmp_path}/registry.db")
    with pytest.raises(RegistryError, match="registry.db cannot be used: file is not a database"):
        db.upgrade(engine)
    engine.dispose()


@pytest.mark.parametrize("authority", [
    "ann:se@cret@host", "ann:secret@host:secret", "ann:secret@host:5432x", "ann:secret@[::1"])
def test_a_url_that_cannot_be_read_is_refused_without_its_password(authority):
    with pytest.raises(RegistryError, match="%40") as caught:
        db.create_engine(f"postgresql+psycopg://{authority}/registry")
    assert "cret" not in everything(caught.value)


def test_a_server_that_is_away_is_an_error_of_its_own(tmp_path):
    engine = db.create_engine(
        f"postgresql+psycopg://ann:secret@/registry?host={tmp_path}&password=secret")
    with pytest.raises(DatabaseUnavailableError, match="answer: .*Is its server run") as caught:
        db.upgrade(engine)
    assert quote(str(tmp_path), safe="") in caught.value.message and caught.value.status == 503
    assert "secret" not in everything(caught.value)


def test_a_database_that_cannot_hold_every_text_is_refused(postgresql):
    url = postgresql.new_database(
        "latin", "template0 ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc")
    engine = db.create_engine(url)
    with pytest.raises(RegistryError, match="holds text as LATIN1.*ENCODING 'UTF8'"):
        db.upgrade(engine)
    engine.dispose()
    postgresql.drop(url)


def test_a_wrong_password_is_told_without_the_password(postgresql):
    engine = db.create_engine(postgresql.url("whole", "wr/ong@secret"))
    with pytest.raises(DatabaseUnavailableError, match="password authentication failed") as caught:
        db.upgrade(engine)
    assert "secret" not in everything(caught.value) and "wr/ong" not in everything(caught.value)


def test_no_message_or_log_holds_the_password_or_what_was_written(engine, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(sa.exc.IntegrityError) as caught, engine.begin() as connection:
        for _ in range(2):
            connection.execute(db.users.insert().values(
                name="ann", password_hash="the hash", is_admin=False, session_epoch=0,
                created_at=NOW))
    said = everything(caught.value, but_cause=True) + caplog.text + repr(engine) + str(engine.url)
    assert "the hash" not in said and PASSWORD not in said and quote(PASSWORD, safe="") not in said


def everything(error, *, but_cause=False):
    """What a log would show of it, with its causes."""
    said = ""
    while error is not None:
        said += f"{error!r} {error} "
        error = None if but_cause else error.__cause__ or (
            None if error.__suppress_context__ else error.__context__)
    return said
