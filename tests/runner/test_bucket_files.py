"""Buckets, by a real S3 server: files brought, sent and listed; keys and addresses kept."""
import dataclasses

import fsspec
import pytest

from runner.errors import StagingError
from runner.network import Network
from runner.remote_files import BrokenOff, RemoteFile, remote_files
from runner.storages import Bucket
from tests.runner.s3_server import S3Server


@pytest.fixture(scope="module")
def server():
    with S3Server() as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    """Somebody else at the same server."""
    return fsspec.filesystem("s3", key=server.access_key, secret=server.secret_key,
                             endpoint_url=server.url, use_listings_cache=False)


@pytest.fixture(scope="module")
def storage(server, client):
    client.call_s3("create_bucket", Bucket="digits")
    return Bucket(name="digits", bucket="digits", endpoint=server.url,
                  access_key=server.access_key, secret_key=server.secret_key)


@pytest.fixture(scope="module")
def files(storage):
    return remote_files(storage, Network())


def test_a_file_is_looked_at_and_read_from_any_byte_on(files, client):
    client.pipe_file("digits/read/b.bin", b"0123456789")
    found = files.look("read/b.bin")
    assert (found.path, found.size) == ("read/b.bin", 10)
    assert [b"".join(files.read(found, offset)) for offset in (0, 4, 10)] == [
        b"0123456789", b"456789", b""]


def test_what_is_not_there_says_so(files):
    with pytest.raises(StagingError, match="digits: none.csv is not there. Check its name."):
        files.look("none.csv")


def test_a_file_that_changed_since_it_was_looked_at_is_not_mixed_with_the_new_one(files, client):
    client.pipe_file("digits/changed", b"old")
    found = files.look("changed")
    client.pipe_file("digits/changed", b"new")
    with pytest.raises(BrokenOff):
        list(files.read(found, 1))


def test_all_files_below_a_folder_are_listed_and_no_others(files, client):
    for name in ("in/a", "in/deep/b", "inner/c"):
        client.pipe_file(f"digits/list/{name}", name.encode())
    assert {file.path for file in files.list("list/in")} == {"list/in/a", "list/in/deep/b"}
    assert {"list/inner/c", "list/in/a"} <= {file.path for file in files.list("")}
    assert list(files.list("none")) == []


def test_a_long_listing_comes_page_by_page_up_to_a_limit(files, client, monkeypatch):
    monkeypatch.setattr("runner.remote_files._PAGE", 2)
    client.pipe({f"digits/long/{number}": b"x" for number in range(5)})
    assert len(list(files.list("long"))) == 5
    monkeypatch.setattr("runner.remote_files.MAX_FILES", 3)
    with pytest.raises(StagingError, match="long holds more than 3 files"):
        list(files.list("long"))


def test_a_file_is_sent_and_removed(files, client, tmp_path):
    (tmp_path / "model").write_bytes(b"weights")
    sent = files.write(tmp_path / "model", "out/model")
    assert sent == RemoteFile(path="out/model", size=7, version=files.look("out/model").version)
    assert client.cat_file("digits/out/model") == b"weights"
    files.remove("out/model")
    assert not client.exists("digits/out/model")


def test_a_name_is_never_taken_for_another_one(files, client, tmp_path):
    client.pipe_file("digits/odd/a", b"old")
    for name in ("a?b", "a#b", "a%20b", "a b", "a+b", "ä", "a*b"):
        (tmp_path / "local").write_bytes(name.encode())
        files.write(tmp_path / "local", f"odd/{name}")
        assert b"".join(files.read(files.look(f"odd/{name}"), 0)) == name.encode()
    with pytest.raises(StagingError, match="cannot be the name of a file in a bucket"):
        files.write(tmp_path / "local", "odd/a?versionId=7")
    assert client.cat_file("digits/odd/a") == b"old"
    assert len(list(files.list("odd"))) == 8


def test_keys_and_proxies_of_the_surroundings_are_not_used(storage, client, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "of-somebody-else")
    client.pipe_file("digits/own", b"1")
    assert remote_files(storage, Network()).look("own").size == 1
    anybody = Bucket(name="digits", bucket="digits", endpoint=storage.endpoint)
    with pytest.raises(StagingError, match="may not be used with the keys"):
        remote_files(anybody, Network()).look("own")


def test_wrong_keys_are_refused_without_being_told(storage, server, caplog):
    wrong = Bucket(name="digits", bucket=storage.bucket, endpoint=server.url,
                   access_key="another-key", secret_key="another-secret")
    with pytest.raises(StagingError, match="may not be used with the keys") as caught:
        list(remote_files(wrong, Network()).list(""))
    assert "another" not in str(caught.value) + repr(wrong) + caplog.text


@pytest.mark.parametrize("host", ["169.254.169.254", "[::ffff:127.0.0.1]", "127.0.0.2"])
def test_no_bucket_is_at_an_address_that_jobs_may_not_reach(host, storage, server):
    inner = dataclasses.replace(storage, endpoint=f"http://{host}:{server.port}")
    with pytest.raises(StagingError, match="an address that jobs may not reach"):
        remote_files(inner, Network())


def test_a_name_that_leads_elsewhere_after_it_was_checked_is_not_followed(
        storage, server, monkeypatch):
    inner = dataclasses.replace(storage, endpoint=f"http://127.0.0.2:{server.port}")
    monkeypatch.setattr(Network, "addresses", lambda *_: ("192.0.2.1",))
    with pytest.raises(StagingError, match="out of reach"):
        remote_files(inner, Network()).look("a")
