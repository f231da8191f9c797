"""Inputs of a task: pinned by fetch, laid out by mount."""
import dataclasses
import errno
import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import StagingError
from runner.spec import Input
from runner.staging import Mount, Owner, Stager
from tests.runner.repositories import commit, git, make_repository
from tests.runner.web_server import WebServer

ANN = Owner(user="ann", folder=Path("/nonexistent"))


@pytest.fixture
def web():
    with WebServer() as server:
        server.files["/a.csv"] = b"1,2"
        yield server


@pytest.fixture
def origin(tmp_path):
    folder = make_repository(tmp_path / "srv/project")
    commit(folder, {"train.py": "print(1)", "data/a.csv": "1,2", "run.sh": "#!/bin/sh\n"})
    return folder


@pytest.fixture
def stager(tmp_path):
    return Stager(tmp_path / "cache", tmp_path / "storage", [tmp_path / "srv"],
                  allow_loopback=True)


@pytest.fixture
def work(tmp_path):
    return tmp_path / "work"


def fetch(stager, item, is_cancelled=lambda: False):
    return stager.fetch(item, ANN, report=lambda *_: None, is_cancelled=is_cancelled)


def lay_out(stager, work, *items, user="ann"):
    return stager.mount([fetch(stager, item) for item in items], work,
                        dataclasses.replace(ANN, user=user))


def of_file(uri, target="digits/a.csv", **more):
    return Input(kind="file", uri=uri, target=target, **more)


def of_git(folder, target="code/project", **more):
    return Input(kind="git", uri=f"file://{folder}", target=target, **more)


def of_storage(uri, target="out/models"):
    return Input(kind="storage", uri=uri, target=target)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


# -- fetch ----------------------------------------------------------------------------------------


def test_every_kind_comes_back_pinned(stager, web, origin):
    done = git(origin, "rev-parse", "HEAD")
    checksum = sha256(b"1,2")
    assert fetch(stager, of_file(f"{web.url}/a.csv")).sha256 == checksum
    assert fetch(stager, of_git(origin)).commit == done
    assert fetch(stager, of_git(origin, path="data")) == of_git(origin, path="data", commit=done)
    assert fetch(stager, of_git(origin, path="data/a.csv")) == of_git(
        origin, path="data/a.csv", commit=done, sha256=checksum)
    assert fetch(stager, of_storage("models")) == of_storage("models")


def test_what_is_pinned_and_here_needs_nobody(stager, web, origin):
    items = [fetch(stager, item) for item in (
        of_file(f"{web.url}/a.csv"), of_git(origin), of_git(origin, path="data"),
        of_git(origin, path="data/a.csv"))]
    origin.rename(origin.with_name("gone"))
    web.files.clear()
    assert [fetch(stager, item) for item in items] == items


def test_what_is_missing_is_told_and_nothing_is_fetched(stager, web, origin):
    data, pinned = of_file(f"{web.url}/a.csv"), of_file(f"{web.url}/a.csv", sha256=sha256(b"1,2"))
    assert [stager.supply(item).missing for item in (
        data, pinned, of_git(origin), of_storage("models"))] == [3, 3, 0, 0]
    assert stager.supply(of_file(f"{web.url}/none")).missing is None
    assert stager.supply(of_file("https://ann:pw@host.invalid/x")).uri == "https://…@host.invalid/x"
    assert stager.size() == 0
    fetch(stager, data)
    assert [stager.supply(item).missing for item in (data, pinned)] == [0, 0]


def test_a_cancelled_fetch_gives_the_input_back_as_it_was(stager, web, origin):
    for item in (of_file(f"{web.url}/a.csv"), of_git(origin)):
        assert fetch(stager, item, is_cancelled=lambda: True) == item


@pytest.mark.parametrize("uri", ["hdfs://host:9000/x", "a/b", "..", "ftp://x/y", "", "/etc",
                                 "https://ann:pw@host/x"])
def test_storage_that_cannot_be_is_refused_before_the_job_waits(stager, uri):
    with pytest.raises(StagingError) as caught:
        fetch(stager, of_storage(uri))
    assert "pw" not in str(caught.value)
    assert not caught.value.is_platform


def test_a_file_of_a_repository_is_held_to_its_checksum(stager, origin):
    with pytest.raises(StagingError, match="'train.py' in .* has the checksum .* at commit"):
        fetch(stager, of_git(origin, path="train.py", sha256="0" * 64))


def test_a_link_in_a_repository_is_neither_file_nor_folder(stager, origin):
    (origin / "link").symlink_to("/etc/passwd")
    commit(origin, {})
    with pytest.raises(StagingError, match="'link' in .* is a link"):
        fetch(stager, of_git(origin, path="link"))


def test_a_disk_that_fails_is_the_platforms_fault_and_names_the_input(stager, web, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "/cache/x")
    monkeypatch.setattr("runner.cache.os.replace", fail)
    with pytest.raises(StagingError) as caught:
        fetch(stager, of_file(f"{web.url}/a.csv"))
    assert caught.value.is_platform
    assert str(caught.value).startswith(
        f"{web.url}/a.csv: No space left on device (/cache/x). Look after the disk")


# -- mount ----------------------------------------------------------------------------------------


def test_a_data_file_is_mounted_read_only_into_a_writable_folder(stager, web, work, tmp_path):
    mounts = lay_out(stager, work, of_file(f"{web.url}/a.csv"))
    assert mounts == (
        Mount(source=work / "digits", target="digits", read_only=False),
        Mount(source=tmp_path / "cache/data" / sha256(b"1,2"), target="digits/a.csv",
              read_only=True))
    assert (work / "digits").stat().st_mode & 0o777 == 0o777
    assert (work / "digits/a.csv").is_file()


def test_a_repository_is_a_writable_tree_of_its_own(stager, origin, work):
    mounts = lay_out(stager, work, of_git(origin))
    assert mounts == (Mount(source=work / "code", target="code", read_only=False),)
    assert (work / "code/project/train.py").read_text() == "print(1)"
    assert git(work / "code/project", "rev-parse", "HEAD") == git(origin, "rev-parse", "HEAD")


def test_one_folder_of_a_repository_is_a_plain_tree(stager, origin, work):
    lay_out(stager, work, of_git(origin, "code/data", path="data"))
    assert [path.name for path in (work / "code/data").iterdir()] == ["a.csv"]


def test_one_file_of_a_repository_is_mounted_and_can_be_run(stager, origin, work):
    _, mount = lay_out(stager, work, of_git(origin, "code/run.sh", path="run.sh"))
    assert mount.read_only and mount.target == "code/run.sh"
    assert mount.source.read_text() == "#!/bin/sh\n"
    assert os.access(mount.source, os.X_OK)


def test_storage_is_a_folder_of_the_user_that_stays(stager, work, tmp_path):
    mounts = lay_out(stager, work, of_storage("models"))
    assert mounts[1] == Mount(source=tmp_path / "storage/ann/models", target="out/models",
                              read_only=False)
    (tmp_path / "storage/ann/models/kept").write_text("x")
    lay_out(stager, work, of_storage("models"))
    assert (tmp_path / "storage/ann/models/kept").exists()
    assert lay_out(stager, work, of_storage("models"), user="bob")[1].source == (
        tmp_path / "storage/bob/models")


def test_an_allowed_folder_can_be_storage(stager, work, tmp_path):
    shared = tmp_path / "srv/shared"
    with pytest.raises(StagingError, match="is no folder of this machine. Make it first"):
        lay_out(stager, work, of_storage(f"file://{shared}"))
    shared.mkdir(parents=True)
    assert lay_out(stager, work, of_storage(f"file://{shared}"))[1].source == shared


def test_a_source_folder_gives_repositories_and_nothing_else(tmp_path, origin, work):
    stager = Stager(tmp_path / "cache", tmp_path / "storage", [], source_folders=[tmp_path / "srv"])
    lay_out(stager, work, of_git(origin))
    assert (work / "code/project/train.py").read_text() == "print(1)"
    for item in (of_storage(f"file://{origin}"), of_storage(f"file://{tmp_path}/srv"),
                 of_file(f"file://{origin}/train.py"), of_file(f"file://{origin}/.git/config")):
        with pytest.raises(StagingError, match="outside of the folders that jobs may read"):
            fetch(stager, item)


@pytest.mark.parametrize("user", ["..", ".", "", "a/b", "a\0b", ".hidden", "x" * 256])
def test_a_user_whose_name_is_no_folder_gets_no_storage(stager, work, user):
    with pytest.raises(StagingError, match="cannot have a folder"):
        lay_out(stager, work, of_storage("models"), user=user)


def test_prerequisites_of_one_name_share_a_folder(stager, web, origin, work):
    mounts = lay_out(stager, work, of_file(f"{web.url}/a.csv", "all/a.csv"),
                     of_git(origin, "all/project"), of_storage("models", "all/models"))
    assert [mount.target for mount in mounts] == ["all", "all/a.csv", "all/models"]
    assert sorted(path.name for path in (work / "all").iterdir()) == ["a.csv", "models", "project"]


def test_an_input_named_twice_is_mounted_once(stager, web, work):
    item = of_file(f"{web.url}/a.csv")
    assert len(lay_out(stager, work, item, item)) == 2


@pytest.mark.parametrize("other", ["digits/a.csv", "digits/a.csv/b", "digits"])
def test_two_inputs_in_one_place_are_refused(stager, web, work, other):
    with pytest.raises(StagingError, match="Give one of the prerequisites another name"):
        lay_out(stager, work, of_file(f"{web.url}/a.csv"), of_storage("models", other))


def test_a_second_layout_starts_afresh(stager, origin, work):
    lay_out(stager, work, of_git(origin))
    (work / "code/project/train.py").write_text("spoilt")
    (work / "code/left").write_text("half")
    lay_out(stager, work, of_git(origin))
    assert (work / "code/project/train.py").read_text() == "print(1)"
    assert not (work / "code/left").exists()


def test_targets_without_a_folder_work_too(stager, web, origin, work):
    mounts = lay_out(stager, work, of_file(f"{web.url}/a.csv", "a.csv"), of_git(origin, "project"),
                     of_storage("models", "models"))
    assert [mount.target for mount in mounts] == ["project", "a.csv", "models"]
    assert (work / "project/train.py").exists()


def test_what_was_never_fetched_or_has_left_the_cache_says_so(stager, web, origin, work, tmp_path):
    done = fetch(stager, of_file(f"{web.url}/a.csv"))
    (tmp_path / "cache/data" / done.sha256).unlink()
    unfetched = dataclasses.replace(of_git(origin), commit="0" * 40)
    for item in (done, of_file(f"{web.url}/a.csv"), of_git(origin), unfetched):
        with pytest.raises(StagingError, match="is not in the cache any more") as caught:
            stager.mount([item], work, ANN)
        assert caught.value.is_platform


NAME = st.from_regex(r"\A(?!\.{1,2}\Z)[A-Za-z0-9._~-]{1,6}\Z")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(NAME, NAME, NAME), min_size=1, max_size=4))
def test_whatever_the_names_nothing_leaves_its_folder(tmp_path_factory, names):
    root = tmp_path_factory.mktemp("s")
    stager = Stager(root / "cache", root / "storage", [])
    items = [of_storage(uri, f"{folder}/{last}") for folder, last, uri in names]
    try:
        mounts = stager.mount(items, root / "work", ANN)
    except StagingError:
        return
    for mount in mounts:
        assert mount.source.is_dir()
        assert mount.source.is_relative_to(
            root / "storage/ann" if "/" in mount.target else root / "work")


# --- repositories of this machine that lack files --------------------------------------------

@pytest.fixture
def holed(origin):
    """A repository that was fetched without the content of one file."""
    commit(origin, {"large.bin": "x" * 1000})
    object_id = git(origin, "rev-parse", "HEAD:large.bin")
    (origin / ".git" / "objects" / object_id[:2] / object_id[2:]).unlink()
    return origin


@pytest.mark.parametrize("path, file", [("data", "a.csv"), ("data/a.csv", None),
                                        ("run.sh", None)])
def test_of_a_repository_with_holes_comes_what_is_named(stager, work, holed, path, file):
    item = Input(kind="git", uri=holed.as_uri(), path=path, target="x/it",
                 commit=git(holed, "rev-parse", "HEAD"))
    fetched = fetch(stager, item)
    assert fetch(stager, item) == fetched
    mounts = stager.mount([fetched], work, ANN)
    if file:
        assert (work / "x/it" / file).read_text() == "1,2"
    else:
        source, = (mount.source for mount in mounts if mount.target == "x/it")
        assert source.read_bytes() == (holed / path).read_bytes()
        assert os.access(source, os.X_OK) == path.endswith(".sh")


def test_a_hole_in_what_is_named_is_told(stager, holed):
    item = Input(kind="git", uri=holed.as_uri(), path="large.bin", target="x/it",
                 commit=git(holed, "rev-parse", "HEAD"))
    with pytest.raises(StagingError, match="could not be fetched"):
        fetch(stager, item)
