"""What uses what, which version exactly, and what a yank would change."""
import pytest
import sqlalchemy as sa

from registry import db
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository


@pytest.fixture
def market(tmp_path):
    market = Marketplace(tmp_path / "home")
    yield market
    market.close()


def uses_in(market):
    with market.engine.connect() as connection:
        return {(row.name, row.version, row.kind, row.target) for row in connection.execute(
            sa.select(db.versions.c.name, db.versions.c.version, db.uses.c.kind,
                      db.uses.c.target).join(db.uses))}


def test_a_sync_writes_down_what_each_version_uses(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.add(origin.path)
    origin.commit({"data/a.yaml": data("a", uri="HTTPS://Example.org:443/a")})
    market.run()
    origin.commit({"data/a.yaml": data("a", "1.1.0", uri="../files/a")})
    market.run()
    assert uses_in(market) == {("a", "1.0.0", "data", "https://example.org/a"),
                               ("a", "1.1.0", "data", "./files/a")}


def test_a_file_at_a_new_place_has_its_relative_uris_there(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.add(origin.path)
    origin.commit({"data/a.yaml": data("a", uri="./f")})
    market.run()
    origin.commit({"data/a.yaml": None, "team/data/a.yaml": data("a", uri="./f")})
    market.run()
    assert uses_in(market) == {("a", "1.0.0", "data", "./team/data/f")}
