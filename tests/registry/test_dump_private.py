"""A dump holds what everybody may see: nothing of a private repository, all of a public one."""
import tarfile

import pytest
import sqlalchemy as sa

from registry import db, restore
from registry.catalog import Catalog
from registry.config import Settings
from registry.db import events, sources, uses, versions
from registry.dump import Dumps
from registry.errors import NotFoundError
from registry.marks import Marks
from registry.visibility import set_private
from tests.registry.github_market import GitHubMarket
from tests.registry.marketplace import data


@pytest.fixture
def market(tmp_path, github):
    market = GitHubMarket(tmp_path / "home", github)
    yield market
    market.close()


@pytest.fixture
def dumped(market, github, tmp_path):
    """A dump of a public and of a private repository, unpacked; both were synced for real."""
    ann = github.world.add_user("ann")
    user = market.connect(github.world.classic_token(ann, "repo"))
    for name, is_private in (("open", False), ("hidden", True)):
        made = github.world.create(ann, name, {f"data/{name}-points.yaml": data(
            f"{name}-points", description=f"All {name} facts")}, is_private=is_private)
        market.add_repository(made, sponsor_id=user, owner_id=user)
    assert [report.error for report in market.sync.run_once()] == [None, None]
    with market.engine.begin() as connection:  # a mark is set by those who see it
        set_private(connection, made.id, False)
    for name in ("open", "hidden"):
        Marks(market.engine).deprecate(market.catalog.get(f"data/{name}-points"), user_id=user,
                                       reason=f"The {name} reason", successor="", is_whole=True)
    with market.engine.begin() as connection:
        set_private(connection, made.id, True)
    path = tmp_path / "catalog.tar.gz"
    Dumps(market.engine, market.catalog, market.home).export(path)
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    return path, tmp_path / "unpacked"


def test_nothing_of_a_private_repository_is_in_a_dump(dumped):
    _, folder = dumped
    found = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert not [name for name, content in found.items() if b"hidden" in content]
    assert b"open-points" in found["versions.ndjson"]
    assert b"The open reason" in found["marks.ndjson"]
    assert sorted(name for name in found if name.endswith(".pack")) == ["1.pack"]


def test_what_was_public_serves_from_the_restored_dump(dumped, tmp_path):
    settings = Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "twin")})
    restore.restore(settings, dumped[0], public_key=None)
    engine = db.create_engine(settings.database_url)
    catalog = Catalog(engine, settings.git_dir)
    entry = catalog.get("ann/open:data/open-points")
    assert catalog.store(entry.source_id).read(entry.commit, entry.path).decode() == entry.text
    with pytest.raises(NotFoundError):
        catalog.get("data/hidden-points")
    with engine.connect() as connection:
        row = connection.execute(sa.select(sources)).one()
        counts = [connection.scalar(sa.select(sa.func.count()).select_from(table))
                  for table in (versions, events, uses)]
    assert (row.kind, row.location, row.is_private, row.sponsor_id, row.owner_id) == (
        "github", "ann/open", False, None, None)
    assert counts == [1, 2, 1]
    engine.dispose()
