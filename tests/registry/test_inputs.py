import hashlib
import subprocess
from pathlib import Path

import pytest

from registry.git_store import GitStore
from registry.inputs import Base, inputs_of
from runner.spec import Input

COMMIT = "84820935288cab696c9c2ac409cbd46a1f24723d"
HOME = Path("/var/lib/paishare")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The folder `lib/data` of a real repository with two folders of files."""
    origin = tmp_path_factory.mktemp("origin")
    for path in ("lib/files/mnist.csv", "lib/data/train/a.py", "top.csv"):
        (origin / path).parent.mkdir(parents=True, exist_ok=True)
        (origin / path).write_text("1,2\n")
    (origin / "link.csv").symlink_to("/etc/passwd")
    git = ["git", "-C", str(origin), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *arguments], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    store = GitStore(tmp_path_factory.mktemp("git") / "1.git")
    store.fetch(origin)
    return Base(store, head.stdout.strip(), "lib/data/mnist.yaml")


def read(uri, kind="data", base=None):
    return inputs_of(kind, {"name": "mnist", "type": kind, "uri": uri}, base, HOME)


def refusal(uri, kind="data", base=None):
    with pytest.raises(ValueError) as caught:
        read(uri, kind, base)
    return str(caught.value)


@pytest.mark.parametrize("uri, clean, target", [
    ("https://host.org/a/mnist.npz", "https://host.org/a/mnist.npz", "mnist.npz"),
    ("http://h.org/get%20it.csv?v=2#x", "http://h.org/get%20it.csv?v=2#x", "get it.csv"),
    ("file:///srv/data/a.csv", "file:///srv/data/a.csv", "a.csv"),
    ("/srv/my data/", "file:///srv/my%20data/", "my data")])
def test_data_comes_by_http_or_file(uri, clean, target):
    assert read(uri) == (Input(kind="file", uri=clean, target=f"mnist/{target}"),)


def test_several_uris_are_several_inputs():
    assert [item.target for item in read("https://h.org/a, https://h.org/b")] == [
        "mnist/a", "mnist/b"]
    assert [item.target for item in read(["https://h.org/a,b"])] == ["mnist/a,b"]


@pytest.mark.parametrize("uri, clone, commit, target", [
    (f"https://github.com/o/bench.git@{COMMIT}", "https://github.com/o/bench.git", COMMIT, "bench"),
    ("https://github.com/o/bench@feature/x", "https://github.com/o/bench@feature/x", None, "bench"),
    ("https://github.com/o/bench/", "https://github.com/o/bench/", None, "bench"),
    ("/srv/git/bench.git@v1.0", "file:///srv/git/bench.git@v1.0", None, "bench"),
    ("http://host:3000/o/b.git@8482093", "http://host:3000/o/b.git@8482093", None, "b")])
def test_scripts_are_cloned_at_their_commit(uri, clone, commit, target):
    assert read(uri, "script") == (
        Input(kind="git", uri=clone, commit=commit, target=f"mnist/{target}"),)


@pytest.mark.parametrize("uri", ["../files/mnist.csv", "./../files//mnist.csv"])
def test_a_relative_file_is_pinned_by_commit_and_checksum(base, uri):
    assert read(uri, base=base) == (Input(
        kind="git", uri=base.store.url, path="lib/files/mnist.csv", commit=base.commit,
        target="mnist/mnist.csv", sha256=hashlib.sha256(b"1,2\n").hexdigest()),)


@pytest.mark.parametrize("uri, path, target", [
    ("train", "lib/data/train", "train"), ("../files/", "lib/files", "files"),
    ("../..", "", "mnist")])
def test_a_relative_folder_is_pinned_by_commit(base, uri, path, target):
    assert read(uri, "script", base) == (Input(
        kind="git", uri=base.store.url, path=path, commit=base.commit, target=f"mnist/{target}"),)


@pytest.mark.parametrize("uri, said", [
    ("../../../x.csv", "leaves the repository"), ("../../../etc/passwd", "leaves the repository"),
    ("../files/none.csv", "`lib/files/none.csv` does not exist at commit"),
    ("../../link.csv", "does not exist at commit")])
def test_relative_uris_stay_in_the_repository(base, uri, said):
    assert said in refusal(uri, base=base)


@pytest.mark.parametrize("uri, said", [
    ("ftp://10.0.0.1/x", "data does not come by ftp. Use an https URI, `s3://bucket/path/file`"),
    ("s3://bucket", "names no file"),
    ("s3://key:secret@bucket/x", "`s3://…@bucket/x` names no place in a bucket"),
    ("s3://bucket/x?versionId=7", "names no place"), ("s3://bucket/x?delete=yes", "names no place"),
    ("s3://bucket/a/../x", "cannot be the name"), ("s3://bucket/a%2F%2Fx", "cannot be the name"),
    ("hdfs:///x", "Write `s3://bucket/path/file` or `hdfs://host:port/path/file`"),
    ("-o.csv", "begins with `-`"),
    ("https://host.org", "names no file"), ("https:///x", "names no host"),
    ("https://u:secret@host.org/x", "user name or password"), ("https://h.org/a b", "a space"),
    ("http://169.254.169.254/latest", "link-local"), ("http://[fe80::1]/x", "link-local"),
    ("https://h.org/..", "cannot be the name"), ("https://h.org/a%2Fb", "cannot be the name"),
    ("https://h.org:x/a", "is no URI"), ("file://host/x", "names no host, or a wrong one"),
    ("https://h.org/$$model$$", "not replaced in prerequisites"),
    ("https://h.org/a\x1b[2Jb", "control characters"),
    ("./mnist.csv", "is relative, but this text is in no repository")])
def test_data_uris_that_cannot_work_are_refused(uri, said):
    message = refusal(uri)
    assert said in message and "secret" not in message and "\x1b" not in message


@pytest.mark.parametrize("uri, said", [
    ("--upload-pack=touch /tmp/x", "begins with `-`"), ("ext::sh -c ls", "https, http or file"),
    ("ssh://git@host/o/r", "https, http or file"), ("git@github.com:o/r", "https, http or file"),
    ("git://host/o/r", "https, http or file"), ("https://h.org/o/r@-x", "is no commit"),
    ("https://h.org/o/r@a..b", "is no commit"), ("https://tok@h.org/o/r", "user name"),
    ("https://h.org/", "names no repository")])
def test_git_uris_with_options_or_foreign_protocols_are_refused(uri, said):
    assert said in refusal(uri, "script")


def test_storage_is_a_plain_name_or_an_allowed_folder():
    assert read("mycifar10", "storage") == (
        Input(kind="storage", uri="mycifar10", target="mnist/mycifar10"),)
    assert read("file:///srv/models/", "storage") == (
        Input(kind="storage", uri="file:///srv/models/", target="mnist/models"),)


@pytest.mark.parametrize("uri, target", [
    ("s3://bucket/raw/get%20it.csv", "get it.csv"), ("hdfs://10.0.0.1:9000/core/a.tgz", "a.tgz"),
    ("webhdfs://node:9870/core/a.tgz", "a.tgz"), ("s3://bucket/raw/images/", "images"),
    ("s3://bucket/", "bucket")])
def test_data_comes_from_buckets_and_hadoop(uri, target):
    assert read(uri) == (Input(kind="file", uri=uri, target=f"mnist/{target}"),)


@pytest.mark.parametrize("uri, target", [
    ("storage://models", "models"), ("s3://bucket", "bucket"), ("s3://bucket/out/", "out"),
    ("s3://bucket/out?delete=yes", "out"), ("webhdfs://node:9870/", "node"),
    ("hdfs://10.151.40.179:9000/core/cifar10_model", "cifar10_model")])
def test_storage_is_what_the_operator_names_too(uri, target):
    assert read(uri, "storage") == (Input(kind="storage", uri=uri, target=f"mnist/{target}"),)


@pytest.mark.parametrize("uri, said", [
    ("../x", "is none"), ("..", "is none"), ("/srv", "is none"), ("a/b", "is none"),
    ("storage://models/inner", "is none"), ("storage://..", "is none"),
    ("s3://bucket/out?delete=no", "names no place"), ("hdfs://u@h/x", "names no place")])
def test_other_storage_is_refused(uri, said):
    message = refusal(uri, "storage")
    assert said in message and "`s3://bucket/path` or `hdfs://host:port/path`" in message


@pytest.mark.parametrize("kind", ["data", "script", "storage", "output"])
@pytest.mark.parametrize("uri", [
    "file:///var/lib/paishare/git/7.git", "/var/lib/paishare/git/7.git",
    "file://localhost/var/lib/paishare/git/7.git", "FILE:///var/lib/paishare/git/7.git",
    "file:///var/lib/paishare/git/7.git/objects/pack/x.pack", "file:///var/lib/paishare",
    f"file:///var/lib/paishare/git/7.git@{COMMIT}", "file:///var/lib/paishare/git/7.git@v1@v2",
    "file:///srv/../var/lib/paishare/git/7.git", "file:///var/lib/./paishare//git/7.git",
    "file:///var/lib/%70aishare/git/7.git", "file:///var/lib/paishare%2Fgit%2F7.git@main",
    "file:///var%2flib/paishare/git/7.git%40main", "file:/var/lib/paishare/git/7.git"])
def test_nothing_that_the_server_keeps_is_named_by_its_path(uri, kind):
    with pytest.raises(ValueError):
        read(uri, kind)


def test_a_link_into_what_the_server_keeps_is_seen_through(tmp_path):
    home = tmp_path / "home"
    (home / "git/7.git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    item = {"name": "mnist", "type": "script", "uri": f"file://{tmp_path}/link/git/7.git@main"}
    with pytest.raises(ValueError, match="this server keeps for itself"):
        inputs_of("script", item, None, home)
    assert inputs_of("script", {**item, "uri": f"file://{tmp_path}/home2/x"}, None, home)
