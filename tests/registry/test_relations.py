"""What uses what, which version exactly, and what a yank would change."""
from datetime import datetime

import pytest
import sqlalchemy as sa

from registry import db
from registry.component import parse
from registry.recommendation import Recommendation
from registry.relations import Relations
from registry.uses import Use, uses_of
from tests.registry.marketplace import Marketplace, data, image
from tests.registry.repository import Repository


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


def test_a_file_at_a_new_place_keeps_the_relative_uris_of_its_first(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.add(origin.path)
    origin.commit({"data/a.yaml": data("a", uri="./f")})
    market.run()
    origin.commit({"data/a.yaml": None, "team/data/a.yaml": data("a", uri="./f")})
    market.run()
    assert uses_in(market) == {("a", "1.0.0", "data", "./data/f")}


JOB = """\
name: {name}
type: job
version: {version}
prerequisites: {needs}
tasks:
  - role: main
    resource: {{resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: [echo]
"""


def job(name, *needs, version="1.0.0"):
    """A job that needs these references, or these prerequisites written out; and one image."""
    images = [need for need in needs if isinstance(need, dict) and need["type"] == "dockerimage"]
    return JOB.format(name=name, version=version,
                      needs=[*needs, *([] if images else [inline("dockerimage", "busybox")])])


def inline(type, uri):
    return {"name": type, "type": type, "uri": uri}


@pytest.fixture(scope="module")
def shared(tmp_path_factory, databases):
    """`data/d` in three versions with users by every kind of reference."""
    folder = tmp_path_factory.mktemp("relations")
    market = Marketplace(folder / "home", databases.new())
    one, two = Repository(folder / "one"), Repository(folder / "two")
    tf = inline("dockerimage", "o/tf:1")
    one.commit({
        "data/d.yaml": data("d"), "dockerimage/tf.yaml": image("tf", uri="docker.io/o/tf:1"),
        "script/s.yaml": data("s", type="script", uri="https://github.com/o/r.git@main"),
        "job/exact.yaml": job("exact", "data/d@1.0.0", tf),
        "job/script.yaml": job("script", inline("script", "https://GitHub.com/o/r/@v2")),
        "job/address.yaml": job("address", inline("data", "HTTPS://example.org/x"))})
    market.commit = one.commit({
        "data/d.yaml": data("d", "1.1.0"),
        "job/exact.yaml": job("exact", tf, "data/d@1.0.0", version="1.1.0")})
    one.commit({"data/d.yaml": data("d", "2.0.0", uri="https://example.org/y"),
                "job/range.yaml": job("range", "data/d@^1.0"),
                "job/latest.yaml": job("latest", "data/d"),
                "job/newest.yaml": job("newest", "one:d@latest"),
                "job/commit.yaml": job("commit", f"data/d@{market.commit[:10]}"),
                "job/nothing.yaml": job("nothing", "data/d@^9")})
    one.commit({"job/exact.yaml": job("exact", "data/d@2.0.0", version="2.0.0")})
    two.commit({"job/elsewhere.yaml": job("elsewhere", "one:data/d@1.1.0"),
                "data/other.yaml": data("other", uri="https://example.org:443/x")})
    market.add(one.path), market.add(two.path)
    assert not [report.error for report in market.sync.run_once() if report.error]
    market.relations = Relations(market.engine, market.catalog)
    yield market
    market.close()


def users(market, reference):
    entry = market.catalog.get(reference)
    return {(user.newest.reference, user.older)
            for user in market.relations.used_by(entry, user_id=None).users}


@pytest.mark.parametrize("version, expected", [
    ("1.0.0", {("job/exact@1.1.0", 1), ("job/address@1.0.0", 0)}),
    ("1.1.0", {("job/range@1.0.0", 0), ("job/commit@1.0.0", 0), ("job/elsewhere@1.0.0", 0),
               ("job/address@1.0.0", 0)}),
    ("2.0.0", {("job/latest@1.0.0", 0), ("job/newest@1.0.0", 0), ("job/exact@2.0.0", 0)})])
def test_a_version_is_used_by_those_whose_reference_means_it_now(shared, version, expected):
    assert users(shared, f"data/d@{version}") == expected


def test_an_image_is_used_by_jobs_that_write_it_out(shared):
    assert users(shared, "dockerimage/tf") == {("job/exact@1.1.0", 1)}


def test_a_script_is_used_by_jobs_with_its_repository(shared):
    assert users(shared, "script/s") == {("job/script@1.0.0", 0)}


def test_two_components_of_the_same_data_are_the_same_and_not_users(shared):
    entry = shared.catalog.get("data/d@1.1.0")
    same = shared.relations.used_by(entry, user_id=None).same
    assert [each.reference for each in same] == ["data/other@1.0.0"]


def test_users_that_use_it_no_longer_come_last(shared):
    found = shared.relations.used_by(shared.catalog.get("data/d@1.0.0"), user_id=None).users
    assert [(user.newest.name, user.is_current) for user in found] == [
        ("address", True), ("exact", False)]


def test_what_a_version_uses_leads_to_the_catalog(shared):
    def found(reference):
        entry = shared.catalog.get(reference)
        meant = shared.relations.found(uses_of(parse(entry.text), entry.path), entry.source_id,
                                       user_id=None)
        return {use.target: each and each.reference for use, each in meant.items()}
    assert found("job/exact@1.1.0") == {
        "d": "data/d@1.0.0", "docker.io/o/tf:1": "dockerimage/tf@1.0.0"}
    assert found("job/range")["d"] == "data/d@1.1.0"
    assert found("job/nothing") == {"d": None, "docker.io/library/busybox:latest": None}
    assert found("job/address")["https://example.org/x"] == "data/other@1.0.0"


def test_a_yank_moves_ranges_and_the_latest_and_leaves_exact_references(shared):
    def moved(version):
        entry = shared.catalog.get(f"data/d@{version}")
        return {(each.user.newest.name, each.after and each.after.version)
                for each in shared.relations.consequences(entry, user_id=None).first}
    assert moved("1.0.0") == set()
    assert moved("1.1.0") == {("range", "1.0.0")}
    assert moved("2.0.0") == {("latest", "1.1.0"), ("newest", "1.1.0")}


def test_a_reference_that_a_yank_leaves_without_a_version_breaks_and_says_why(market, tmp_path):
    origin = Repository(tmp_path / "origin")
    market.add(origin.path)
    origin.commit({"data/d.yaml": data("d"), "job/j.yaml": job("j", "data/d@^1")})
    market.run()
    found, = Relations(market.engine, market.catalog).consequences(
        market.catalog.get("data/d"), user_id=None).first
    assert found.after is None
    assert found.reason == ("Every version of data/d within ^1 is yanked. Name one exactly, or "
                            "another range.")


def test_a_relative_path_means_the_same_in_one_source_only(market, tmp_path):
    for name in ("one", "two"):
        origin = Repository(tmp_path / name)
        origin.commit({f"data/{name}.yaml": data(name, uri="../files/x"),
                       "job/j.yaml": job(f"of_{name}", inline("data", "../files/x"))})
        market.add(origin.path)
    market.sync.run_once()
    relations = Relations(market.engine, market.catalog)
    found = relations.used_by(market.catalog.get("data/one"), user_id=None)
    assert [user.newest.name for user in found.users] == ["of_one"] and not found.same


def test_used_by_is_the_inversion_of_what_each_version_uses(shared):
    every = [entry for kind, name in (("data", "d"), ("data", "other"), ("dockerimage", "tf"),
                                      ("script", "s"), *(("job", name) for name in (
                                          "exact", "script", "address", "range", "latest",
                                          "newest", "commit", "nothing", "elsewhere")))
             for entry in shared.catalog.versions(kind, name)]
    written = {entry.id: set(uses_of(parse(entry.text), entry.path)) for entry in every}
    for target in every:
        stands_for = {(use.kind, use.target) for use in written[target.id]
                      if target.type != "job" and use.kind != "reference"}
        expected = []
        for user in every:
            meant = shared.relations.found(written[user.id], user.source_id, user_id=None)
            refers = any(use.kind == "reference" and found and found.id == target.id
                         for use, found in meant.items())
            shares = user.type != target.type and stands_for & {
                (use.kind, use.target) for use in written[user.id]}
            expected += [user.name] if refers or shares else []
        found = shared.relations.used_by(target, user_id=None)
        assert sorted(name for user in found.users
                      for name in [user.newest.name] * (user.older + 1)) == sorted(expected)
        assert found.total == len(set(expected))


def test_what_a_reader_may_not_see_is_in_no_list_and_no_count(market, tmp_path):
    open_, closed = Repository(tmp_path / "open"), Repository(tmp_path / "closed")
    open_.commit({"data/d.yaml": data("d"), "job/seen.yaml": job("seen", "data/d")})
    closed.commit({"job/secret.yaml": job("secret", "data/d", "data/hidden"),
                   "data/hidden.yaml": data("hidden"),
                   "data/twin.yaml": data("twin", uri="https://example.org/x")})
    market.add(open_.path), market.add(closed.path)
    market.sync.run_once()
    with market.engine.begin() as connection:
        closed_id = connection.scalar(sa.select(db.sources.c.id).where(
            db.sources.c.name == "closed"))
        connection.execute(db.runs.insert(), [
            {"job_id": "1", "source_id": closed_id, "type": "job", "name": "secret",
             "version": "", "created_at": datetime(2026, 1, 1)},
            {"job_id": "1", "source_id": closed_id - 1, "type": "data", "name": "d",
             "version": "", "created_at": datetime(2026, 1, 1)}])
        connection.execute(db.sources.update().where(db.sources.c.id == closed_id).values(
            kind="closed"))
    entry = market.catalog.get("data/d")
    relations, recommendation = (Relations(market.engine, market.catalog),
                                 Recommendation(market.engine))
    found = relations.used_by(entry, user_id=None)
    assert ([user.newest.name for user in found.users], found.total, found.same) == (
        ["seen"], 1, ())
    moved = relations.consequences(entry, user_id=None)
    assert ([each.user.newest.name for each in moved.first], moved.total) == (["seen"], 1)
    assert recommendation.together(entry, 9, user_id=None) == ()
    assert [each.entry.name for each in recommendation.most_used(9, user_id=None)] == ["d"]
    secret = next(iter(relations.found(
        {Use(kind="reference", target="hidden", target_type="data")}, entry.source_id,
        user_id=None).values()))
    assert secret is None
