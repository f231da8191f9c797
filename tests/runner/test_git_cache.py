"""Repositories: pinned to a commit, fetched once, checked out fresh."""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from runner.cache import Cache, FetchCancelled, Watch
from runner.errors import StagingError
from runner.git_cache import GitCache
from runner.git_command import CONFIG, Git
from runner.network import Network
from runner.uris import AllowedFolders
from tests.runner.repositories import commit, git, make_repository
from tests.runner.web_server import WebServer

NOT_THERE = "0123456789" * 4


@pytest.fixture
def web(tmp_path):
    with WebServer() as server:
        server.repositories = tmp_path / "srv"
        yield server


@pytest.fixture
def origin(tmp_path):
    folder = make_repository(tmp_path / "srv/project")
    commit(folder, {"README": "one", "src/train.py": "print(1)", "run.sh": "#!/bin/sh\necho hi\n"})
    return folder


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def gits(cache, tmp_path):
    return GitCache(cache, Network(allow_loopback=True), AllowedFolders([tmp_path / "srv"]))


@pytest.fixture
def fetch(gits):
    def call(uri, pinned=None, report=lambda *_: None, is_cancelled=lambda: False):
        return gits.fetch(uri, pinned, Watch(report=report, is_cancelled=is_cancelled))
    return call


def head(folder, name="HEAD"):
    return git(folder, "rev-parse", f"{name}^{{commit}}")


def refused(fetch, uri, pinned=None):
    with pytest.raises(StagingError) as caught:
        fetch(uri, pinned)
    return str(caught.value)


# -- pinning --------------------------------------------------------------------------------------


def test_without_a_reference_the_tip_of_the_default_branch_is_taken(origin, fetch):
    assert fetch(f"file://{origin}") == fetch(str(origin)) == head(origin)


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_branches_and_tags_are_pinned_to_the_commit_they_name_now(origin, fetch, web, scheme):
    uri = f"file://{origin}" if scheme == "file" else f"{web.url}/project/.git"
    git(origin, "branch", "feature/x")
    git(origin, "tag", "--annotate", "v1", "--message", "one")
    first = head(origin)
    second = commit(origin, {"README": "two"})
    assert fetch(f"{uri}@feature/x") == fetch(f"{uri}@v1") == first
    assert fetch(f"{uri}@main") == second
    git(origin, "branch", "--force", "feature/x", "main")
    assert fetch(f"{uri}@feature/x") == second


def test_a_short_commit_is_pinned_wherever_it_is_in_the_history(origin, fetch):
    first = head(origin)
    commit(origin, {"README": "two"})
    assert fetch(f"file://{origin}@{first[:9]}") == first
    assert fetch(f"file://{origin}@{first}") == first


def test_a_whole_commit_overrides_the_reference(origin, fetch):
    first = head(origin)
    commit(origin, {"README": "two"})
    assert fetch(f"file://{origin}@main", first) == first


def test_what_is_not_there_is_named(origin, fetch):
    assert refused(fetch, f"file://{origin}@nope") == (
        f"file://{origin} has no branch, tag or commit 'nope'. Check what follows the @.")
    assert refused(fetch, f"file://{origin}@abcdef01") == (
        f"file://{origin} has no branch, tag or commit 'abcdef01'. Check what follows the @.")
    assert refused(fetch, f"file://{origin}", NOT_THERE) == (
        f"file://{origin} has no commit {NOT_THERE}. Check the commit; was it pushed, and to this "
        "repository?")


def test_what_is_no_repository_is_named(origin, fetch, tmp_path):
    assert "there is no such folder" in refused(fetch, f"file://{tmp_path}/srv/nothing")
    assert "git says: " in refused(fetch, f"file://{origin}/src")
    empty = make_repository(tmp_path / "srv/empty")
    assert "has no commit yet" in refused(fetch, f"file://{empty}")


# -- once -----------------------------------------------------------------------------------------


def test_a_pinned_commit_that_is_here_asks_nobody(origin, fetch):
    first = fetch(f"file://{origin}")
    origin.rename(origin.with_name("gone"))
    assert fetch(f"file://{origin}", first) == first


def test_only_the_wanted_commit_is_fetched(origin, fetch, cache):
    commit(origin, {"README": "two"})
    last = fetch(f"file://{origin}")
    mirror = next(cache.git.iterdir())
    assert git(mirror, "rev-list", "--count", last) == "1"


def test_commits_older_than_those_that_are_here_come_too(origin, fetch, cache):
    first = head(origin)
    second = commit(origin, {"README": "two"})
    fetch(f"file://{origin}", second)
    assert fetch(f"file://{origin}", first) == first
    assert fetch(f"file://{origin}@{first[:8]}") == first


def test_many_at_once_fetch_once(origin, fetch, web):
    uri = f"{web.url}/project/.git"
    threads = [threading.Thread(target=fetch, args=(uri, head(origin))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert web.paths().count("/project/.git/info/refs?service=git-upload-pack") == 2


def test_leftovers_of_a_killed_git_do_not_stop_the_next(origin, fetch, cache):
    fetch(f"file://{origin}")
    mirror = next(cache.git.iterdir())
    for name in ("shallow.lock", "HEAD.lock", "config.lock", "refs/paishare/x.lock",
                 "objects/pack/tmp_pack_ab12"):
        (mirror / name).write_text("")
    second = commit(origin, {"README": "two"})
    assert fetch(f"file://{origin}") == second
    assert not list(mirror.rglob("*.lock")) and not list(mirror.rglob("tmp_*"))


def test_a_fetch_that_is_killed_is_done_again_and_never_seen_half(origin, fetch, cache, gits):
    for number in range(3):
        (origin / f"big{number}").write_bytes(os.urandom(4_000_000))
    wanted = commit(origin, {"README": "big"})
    program = (
        "from pathlib import Path; from runner.staging import Owner, Stager\n"
        "from runner.spec import Input\n"
        f"stager = Stager(Path({str(cache.root)!r}), Path('/x'), [Path({str(origin)!r})])\n"
        f"item = Input(kind='git', uri='file://{origin}', target='s/p')\n"
        "owner = Owner(user='ann', folder=Path('/x'))\n"
        "stager.fetch(item, owner, report=print, is_cancelled=lambda: False)")
    with subprocess.Popen([sys.executable, "-c", program]) as killed:
        while not list(cache.git.glob("*.git/objects/pack/tmp_pack_*")) and killed.poll() is None:
            time.sleep(0.002)
        killed.send_signal(signal.SIGKILL)
    assert fetch(f"file://{origin}") == wanted
    mirror = next(cache.git.iterdir())
    git(mirror, "fsck", "--connectivity-only")
    assert not list(mirror.rglob("tmp_*")) and not list(mirror.rglob("*.lock"))


def test_a_fetch_can_be_cancelled(origin, fetch):
    with pytest.raises(FetchCancelled):
        fetch(f"file://{origin}", is_cancelled=lambda: True)
    assert fetch(f"file://{origin}") == head(origin)


# -- by http --------------------------------------------------------------------------------------


def test_by_http_a_commit_behind_the_branches_comes_too(origin, fetch, web):
    first = head(origin)
    commit(origin, {"README": "two"})
    assert fetch(f"{web.url}/project/.git", first) == first


def test_a_server_of_plain_files_is_enough(origin, fetch, web):
    git(origin, "gc", "--quiet")
    git(origin, "update-server-info")
    root = origin / ".git"
    web.repositories = None
    for path in root.rglob("*"):
        if path.is_file():
            web.files[f"/plain/{path.relative_to(root)}"] = path.read_bytes()
    web.files["/plain/info/refs?service=git-upload-pack"] = (root / "info/refs").read_bytes()
    assert fetch(f"{web.url}/plain") == head(origin)


def test_a_repository_that_has_moved_is_followed_and_checked(origin, fetch, web):
    info = "/info/refs?service=git-upload-pack"
    web.redirects[f"/old{info}"] = f"/project/.git{info}"
    assert fetch(f"{web.url}/old") == head(origin)
    web.redirects[f"/bad{info}"] = f"http://169.254.169.254/x{info}"
    assert "is at 169.254.169.254" in refused(fetch, f"{web.url}/bad")
    web.redirects[f"/page{info}"] = "/login"
    web.files["/login"] = b"<html>"
    assert "which is no repository" in refused(fetch, f"{web.url}/page")


def test_git_itself_follows_no_redirect(origin, gits, web):
    info = "/info/refs?service=git-upload-pack"
    web.redirects[f"/old{info}"] = f"{web.url}/project/.git{info}"
    with pytest.raises(Exception, match="redirect|302"):
        gits._git.run(["ls-remote", "--", f"{web.url}/old"])


def test_git_goes_to_the_address_that_was_checked(origin, fetch, web, monkeypatch):
    """The name is known only to the check: git gets there because it is told the address."""
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **named: real(
        "127.0.0.1" if host == "only-checked.invalid" else host, *rest, **named))
    assert fetch(f"http://only-checked.invalid:{web.port}/project/.git") == head(origin)


def test_a_repository_that_asks_for_a_login_says_so(fetch, web):
    web.statuses["/private/info/refs?service=git-upload-pack"] = [401]
    text = refused(fetch, f"{web.url}/private")
    assert text.startswith(f"{web.url}/private answers with HTTP status 401. It asks for a login")


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", [
    "ssh://host/r", "git://host/r", "ext::sh -c 'touch /tmp/x'", "host:r", "-x",
    "--upload-pack=touch", "https://ann:pw@host/r", "https://host/r?x=1", "https://host/r#x",
    "https://host/r@--upload-pack=x", "/etc", "file:///etc", "../r", "http://169.254.169.254/r"])
def test_foreign_protocols_options_passwords_and_folders_are_refused(fetch, uri):
    text = refused(fetch, uri)
    assert "pw" not in text


def test_hooks_and_settings_of_a_repository_are_not_run(origin, fetch, gits, tmp_path):
    trap = tmp_path / "sprung"
    commit(origin, {".gitattributes": "* filter=x\n"})
    hook = origin / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    for name in ("core.fsmonitor", "uploadpack.packObjectsHook", "filter.x.smudge"):
        git(origin, "config", name, f"touch {trap}")
    done = fetch(f"file://{origin}")
    gits.check_out(f"file://{origin}", done, tmp_path / "out")
    assert (tmp_path / "out/README").exists() and not trap.exists()


def test_settings_of_the_machine_do_not_count(origin, fetch, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text("[url \"ssh://evil/\"]\n  insteadOf = file://\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert fetch(f"file://{origin}") == head(origin)


def test_a_git_that_is_too_old_for_the_web_is_refused(tmp_path, monkeypatch):
    old = tmp_path / "bin/git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.34.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    with pytest.raises(StagingError, match="needs git 2.37 or newer"):
        Git(tmp_path / "gitconfig").check_for_web()
    assert (tmp_path / "gitconfig").read_text() == CONFIG


def test_a_machine_without_git_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StagingError, match="git is not installed"):
        Git(tmp_path / "gitconfig").run(["version"])


# -- checking out ---------------------------------------------------------------------------------


def test_a_checkout_is_a_usable_repository_at_that_commit(origin, fetch, gits, web, tmp_path):
    uri = f"{web.url}/project/.git"
    first = fetch(f"{uri}@main")
    commit(origin, {"README": "two"})
    gits.check_out(f"{uri}@main", first, tmp_path / "out")
    assert (tmp_path / "out/README").read_text() == "one"
    assert head(tmp_path / "out") == first
    assert git(tmp_path / "out", "status", "--porcelain") == ""
    assert git(tmp_path / "out", "branch", "--show-current") == ""
    assert git(tmp_path / "out", "remote", "get-url", "origin") == uri


def test_a_checkout_may_be_changed_by_everyone_and_shares_nothing(origin, fetch, gits, tmp_path):
    first = fetch(f"file://{origin}")
    gits.check_out(f"file://{origin}", first, tmp_path / "out")
    assert (tmp_path / "out/README").stat().st_mode & 0o777 == 0o666
    assert (tmp_path / "out/run.sh").stat().st_mode & 0o777 == 0o777
    assert (tmp_path / "out/src").stat().st_mode & 0o777 == 0o777
    assert all(path.stat().st_nlink == 1 for path in (tmp_path / "out").rglob("*")
               if path.is_file())


def test_one_folder_is_a_plain_tree(origin, fetch, gits, tmp_path):
    done = commit(origin, {"src/deep/x.sh": "#!/bin/sh\n", "src/.gitattributes":
                           "deep export-ignore\n"})
    fetch(f"file://{origin}")
    (tmp_path / "out").mkdir()
    gits.check_out_folder(f"file://{origin}", gits.entry(f"file://{origin}", done, "src/"),
                          tmp_path / "out")
    assert sorted(str(path.relative_to(tmp_path / "out")) for path in
                  (tmp_path / "out").rglob("*")) == [
        ".gitattributes", "deep", "deep/x.sh", "train.py"]
    assert os.access(tmp_path / "out/deep/x.sh", os.X_OK)
    assert not (tmp_path / ".out.index").exists()


def test_paths_are_names_not_patterns(origin, fetch, gits):
    done = commit(origin, {"src/*": "star", ":(top)x": "magic"})
    uri = f"file://{origin}"
    fetch(uri)
    assert gits.entry(uri, done, "src/*").kind == "blob"
    assert gits.entry(uri, done, ":(top)x").kind == "blob"
    assert gits.entry(uri, done, "src").kind == "tree"
    with pytest.raises(StagingError, match=f"has no 's\\*' at commit {done[:10]}"):
        gits.entry(uri, done, "s*")
