"""Shelves: what is published stays as it is, and takes no name from anybody."""
import os
import subprocess
import threading
from pathlib import Path

import pytest

from registry.accounts import Accounts
from registry.config import Settings
from registry.dump import Dumps
from registry.errors import (
    ComponentError,
    ConflictError,
    GoneError,
    InvalidInputError,
    RegistryError,
)
from registry.marks import Marks
from registry.restore import restore
from registry.shelf import Shelves, source_name
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository, git

PASSWORD = "correct horse"
JOB = """\
name: run
type: job
contributor: ann
tasks:
  - role: main
    dockerimage: busybox
    resource: {{instances: 1, resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: [{command}]
prerequisites: [{{name: busybox, type: dockerimage, uri: busybox}}]
"""


@pytest.fixture
def market(tmp_path):
    market = Marketplace(tmp_path / "home")
    market.accounts = Accounts(market.engine)
    market.shelves = Shelves(market.catalog, market.sources, market.home / "shelves")
    yield market
    market.close()


@pytest.fixture
def ann(market):
    return market.accounts.create_user("ann", PASSWORD)


def test_what_is_published_is_found_after_its_sync(market, ann):
    published = market.shelves.publish(ann, data("points"))
    assert (published.source, published.is_first, published.is_known) == ("ann-shelf", True, False)
    assert market.sources.requested() == ["ann-shelf"]
    market.sync.step(False)
    entry = market.catalog.get("data/points@1.0.0")
    assert (entry.source, entry.commit, entry.text) == (
        "ann-shelf", published.commit, data("points"))
    assert market.sources.get("ann-shelf").owner_id == ann.id


def test_the_shelf_is_a_plain_git_repository_with_the_user_as_author(market, ann):
    market.shelves.publish(ann, data("points"))
    market.shelves.publish(ann, data("lines"))
    market.shelves.publish(ann, data("points", "1.1.0"))
    shelf = market.home / "shelves" / "ann-shelf.git"
    assert git(shelf, "log", "--format=%an <%ae> %s", "main").splitlines() == [
        "ann <ann@localhost> Publish data/points@1.1.0",
        "ann <ann@localhost> Publish data/lines@1.0.0",
        "ann <ann@localhost> Publish data/points@1.0.0"]
    assert git(shelf, "ls-tree", "-r", "--name-only", "main").splitlines() == [
        "data/lines.yaml", "data/points.yaml"]
    assert subprocess.run(["git", "-C", shelf, "fsck", "--strict"], capture_output=True,
                          check=True).stdout == b""


def test_the_same_bytes_again_change_nothing(market, ann):
    first = market.shelves.publish(ann, data("points"))
    market.shelves.publish(ann, data("points", "1.1.0"))
    again = market.shelves.publish(ann, data("points"))
    assert (again.commit, again.is_known, again.is_first) == (first.commit, True, False)
    market.sync.step(False)
    assert market.versions("data/points") == ["1.1.0", "1.0.0"]


def test_a_version_never_changes_also_before_its_sync(market, ann):
    market.shelves.publish(ann, data("points"))
    market.shelves.publish(ann, data("points", "1.1.0"))
    with pytest.raises(ConflictError, match="data/points@1.0.0 is on your shelf ann-shelf already, "
                                            "with other bytes.*Write a higher `version:`"):
        market.shelves.publish(ann, data("points", description="Other."))
    market.sync.step(False)
    assert market.catalog.get("data/points@1.0.0").description == "About points."


def test_a_job_without_a_version_goes_by_its_commits(market, ann):
    first = market.shelves.publish(ann, JOB.format(command="echo 1"))
    second = market.shelves.publish(ann, JOB.format(command="echo 2"))
    market.sync.step(False)
    assert market.catalog.get("job/run").commit == second.commit
    assert "echo 1" in market.catalog.get(f"job/run@{first.commit}").text


def test_all_else_needs_a_version(market, ann):
    with pytest.raises(InvalidInputError, match="data/points needs a version.*version: 1") as error:
        market.shelves.publish(ann, data("points", "", uri="https://h.org/x"))
    assert error.value.problems[0].path == "version"


def test_a_name_that_another_source_has_is_refused(market, ann, tmp_path):
    repository = Repository(tmp_path / "examples")
    repository.commit({"data/points.yaml": data("points")})
    market.add(repository.path)
    market.run()
    with pytest.raises(ConflictError, match="data/points is in the source examples already"):
        market.shelves.publish(ann, data("points", "2.0.0"))
    assert [source.name for source in market.sources.visible()] == ["examples"]
    repository.commit({"data/points.yaml": None})
    market.run()
    with pytest.raises(ConflictError, match="in the source examples already"):
        market.shelves.publish(ann, data("points", "2.0.0"))


def test_a_name_on_another_shelf_is_refused_also_before_its_sync(market, ann):
    bob = market.accounts.create_user("bob", PASSWORD)
    market.shelves.publish(ann, data("points"))
    with pytest.raises(ConflictError, match="data/points is in the source ann-shelf already"):
        market.shelves.publish(bob, data("points", "2.0.0"))


def test_nothing_is_made_for_what_is_no_component(market, ann):
    with pytest.raises(ComponentError):
        market.shelves.publish(ann, "type: job\n")
    assert market.sources.visible() == []
    assert not (market.home / "shelves").exists()


@pytest.mark.parametrize("name, expected", [
    ("ann", "ann-shelf"), ("a.b_c-1", "a.b_c-1-shelf"), ("a~b", "user1-shelf"),
    ("..a", "user1-shelf"), ("-a", "user1-shelf")])
def test_every_user_can_have_a_shelf(market, name, expected):
    user = market.accounts.create_user(name, PASSWORD)
    assert source_name(user) == market.shelves.publish(user, data("points")).source == expected


def test_a_shelf_that_was_taken_out_comes_back_with_the_next_publication(market, ann):
    market.shelves.publish(ann, data("points"))
    market.sync.step(False)
    market.sources.remove("ann-shelf")
    market.shelves.publish(ann, data("lines"))
    market.sync.step(False)
    assert sorted(market.names()) == ["data/lines", "data/points"]


def test_a_source_that_took_the_name_of_a_shelf_is_named(market, ann, tmp_path):
    repository = Repository(tmp_path / "other")
    repository.commit({"data/x.yaml": data("x")})
    market.add(repository.path, "ann-shelf")
    with pytest.raises(ConflictError, match="There is another source called ann-shelf"):
        market.shelves.publish(ann, data("points"))
    assert not (market.home / "shelves" / "ann-shelf.git").exists()


def test_what_was_deleted_for_good_does_not_come_back(market, ann):
    market.shelves.publish(ann, data("points"))
    market.sync.step(False)
    Marks(market.engine).purge(market.catalog.get("data/points@1.0.0"), reason="By law.",
                               user_id=ann.id)
    for text in (data("points"), data("points", description="Other.")):
        with pytest.raises(GoneError, match="deleted for good: By law"):
            market.shelves.publish(ann, text)
    market.shelves.publish(ann, data("points", "1.1.0"))
    market.sync.step(False)
    assert market.versions("data/points") == ["1.1.0"]


def test_a_shelf_comes_along_with_a_dump_and_is_published_to_again(market, ann, tmp_path):
    market.shelves.publish(ann, data("points"))
    market.sync.step(False)
    Dumps(market.engine, market.catalog, market.home).export(tmp_path / "dump")
    restore(Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "twin")}), tmp_path / "dump",
            public_key=None)
    twin = Marketplace(tmp_path / "twin")
    shelves = Shelves(twin.catalog, twin.sources, twin.home / "shelves")
    user = Accounts(twin.engine).create_user("ann", PASSWORD)
    with pytest.raises(ConflictError, match="Write a higher"):
        shelves.publish(user, data("points", description="Other."))
    assert not shelves.publish(user, data("points", "1.1.0")).is_first
    twin.run()
    assert twin.versions("data/points") == ["1.1.0", "1.0.0"]
    twin.close()


def test_an_import_that_fails_at_its_last_step_leaves_nothing(market, ann, tmp_path, monkeypatch):
    market.shelves.publish(ann, data("points"))
    market.sync.step(False)
    Dumps(market.engine, market.catalog, market.home).export(tmp_path / "dump")
    settings = Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "twin")})

    rename = os.rename

    def fail(source, target):
        if Path(target).parent.name == "git":
            raise OSError(28, "No space left on device")
        rename(source, target)
    with monkeypatch.context() as patch:
        patch.setattr("registry.restore.os.rename", fail)
        with pytest.raises(RegistryError, match="No space left on device. Nothing was imported"):
            restore(settings, tmp_path / "dump", public_key=None)
    assert not [*(tmp_path / "twin").glob("*/*.git")]
    restore(settings, tmp_path / "dump", public_key=None)
    assert sorted(path.parent.name for path in (tmp_path / "twin").glob("*/*.git")) == [
        "git", "shelves"]


def test_publishing_at_the_same_time_loses_nothing(market, ann):
    threads = [threading.Thread(target=market.shelves.publish,
                                args=(ann, data("points", f"1.{number}.0")))
               for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    market.sync.step(False)
    assert market.versions("data/points") == [f"1.{number}.0" for number in range(7, -1, -1)]
