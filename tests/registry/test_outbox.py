import pytest
import sqlalchemy as sa

from registry import db
from registry.outbox import Outbox
from tests.registry.marketplace import Marketplace, data

JOB = """\
type: job
name: {name}
contributor: ann
prerequisites:
  - {uses}
tasks:
  - role: worker
    data: {uses}
    dockerimage: busybox
    resource: {{instances: 1, resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: [run]
"""


@pytest.fixture
def market(tmp_path, origin):
    market = Marketplace(tmp_path / "home")
    market.add(origin.path)
    yield market
    market.close()


def hits(market, query="", **how):
    return {hit.reference: hit for hit in market.index.search(query, page_size=100, **how).hits}


def used(market):
    return {reference.partition("@")[0]: hit.used for reference, hit in hits(market).items()}


def insert(market, table, **values):
    with market.engine.begin() as connection:
        connection.execute(table.insert().values(
            source_id=1, created_at=sa.func.current_timestamp(), user_id=None, **values))
        connection.execute(db.search_outbox.insert().values(
            source_id=1, type=values["type"], name=values["name"]))
    market.sync.index()


def test_older_versions_are_found_where_all_are_asked_for_and_only_there(market, origin):
    for number in range(1, 4):
        origin.commit({"data/a.yaml": data("a", f"{number}.0.0", description=f"word{number} each")})
        market.run()
    assert list(hits(market, "each")) == ["data/a@3.0.0"]
    assert set(hits(market, "each versions:all")) == {
        "data/a@1.0.0", "data/a@2.0.0", "data/a@3.0.0"}
    assert list(hits(market, "word2 versions:all")) == ["data/a@2.0.0"]
    assert hits(market, "word2") == {}
    assert list(hits(market, "2.0.0")) == ["data/a@3.0.0"]
    Outbox(market.engine, market.index).rebuild()
    assert set(hits(market, "each versions:all")) == {
        "data/a@1.0.0", "data/a@2.0.0", "data/a@3.0.0"}


def test_a_version_that_moved_and_one_without_a_number_are_reached_by_their_commits(
        market, origin):
    origin.commit({"data/a.yaml": data("a", description="first")})
    moved = origin.commit({"data/a.yaml": data("a", description="second")})
    nameless = origin.commit({"data/b.yaml": data("b", "", description="third")})
    origin.commit({"data/b.yaml": data("b", "", description="fourth")})
    market.run()
    assert list(hits(market, "second versions:all")) == [f"data/a@{moved[:12]}"]
    assert list(hits(market, "third versions:all")) == [f"data/b@{nameless[:12]}"]
    assert list(hits(market, "first")) == ["data/a@1.0.0"]
    assert list(hits(market, "fourth")) == ["data/b"]


def test_a_component_is_used_as_often_as_jobs_ran_it_and_others_name_it(market, origin):
    origin.commit({"data/a.yaml": data("a"), "data/b.yaml": data("b"),
                   "job/x.yaml": JOB.format(name="x", uses="data/a"),
                   "job/y.yaml": JOB.format(name="y", uses="data/a@1.0.0")})
    market.run()
    assert used(market) == {"data/a": 2, "data/b": 0, "job/x": 0, "job/y": 0}
    insert(market, db.runs, job_id="1", type="data", name="b", version="1.0.0")
    origin.commit({"job/y.yaml": JOB.format(name="y", uses="data/b")})
    market.run()
    assert used(market) == {"data/a": 1, "data/b": 2, "job/x": 0, "job/y": 0}
    assert next(iter(hits(market, sort="used"))) == "data/b@1.0.0"


def test_what_is_deprecated_is_found_as_such(market, origin):
    origin.commit({"data/a.yaml": data("a"), "data/b.yaml": data("b")})
    market.run()
    insert(market, db.marks, type="data", name="a", version="", kind="deprecated", reason="old",
           successor="data/b")
    assert list(hits(market, "is:deprecated")) == ["data/a@1.0.0"]
    assert hits(market)["data/a@1.0.0"].is_deprecated
    assert not hits(market)["data/b@1.0.0"].is_deprecated


def test_a_yanked_version_is_found_only_where_all_are_asked_for(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    market.run()
    insert(market, db.marks, type="data", name="a", version="1.0.0", kind="yanked",
           reason="wrong", successor="")
    assert hits(market) == {}
    assert list(hits(market, "versions:all")) == ["data/a@1.0.0"]


def test_a_draining_that_meets_nothing_new_changes_nothing(market, origin):
    origin.commit({"data/a.yaml": data("a")})
    market.run()
    outbox = Outbox(market.engine, market.index)
    assert (outbox.drain(), outbox.is_empty(), outbox.is_index_whole()) == (0, True, True)
