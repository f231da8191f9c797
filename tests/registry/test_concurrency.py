"""Owners mark versions while a sync writes and people read, on both databases."""
import contextlib
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from registry.accounts import Accounts
from registry.db import events, marks, search_outbox, versions
from registry.entry import YANKED
from registry.errors import NotFoundError
from registry.marks import Marks
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository

NAMES = ("a", "b", "c")
COMMITS, TURNS = 5, 25


@contextlib.contextmanager
def meanwhile(*whats):
    """Each of these is done TURNS times in a thread of its own, beside the body."""
    with ThreadPoolExecutor(len(whats)) as pool:
        done = [pool.submit(lambda what=what: [what() for _ in range(TURNS)]) for what in whats]
        yield
        for each in done:
            each.result()


@pytest.fixture
def market(tmp_path, database_url):
    market = Marketplace(tmp_path / "home", database_url)
    market.origin = Repository(tmp_path / "origin")
    market.origin.commit({f"data/{name}.yaml": data(name, "1.0.0") for name in NAMES})
    market.add(market.origin.path)
    market.run()
    market.user_id = Accounts(market.engine).create_user("ann", "correct horse").id
    yield market
    market.close()


def mark(market, chance):
    """Yank or restore any version, as its state then is."""
    owner = Marks(market.engine)
    entry = chance.choice(market.catalog.versions("data", chance.choice(NAMES)))
    if chance.random() < 0.5:
        owner.yank(entry, reason="Try.", user_id=market.user_id)
    else:
        try:
            owner.restore(entry, YANKED)
        except NotFoundError:
            pass  # it was not yanked


def read(market):
    """Every component has its versions at every moment, and no search comes up short."""
    for name in NAMES:
        assert market.catalog.versions("data", name)
        assert market.catalog.get(f"data/{name}@1.0.0").version == "1.0.0"
    market.names("")


def rows(market, table, *columns):
    with market.engine.connect() as connection:
        return connection.execute(sa.select(*(table.c[column] for column in columns))).all()


def test_marks_beside_a_sync_leave_one_truth_in_catalog_and_index(market):
    chance = random.Random(7)
    with meanwhile(lambda: mark(market, chance), lambda: read(market)):
        for step in range(1, COMMITS + 1):
            market.origin.commit({f"data/{name}.yaml": data(name, f"1.{step}.0")
                                  for name in NAMES})
            market.run()
    market.sync.index()
    yanked = {(row.name, row.version) for row in rows(market, marks, "name", "version")}
    for name in NAMES:
        known = [f"1.{step}.0" for step in range(COMMITS + 1)]
        free = [version for version in known if (name, version) not in yanked]
        shown = [row.version for row in rows(market, versions, "name", "version", "is_latest")
                 if row.name == name and row.is_latest]
        assert shown == free[-1:]
        assert [hit.version for hit in market.index.search(f'"{name}"').hits
                if hit.name == name] == shown
    assert rows(market, search_outbox, "id") == []


def test_every_change_is_told_once_in_the_order_of_its_transactions(market):
    chance = random.Random(8)
    with meanwhile(*[lambda: mark(market, chance)] * 3):
        for step in range(1, COMMITS + 1):
            market.origin.commit({"data/a.yaml": data("a", f"1.{step}.0")})
            market.run()
    told = sorted(rows(market, events, "id", "kind", "name", "version"))
    state = set()
    for row in told:
        if row.kind == "restored":
            assert (row.name, row.version) in state
            state.discard((row.name, row.version))
        elif row.kind == "yanked":
            state.add((row.name, row.version))
    assert state == {(row.name, row.version) for row in rows(market, marks, "name", "version")}
