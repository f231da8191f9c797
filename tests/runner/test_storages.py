"""The storages that the operator names: what their file says, and who may use which."""
import json
import threading
from pathlib import Path

import pytest

from runner.errors import RunnerError, StagingError
from runner.named_folder import named_folder
from runner.storages import Bucket, Folder, Hdfs, StoragesFile, storages_from_json
from runner.uris import RemotePath, split_remote

LAKE = {"kind": "hdfs", "web": "http://10.0.0.1:9870", "rpc": "10.0.0.1:9000",
        "dataNodes": ["10.0.0.2"], "user": "paishare"}
BUCKET = {"kind": "s3", "bucket": "digits", "endpoint": "https://s3.example.org",
          "accessKey": "the-key", "secretKey": "the-secret"}


def write(path, value, mode=0o600):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    path.chmod(mode)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "storages.json"


def find(path, uri, user="ann"):
    return StoragesFile(path).find(uri, user)


def test_each_kind_is_found_by_its_uri(path):
    write(path, {"lake": LAKE, "b": BUCKET, "nas": {"kind": "folder", "path": "/mnt/nas"}})
    for uri in ("hdfs://10.0.0.1:9000/a/b", "webhdfs://10.0.0.1:9870/a/b"):
        storage, place = find(path, uri)
        assert isinstance(storage, Hdfs) and place.path == "a/b"
    assert isinstance(find(path, "s3://digits/a")[0], Bucket)
    assert isinstance(find(path, "storage://nas")[0], Folder)


@pytest.mark.parametrize("uri", ["s3://other/a", "hdfs://10.0.0.1:9870/a", "storage://digits",
                                 "storage://lake", "hdfs://10.0.0.1/a", "s3://nas/a"])
def test_what_is_not_named_is_not_used(path, uri):
    write(path, {"lake": LAKE, "b": BUCKET, "nas": {"kind": "folder", "path": "/mnt/nas"}})
    with pytest.raises(StagingError, match="this machine does not know .* RUNNER_STORAGES"):
        find(path, uri)


def test_without_a_file_there_are_no_storages(path):
    with pytest.raises(StagingError, match="this machine does not know s3://digits"):
        find(path, "s3://digits/a")


def test_members_alone_use_a_storage_each_by_the_keys_that_are_theirs(path):
    write(path, {"ours": {**BUCKET, "members": ["ann"]},
                 "theirs": {**BUCKET, "members": ["bob"], "readOnly": True}})
    assert find(path, "s3://digits/a", "ann")[0].name == "ours"
    assert find(path, "s3://digits/a", "bob")[0].is_read_only
    with pytest.raises(StagingError, match="User eve may not use s3://digits. Ask the operator"):
        find(path, "s3://digits/a", "eve")


def test_a_file_that_others_can_read_is_refused_with_what_to_say(path):
    write(path, {"b": BUCKET}, 0o640)
    with pytest.raises(RunnerError, match=f"chmod 600 {path}"):
        StoragesFile(path)


def test_a_change_counts_at_once_and_a_mistake_leaves_what_was(path, caplog):
    write(path, {"b": BUCKET})
    storages = StoragesFile(path)
    write(path, {"b": {**BUCKET, "bucket": "letters"}})
    assert storages.find("s3://letters/a", "ann")[0].name == "b"
    write(path, '{"b": {"secretKey": "the-secret"')
    assert storages.find("s3://letters/a", "ann")[0].name == "b"
    assert "is not JSON. The storages from before stay." in caplog.text
    assert "the-secret" not in caplog.text


@pytest.mark.parametrize("value, said", [
    ([], "the file must be an object"), ({"b": 7}, "b must be an object"),
    ({"../x": BUCKET}, "cannot be the name"), ({"b": {"kind": "ftp"}}, "b.kind must be one of"),
    ({"b": {**BUCKET, "buckets": 1}}, "unknown field 'buckets'"),
    ({"b": {"kind": "s3", "endpoint": "https://h"}}, "b.bucket is missing"),
    ({"b": {**BUCKET, "endpoint": "s3.example.org"}}, "b.endpoint must be an address such as"),
    ({"b": {**BUCKET, "endpoint": "https://k:s@host"}}, "b.endpoint must be an address such as"),
    ({"b": {**BUCKET, "secretKey": 7}}, "b.secretKey must be a text"),
    ({"b": {k: v for k, v in BUCKET.items() if k != "secretKey"}}, "accessKey and secretKey, or"),
    ({"b": {**BUCKET, "members": "ann"}}, "b.members must be a list"),
    ({"b": {**BUCKET, "readOnly": "no"}}, "b.readOnly must be true or false"),
    ({"n": {"kind": "folder", "path": "nas"}}, "n.path must be an absolute path"),
    ({"l": {**LAKE, "token": "t"}}, "l.token says who asks"),
    ({"l": {"kind": "hdfs", "web": "http://h", "password": "p"}}, "l.password needs a user")])
def test_a_mistake_is_told_with_its_place(value, said):
    with pytest.raises(RunnerError) as caught:
        storages_from_json(value)
    assert said in caught.value.message and "the-secret" not in caught.value.message


def test_no_text_of_a_storage_holds_its_secrets():
    bucket, lake = storages_from_json({"b": BUCKET, "l": {
        "kind": "hdfs", "web": "https://h", "user": "u", "password": "the-secret"}})
    assert "the-" not in repr(bucket) + str(lake)


def test_a_folder_may_not_hold_what_the_runner_relies_on(path, tmp_path):
    write(path, {"all": {"kind": "folder", "path": str(tmp_path)}})
    with pytest.raises(RunnerError, match="must stay out of their reach"):
        StoragesFile(path, [tmp_path / "home"])


# -- folders --------------------------------------------------------------------------------------


def test_a_folder_is_used_as_a_whole(tmp_path):
    (tmp_path / "nas").mkdir()
    storage = Folder(name="nas", path=tmp_path / "nas")
    assert named_folder(storage, split_remote("storage://nas")) == tmp_path / "nas"
    with pytest.raises(StagingError, match="is used as a whole"):
        named_folder(storage, split_remote("storage://nas/inner"))


@pytest.mark.parametrize("name, said", [("none", "No such file"), ("file", "is no folder")])
def test_a_folder_that_cannot_be_used_says_why(tmp_path, name, said):
    (tmp_path / "file").touch()
    with pytest.raises(StagingError, match=said):
        named_folder(Folder(name="nas", path=tmp_path / name), split_remote("storage://nas"))


def test_a_folder_is_not_written_to_while_nothing_is_mounted_there(tmp_path):
    with pytest.raises(StagingError, match="is not mounted on this machine") as caught:
        named_folder(Folder(name="nas", path=tmp_path, must_be_mounted=True),
                     split_remote("storage://nas"))
    assert caught.value.is_platform
    assert named_folder(Folder(name="nas", path=Path("/proc"), must_be_mounted=True),
                        split_remote("storage://nas"))


def test_a_server_of_files_that_has_gone_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr("runner.named_folder.ANSWER_S", 0.01)
    is_back = threading.Event()
    monkeypatch.setattr("runner.named_folder._look", lambda _: is_back.wait())
    with pytest.raises(StagingError, match="storage://nas does not answer"):
        named_folder(Folder(name="nas", path=tmp_path), split_remote("storage://nas"))
    is_back.set()


# -- URIs -----------------------------------------------------------------------------------------


def test_a_uri_is_taken_apart():
    assert split_remote("S3://bucket/a%20b/c/?delete=yes") == RemotePath(
        scheme="s3", host="bucket", path="a b/c", deletes=True)
    assert split_remote("hdfs://h:9000") == RemotePath(scheme="hdfs", host="h:9000", path="")


@pytest.mark.parametrize("uri", [
    "s3://", "s3:///a", "ftp://h/a", "s3://k:s@b/a", "s3://b/a b", "s3://b/../a", "s3://b/a/%2e%2e",
    "s3://b/a%2F%2Fb", "s3://b/a?delete=no", "s3://b/a?versionId=1", "s3://b/a%0Ab", "s3://b/a\nb"])
def test_a_uri_that_is_none_is_refused(uri):
    with pytest.raises(StagingError) as caught:
        split_remote(uri)
    assert "k:s@" not in caught.value.message
