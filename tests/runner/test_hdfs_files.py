"""Hadoop by WebHDFS: files brought, sent and listed; led to no other machine, whatever it says."""
import json

import pytest

from runner.errors import StagingError
from runner.network import Network
from runner.remote_files import BrokenOff, RemoteFile, remote_files
from runner.storages import Hdfs
from tests.fakes.webhdfs import Hadoop
from tests.runner.web_server import WebServer


@pytest.fixture
def hadoop():
    with Hadoop() as cluster:
        yield cluster


def open_files(hadoop, **more):
    said = {"data_nodes": (hadoop.data_node,), "user": "paishare", **more}
    return remote_files(Hdfs(name="lake", web=f"http://{hadoop.name_node}", **said), Network())


@pytest.fixture
def files(hadoop):
    return open_files(hadoop)


def test_a_file_is_looked_at_and_read_from_any_byte_on(hadoop, files):
    hadoop.put("/core/get it.bin", b"0123456789")
    found = files.look("core/get it.bin")
    assert (found.path, found.size) == ("core/get it.bin", 10)
    assert [b"".join(files.read(found, offset)) for offset in (0, 4, 10)] == [
        b"0123456789", b"456789", b""]
    assert {who for who, _, _, _ in hadoop.asked} == {"paishare"}


def test_a_large_file_comes_in_pieces(hadoop, files, monkeypatch):
    monkeypatch.setattr("runner.remote_files.CHUNK_BYTES", 4)
    hadoop.put("/a", b"0123456789")
    assert list(files.read(files.look("a"), 1)) == [b"1234", b"5678", b"9"]


def test_what_is_not_there_or_is_a_folder_says_so(hadoop, files):
    hadoop.put("/core/a", b"1")
    with pytest.raises(StagingError, match="lake: none is not there. Check its name."):
        files.look("none")
    with pytest.raises(StagingError, match="core is no file"):
        files.look("core")


def test_a_file_that_changes_while_it_is_read_is_not_taken(hadoop, files):
    hadoop.put("/a", b"old")
    found = files.look("a")
    hadoop.put("/a", b"new")
    with pytest.raises(BrokenOff, match="changed"):
        list(files.read(found, 0))


def test_all_files_below_a_folder_are_listed(hadoop, files):
    for name in ("/in/a", "/in/deep/b", "/inner/c", "/in/d.paishare-part"):
        hadoop.put(name, b"1")
    assert {file.path for file in files.list("in")} == {"in/a", "in/deep/b"}
    assert {file.path for file in files.list("")} == {"in/a", "in/deep/b", "inner/c"}
    assert list(files.list("none")) == []


def test_a_file_is_sent_replaced_and_removed(hadoop, files, tmp_path):
    (tmp_path / "model").write_bytes(b"weights")
    for _ in range(2):
        sent = files.write(tmp_path / "model", "out/model")
    assert sent == RemoteFile(path="out/model", size=7, version=files.look("out/model").version)
    assert {path: content for path, (content, _) in hadoop.files.items()} == {
        "/out/model": b"weights"}
    files.remove("out/model")
    assert hadoop.files == {}


@pytest.mark.parametrize("name", ["a?b", "a#b", "a%20b", "a b", "a+b", "ä", "a&op=DELETE", "c:"])
def test_a_name_is_never_taken_for_another_one(hadoop, files, tmp_path, name):
    (tmp_path / "local").write_bytes(b"1")
    files.write(tmp_path / "local", f"odd/{name}")
    assert list(hadoop.files) == [f"/odd/{name}"]
    assert b"".join(files.read(*files.list("odd"), 0)) == b"1"


def test_an_empty_and_a_large_file_are_sent_whole(hadoop, files, tmp_path, monkeypatch):
    monkeypatch.setattr("runner.remote_files.CHUNK_BYTES", 1 << 16)
    for name, content in (("empty", b""), ("large", bytes(range(256)) * 1000)):
        (tmp_path / name).write_bytes(content)
        assert files.write(tmp_path / name, name).size == len(content)
        assert hadoop.content(f"/{name}") == content


def test_a_token_is_used_and_never_told(hadoop, caplog):
    hadoop.put("/a", b"1")
    hadoop.token = "the-secret-token"
    assert open_files(hadoop, user="", token="the-secret-token").look("a").size == 1
    wrong = open_files(hadoop, user="", token="another-secret-token")
    with pytest.raises(StagingError, match="may not be used with the keys") as caught:
        wrong.look("a")
    assert "secret" not in str(caught.value) + caplog.text


def test_a_cluster_that_refuses_says_why(hadoop, files):
    hadoop.refusal = (403, "StandbyException", "Operation category READ is not supported")
    with pytest.raises(StagingError, match="the server says: Operation category READ") as caught:
        files.look("a")
    assert caught.value.is_platform


# -- a cluster that means ill ---------------------------------------------------------------------


@pytest.mark.parametrize("location", [
    "http://169.254.169.254", "http://127.0.0.1:{port}", "http://localhost:{port}",
    "http://{node}@127.0.0.1:{port}", "http://[::1]:{port}"])
def test_readers_and_writers_are_sent_nowhere_but_to_the_data_nodes_that_are_named(
        hadoop, files, tmp_path, location):
    hadoop.put("/a", b"1")
    found = files.look("a")
    (tmp_path / "b").write_bytes(b"1")
    with WebServer() as inner:
        hadoop.location = location.format(port=inner.port, node=hadoop.data_node)
        for act in (lambda: list(files.read(found, 0)),
                    lambda: files.write(tmp_path / "b", "b")):
            with pytest.raises(StagingError, match="none of the data nodes"):
                act()
        assert inner.requests == []


def test_an_address_that_jobs_may_not_reach_is_refused_even_where_it_is_named(hadoop):
    hadoop.put("/a", b"1")
    files = open_files(hadoop, data_nodes=("169.254.169.254",))
    hadoop.location = "http://169.254.169.254"
    with pytest.raises(StagingError, match="address that jobs may not reach"):
        list(files.read(files.look("a"), 0))


def test_no_more_is_taken_than_was_said_and_what_breaks_off_goes_on(hadoop, files):
    hadoop.put("/a", b"0123456789")
    found = files.look("a")
    hadoop.more = b"more"
    assert b"".join(files.read(found, 0)) == b"0123456789"
    hadoop.more, hadoop.breaks, hadoop.break_after = b"", 1, 4
    with pytest.raises(BrokenOff):
        list(files.read(found, 0))
    assert b"".join(files.read(found, 4)) == b"456789"


def test_an_answer_without_end_is_left(hadoop, files, monkeypatch):
    monkeypatch.setattr("runner.remote_files.MAX_ANSWER_BYTES", 1000)
    hadoop.put("/a", b"0123456789")
    found = files.look("a")
    hadoop.more = b"x" * 100_000
    with pytest.raises(StagingError, match="more than was asked for"):
        list(files.read(found, 0))


@pytest.mark.parametrize("name", ["..", ".", "", "a/../../b", "a\x1bb"])
def test_names_that_lead_elsewhere_are_refused(hadoop, files, name):
    hadoop.answer = json.dumps({"FileStatuses": {"FileStatus": [
        hadoop._status("FILE", name, 1, 1)]}}).encode()
    with pytest.raises(StagingError, match="cannot be the name of a file here"):
        list(files.list("in"))


def test_folders_in_folders_without_end_are_left(hadoop, files, monkeypatch):
    monkeypatch.setattr("runner.remote_files.MAX_DEPTH", 5)
    hadoop.answer = json.dumps({"FileStatuses": {"FileStatus": [
        hadoop._status("DIRECTORY", "in", 0, 1)]}}).encode()
    with pytest.raises(StagingError, match="or folders too deep"):
        list(files.list("in"))


def test_a_folder_with_too_many_files_is_left(hadoop, files, monkeypatch):
    monkeypatch.setattr("runner.remote_files.MAX_FILES", 3)
    for number in range(4):
        hadoop.put(f"/in/{number}", b"1")
    with pytest.raises(StagingError, match="more than 3 files"):
        list(files.list("in"))


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}", b'{"FileStatus": 7}',
                                    b'{"FileStatus": {"type": "FILE"}}'])
def test_a_server_of_another_kind_is_told_from_a_name_node(hadoop, files, answer):
    hadoop.answer = answer
    with pytest.raises(StagingError, match="does not answer as WebHDFS does"):
        files.look("a")


def test_a_cluster_that_is_away_is_worth_another_try(hadoop):
    files = remote_files(Hdfs(name="lake", web="http://127.0.0.1:1"), Network())
    with pytest.raises(StagingError, match="out of reach") as caught:
        files.look("a")
    assert caught.value.is_platform
