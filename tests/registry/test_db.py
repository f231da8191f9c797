import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from registry import db
from registry.errors import RegistryError


def test_the_migrations_make_exactly_the_tables_of_the_code(tmp_path):
    engine = db.create_engine(f"sqlite:///{tmp_path}/registry.db")
    db.upgrade(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), db.metadata) == []
    engine.dispose()


def test_upgrading_twice_changes_nothing(tmp_path):
    engine = db.create_engine(f"sqlite:///{tmp_path}/registry.db")
    db.upgrade(engine)
    with engine.begin() as connection:
        connection.execute(db.search_outbox.insert().values(type="job", name="a", source_id=1))
    db.upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(sa.select(db.search_outbox.c.name)) == "a"
    engine.dispose()


def test_sqlite_writes_ahead_and_holds_foreign_keys(tmp_path):
    engine = db.create_engine(f"sqlite:///{tmp_path}/registry.db")
    with engine.connect() as connection:
        found = {name: connection.execute(sa.text(f"PRAGMA {name}")).scalar()
                 for name in ("journal_mode", "foreign_keys", "busy_timeout")}
    assert found == {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 10000}
    engine.dispose()


def test_a_driver_that_is_missing_is_named():
    with pytest.raises(RegistryError, match="sqlalchemy.dialects:postgresql.no.*pip install"):
        db.create_engine("postgresql+no://ann:secret@host/registry")


def test_a_database_that_cannot_be_used_is_named_with_the_cause(tmp_path):
    (tmp_path / "registry.db").write_text("no database at all, but a text of some length" * 9)
    engine = db.create_engine(f"sqlite:///{tmp_path}/registry.db")
    with pytest.raises(RegistryError, match="registry.db cannot be used: file is not a database"):
        db.upgrade(engine)
    engine.dispose()
