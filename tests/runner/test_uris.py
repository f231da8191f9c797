"""What a URI of an input may be, and which local files it may name."""
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import StagingError
from runner.uris import AllowedFolders, local_path, mask, scheme_of, split_ref, split_web


def test_a_password_is_never_repeated():
    assert mask("at https://ann:s3cret@host/x failed") == "at https://…@host/x failed"
    with pytest.raises(StagingError) as caught:
        split_web("https://ann:s3cret@host/x")
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).startswith("https://…@host/x holds a user name or password")


def test_a_password_with_a_slash_is_not_repeated_either():
    with pytest.raises(StagingError, match="no valid host and port") as caught:
        split_web("https://ann:s3/cret@host/x")
    assert "s3" not in str(caught.value)


@pytest.mark.parametrize("uri", [
    "ftp://host/x", "ssh://host/x", "ext::sh -c x", "https://", "//host/x", "https://host:0/x",
    "https://host:99999/x", "https://host/a b", "https://host/a\nb", "hdfs://host:9000/x", "-x"])
def test_only_addresses_of_the_web_are_taken(uri):
    with pytest.raises(StagingError):
        split_web(uri)


@pytest.mark.parametrize("uri, address, ref", [
    ("https://host/o/r", "https://host/o/r", ""),
    ("https://host/o/r@main", "https://host/o/r", "main"),
    ("https://host/o/r.git@feature/x", "https://host/o/r.git", "feature/x"),
    ("https://ann@host/o/r", "https://ann@host/o/r", ""),
    ("/srv/r@v1.0", "/srv/r", "v1.0"),
    ("file:///srv/r@v1.0", "file:///srv/r", "v1.0")])
def test_a_reference_follows_the_last_at_sign_of_the_path(uri, address, ref):
    assert split_ref(uri) == (address, ref)


@pytest.mark.parametrize("ref", ["--upload-pack=touch /tmp/x", "-x", "a..b", "a b", "", "a:b"])
def test_a_reference_that_git_could_misread_is_refused(ref):
    with pytest.raises(StagingError):
        split_ref(f"https://host/o/r@{ref}")


def test_an_at_sign_in_the_name_of_a_folder_is_no_reference(tmp_path):
    (tmp_path / "r@2").mkdir()
    assert split_ref(f"file://{tmp_path}/r@2") == (f"file://{tmp_path}/r@2", "")


def test_local_paths():
    assert local_path("/srv/x") == local_path("file:///srv/x") == Path("/srv/x")
    assert local_path("file://localhost/a%20b") == Path("/a b")
    assert scheme_of("/srv/x") == scheme_of("FILE:///x") == "file"
    assert scheme_of("models") == ""
    for uri in ("file://other/x", "file://", "file:///a%00b"):
        with pytest.raises(StagingError):
            local_path(uri)


def test_only_what_is_really_below_an_allowed_folder_may_be_read(tmp_path):
    allowed, secret = tmp_path / "allowed", tmp_path / "secret"
    allowed.mkdir()
    secret.mkdir()
    (allowed / "link").symlink_to(secret)
    folders = AllowedFolders([allowed])
    assert folders.check(allowed / "x", "u") == allowed / "x"
    for path in (secret / "x", allowed / "link/x", allowed / "../secret/x",
                 tmp_path / "allowed2/x", Path("/")):
        with pytest.raises(StagingError, match="outside of the folders that jobs may read"):
            folders.check(path, "file:///x")


def test_no_link_leads_into_a_folder_that_must_be_named(tmp_path):
    stores, open_ = tmp_path / "git", tmp_path / "open"
    for folder in (stores / "1.git", open_):
        folder.mkdir(parents=True)
    (open_ / "link").symlink_to(stores)
    folders = AllowedFolders([open_], by_name=[stores])
    assert folders.check(stores / "1.git", "u") == stores / "1.git"
    for path in (open_ / "link/1.git", open_ / "../open/link/1.git"):
        with pytest.raises(StagingError, match="outside of the folders that jobs may read"):
            folders.check(path, "file:///x")


def test_without_allowed_folders_nothing_is_read():
    with pytest.raises(StagingError, match="RUNNER_ALLOWED_FOLDERS"):
        AllowedFolders([]).check(Path("/etc/passwd"), "/etc/passwd")


@given(st.text(alphabet="ab/@:.-%?#[] \n", max_size=30))
def test_whatever_is_written_only_staging_errors_come(text):
    for function in (split_web, split_ref):
        try:
            function("https://" + text)
        except StagingError:
            pass
