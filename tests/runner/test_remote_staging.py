"""Inputs from storages that the operator names: cached, checked, mounted, and sent back."""
import hashlib
import json
from types import SimpleNamespace

import pytest

from runner import outcome
from runner.artifacts import JobFolders
from runner.cache import FetchCancelled
from runner.errors import StagingError
from runner.job_store import JobStore
from runner.outcome import Decision
from runner.spec import Input, job_spec_from_json
from runner.staging import Mount, Owner, Stager
from runner.storage_return import StorageReturn
from runner.storages import StoragesFile
from tests.fakes.webhdfs import Hadoop
from tests.functional.runner_process import spec


@pytest.fixture
def hadoop():
    with Hadoop() as cluster:
        yield cluster


@pytest.fixture
def storages(hadoop, tmp_path):
    path = tmp_path / "storages.json"
    path.touch(0o600)
    (tmp_path / "nas").mkdir()

    def write(**changes):
        path.write_text(json.dumps({
            "lake": {"kind": "hdfs", "web": f"http://{hadoop.name_node}", "rpc": "lake:9000",
                     "dataNodes": [hadoop.data_node], "members": ["ann", "bob"], **changes},
            "nas": {"kind": "folder", "path": str(tmp_path / "nas"), "readOnly": True}}))
    write()
    return write


@pytest.fixture
def stager(storages, tmp_path):
    return Stager(tmp_path / "cache", tmp_path / "storage", [],
                  storages=StoragesFile(tmp_path / "storages.json"))


@pytest.fixture
def ann(tmp_path):
    return Owner(user="ann", folder=tmp_path / "jobs/1/storage")


def data(path="a.csv", **more):
    return Input(kind="file", uri=f"hdfs://lake:9000/{path}", target="in/a.csv", **more)


def storage(uri="hdfs://lake:9000/models"):
    return Input(kind="storage", uri=uri, target="out/models")


def fetch(stager, item, owner):
    return stager.fetch(item, owner, report=lambda *_: None, is_cancelled=lambda: False)


def send_back(stager, item, owner):
    return stager.send_back(item, owner, report=lambda *_: None, is_cancelled=lambda: False)


# -- data -----------------------------------------------------------------------------------------


def opened(hadoop):
    return [path for _, _, op, path in hadoop.asked if op == "OPEN"]


def test_a_file_is_fetched_once_and_asked_after_from_then_on(hadoop, stager, ann):
    hadoop.put("/a.csv", b"1,2")
    first = fetch(stager, data(), ann)
    count = len(opened(hadoop))
    assert fetch(stager, data(), ann) == first and len(opened(hadoop)) == count
    hadoop.put("/a.csv", b"3,4")
    assert fetch(stager, data(), ann).sha256 != first.sha256


def test_the_same_bytes_under_two_uris_are_stored_once(hadoop, stager, ann, tmp_path):
    hadoop.put("/a.csv", b"1,2")
    hadoop.put("/b.csv", b"1,2")
    assert fetch(stager, data(), ann).sha256 == fetch(stager, data("b.csv"), ann).sha256
    assert len(list((tmp_path / "cache/data").iterdir())) == 1


def test_nobody_but_members_has_a_file_though_it_is_pinned_and_here(hadoop, stager, ann):
    hadoop.put("/a.csv", b"1,2")
    pinned = fetch(stager, data(), ann)
    eve = Owner(user="eve", folder=ann.folder)
    with pytest.raises(StagingError, match="User eve may not use hdfs://lake:9000"):
        fetch(stager, pinned, eve)


def test_a_wrong_checksum_is_refused_and_leaves_nothing(hadoop, stager, ann, tmp_path):
    hadoop.put("/a.csv", b"1,2")
    with pytest.raises(StagingError, match="has the checksum .* The file has changed"):
        fetch(stager, data(sha256="0" * 64), ann)
    assert not list((tmp_path / "cache/data").iterdir())
    assert not list((tmp_path / "cache/parts").iterdir())


def test_a_fetch_that_was_cut_short_goes_on_where_it_was(hadoop, stager, ann, monkeypatch):
    monkeypatch.setattr("runner.remote_files.CHUNK_BYTES", 4)
    monkeypatch.setattr("runner.cache._REPORT_EVERY_S", 1e-9)
    hadoop.put("/a.csv", b"0123456789")

    def cut(_text, current, _total):
        if current == 4:
            raise FetchCancelled

    assert stager.fetch(data(), ann, report=cut, is_cancelled=lambda: False) == data()
    hadoop.asked.clear()
    assert fetch(stager, data(), ann).sha256 == hashlib.sha256(b"0123456789").hexdigest()
    assert len(opened(hadoop)) == 2 * 2  # two pieces, and each asks both nodes


@pytest.mark.parametrize("uri", ["hdfs://lake:9000", "storage://nas", "storage://nas/a.csv",
                                 "hdfs://lake:9000/a.csv?delete=yes"])
def test_what_is_no_file_is_no_data(stager, ann, uri):
    with pytest.raises(StagingError, match="names no file"):
        fetch(stager, Input(kind="file", uri=uri, target="in/a.csv"), ann)


def folder(**more):
    return Input(kind="file", uri="hdfs://lake:9000/digits/", target="in/digits", **more)


def test_a_folder_of_data_is_mounted_whole_and_cannot_be_written(hadoop, stager, ann, tmp_path):
    hadoop.put("/digits/train/1", b"one")
    hadoop.put("/digits/2", b"two")
    pinned = fetch(stager, folder(), ann)
    *_, mount = stager.mount([pinned], tmp_path / "work", ann)
    assert mount == Mount(source=mount.source, target="in/digits", read_only=True)
    assert (mount.source / "train/1").read_bytes() + (mount.source / "2").read_bytes() == b"onetwo"
    assert {oct(path.stat().st_mode & 0o777) for path in mount.source.rglob("*")
            if path.is_file()} == {"0o444"}


def test_of_a_folder_only_what_changed_is_fetched_again(hadoop, stager, ann):
    for name in ("1", "2"):
        hadoop.put(f"/digits/{name}", b"old")
    first = fetch(stager, folder(), ann)
    hadoop.put("/digits/2", b"new")
    hadoop.asked.clear()
    second = fetch(stager, folder(), ann)
    assert second.sha256 != first.sha256 and set(opened(hadoop)) == {"/digits/2"}
    assert fetch(stager, first, ann) == first


def test_a_pinned_folder_that_has_changed_is_refused(hadoop, stager, ann, tmp_path):
    hadoop.put("/digits/1", b"old")
    with pytest.raises(StagingError, match="Files in it have changed"):
        fetch(stager, folder(sha256="0" * 64), ann)
    assert not list((tmp_path / "cache/new").iterdir())


def test_a_folder_counts_once_and_makes_room_as_a_whole(hadoop, stager, ann, monkeypatch):
    monkeypatch.setattr("runner.cache.FRESH_S", -1)
    for name in ("1", "2"):
        hadoop.put(f"/digits/{name}", name.encode() * 1000)
    pinned = fetch(stager, folder(), ann)
    assert stager.size() == 2000
    assert stager.shrink(0, [pinned]) == 0
    assert stager.shrink(0, []) == 2000 and stager.size() <= 2000
    assert fetch(stager, pinned, ann) == pinned


def test_a_folder_without_files_is_told(stager, ann):
    with pytest.raises(StagingError, match="has no files in it"):
        fetch(stager, folder(), ann)


# -- storage --------------------------------------------------------------------------------------


def test_a_copy_is_mounted_and_what_changed_is_sent_back(hadoop, stager, ann, tmp_path):
    hadoop.put("/models/a", b"1")
    fetch(stager, storage(), ann)
    folder, copy = stager.mount([storage()], tmp_path / "work", ann)
    assert copy == Mount(source=copy.source, target="out/models", read_only=False)
    assert copy.source.is_relative_to(ann.folder)
    (copy.source / "b").write_bytes(b"2")
    assert send_back(stager, storage(), ann).files == 1
    assert hadoop.content("/models/b") == b"2"


def test_a_copy_goes_with_its_job_unless_it_holds_what_was_never_sent(
        hadoop, stager, ann, tmp_path):
    fetch(stager, storage(), ann)
    stager.mount([storage()], tmp_path / "work", ann)
    assert not stager.drop_copies(ann.folder)
    send_back(stager, storage(), ann)
    assert stager.drop_copies(ann.folder) and not list(ann.folder.iterdir())


def test_what_is_read_only_is_mounted_so_and_never_sent(hadoop, stager, ann, tmp_path, storages):
    storages(readOnly=True)
    hadoop.put("/models/a", b"1")
    items = [storage(), Input(kind="storage", uri="storage://nas", target="out/nas")]
    for item in items:
        fetch(stager, item, ann)
    assert [mount.read_only for mount in stager.mount(items, tmp_path / "work", ann)] == [
        False, True, True]
    assert send_back(stager, storage(), ann) is None
    assert stager.drop_copies(ann.folder)


# -- sending when an attempt has ended ------------------------------------------------------------

WELL = Decision(state="SUCCEEDED", reason="All tasks have ended well.")


@pytest.fixture
def job(tmp_path):
    """A job with storage, its store, and the attempt that has just ended."""
    store = JobStore(tmp_path / "runner.db")
    made, _ = store.enqueue(job_spec_from_json(spec("true", storage=[{
        "kind": "storage", "uri": "hdfs://lake:9000/models", "target": "out/models"}])), None)
    folders = JobFolders(tmp_path / "jobs")
    owner = Owner(user="ann", folder=folders.storage(made.id))
    yield SimpleNamespace(store=store, job=made, folders=folders, owner=owner)
    store.close()


@pytest.fixture
def end(job, stager, tmp_path, monkeypatch):
    monkeypatch.setattr("runner.storage_return.TRY_FOR_S", 0)
    fetch(stager, storage(), job.owner)
    *_, copy = stager.mount([storage()], tmp_path / "work", job.owner)
    (copy.source / "b").write_bytes(b"2")
    sender = StorageReturn(stager=stager, store=job.store, folders=job.folders,
                           report=lambda _: lambda *_: None, is_closed=lambda: False)
    return lambda decision=WELL: sender.send(job.job, decision)


def texts(job):
    return [event["text"] for event in job.store.events(job.job.id)]


def test_what_was_sent_is_told_with_what_others_had_changed(hadoop, job, end):
    hadoop.put("/models/b", b"theirs")
    assert end() == WELL
    assert texts(job)[-1] == (
        "Sent 1 file to hdfs://lake:9000/models. 1 file had been changed there meanwhile and is "
        "replaced: b.")


def test_an_attempt_that_ended_well_fails_where_its_storage_cannot_be_sent(hadoop, job, end):
    hadoop.location = "http://169.254.169.254"
    found = end()
    assert (found.state, found.cause) == ("FAILED", outcome.STAGING)
    assert found.reason.startswith("The tasks have ended well. Its storage could not be sent: ")
    assert f"stays on this machine in {job.owner.folder}." in found.reason


def test_an_attempt_that_failed_keeps_its_own_reason(hadoop, end):
    failed = Decision(state="FAILED", cause=outcome.USER, reason="Task main-0 failed.")
    hadoop.location = "http://169.254.169.254"
    found = end(failed)
    assert (found.state, found.cause) == ("FAILED", outcome.USER)
    assert found.reason.startswith("Task main-0 failed. Its storage could not be sent: ")


def test_a_stop_ends_the_sending_but_a_stopped_job_sends_too(hadoop, job, end):
    job.store.request_stop(job.job.id)
    assert end().cause == outcome.STOPPED and "/models/b" not in hadoop.files
    assert end(outcome.STOPPED_BY_REQUEST) == outcome.STOPPED_BY_REQUEST
    assert hadoop.content("/models/b") == b"2"
