"""Publishing that is cut off anywhere, in this process or by kill -9, ends in one pull request."""
import os
import subprocess
import sys
import threading

import pytest

from registry.github_api import GitHubApi
from registry.publication import OPEN, WORKING
from registry.server import GITHUB
from tests.functional.runner_process import wait_for
from tests.registry.publishing import NEW, PATH, Desk, desk_home  # noqa: F401


class CutError(BaseException):
    """The process ends here; nothing catches it."""


@pytest.fixture
def desk(github, tmp_path, desk_home):  # noqa: F811
    desk = Desk(github, tmp_path / "home", template=desk_home)
    desk.connect()
    yield desk
    desk.close()


def is_done(desk, publication):
    """One pull request of one commit with this text, from one branch, and nothing beside."""
    found = desk.again(publication)
    (pull,) = desk.world.pulls
    git = desk.upstream.git
    (change,) = git.changes(pull.base_sha, pull.head_sha)
    assert (change.path, git.blob(change.sha).decode()) == (PATH, NEW)
    assert git.count(pull.base_sha, pull.head_sha) == 1
    (fork,) = [each for each in desk.world.live() if each.parent]
    assert sorted(fork.git.refs()) == ["refs/heads/main", f"refs/heads/{found.branch}"]
    assert found.pull_number == 1
    return found.state == OPEN


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
def test_a_cut_at_any_request_is_made_good(desk, monkeypatch, is_after):
    """The cuts come one after another in one publication: at each request once."""
    publication, whole, cuts = desk.confirmed(), GitHubApi._ask, 0
    seen = set()

    def ask(self, verb, path, **rest):
        nonlocal cuts
        answer = whole(self, verb, path, **rest) if is_after or (verb, path) in seen else None
        if (verb, path) not in seen:
            seen.add((verb, path))
            cuts += 1
            raise CutError
        return answer
    monkeypatch.setattr(GitHubApi, "_ask", ask)
    while desk.again(publication).state in WORKING:
        desk.publisher = desk.new_publisher()
        try:
            desk.tick(desk.again(publication))
        except CutError:
            continue
    assert cuts >= 8 and is_done(desk, publication)


def test_a_cut_before_any_note_is_made_good(desk, monkeypatch):
    """What was done and never noted is found, or done again to the same end."""
    publication, whole, cuts = desk.confirmed(), type(desk.publications).save, set()

    def save(self, before, /, **values):
        place = before.state, before.tree_sha is None
        if place not in cuts:
            cuts.add(place)
            raise CutError
        return whole(self, before, **values)
    monkeypatch.setattr(type(desk.publications), "save", save)
    while desk.again(publication).state in WORKING:
        try:
            desk.tick(desk.again(publication))
        except CutError:
            continue
    assert len(cuts) >= 6 and is_done(desk, publication)


STEPS = [("GET", "/repos/ann/components$"), ("POST", "/forks$"), ("POST", "/git/trees$"),
         ("POST", "/git/commits$"), ("POST", "/git/refs$"), ("GET", "/pulls$"),
         ("POST", "/pulls$")]


def test_kill_9_in_each_step_leaves_nothing_twice(desk, tmp_path):
    """Each request hangs in turn; the process is killed, and only then the request is done."""
    publication = desk.confirmed()
    environ = {**os.environ, "PAISHARE_HOME": str(desk.settings.home), "PYTHONUNBUFFERED": "1",
               "PAISHARE_GITHUB_URL": desk.github.url}
    log = tmp_path / "log"
    for method, path in STEPS:
        gate = threading.Event()
        fault = desk.world.fault(method, path, None, gate=gate)
        with open(log, "a") as file, subprocess.Popen(
                [sys.executable, "-c", GITHUB], env=environ, stderr=file) as process:
            try:
                wait_for(lambda: fault.times == 0 or process.poll() is not None,
                         f"{method} {path}", timeout_s=60)
                assert process.poll() is None, log.read_text()
            finally:
                process.kill()
                process.wait()
                gate.set()
    with open(log, "a") as file, subprocess.Popen(
            [sys.executable, "-c", GITHUB], env=environ, stderr=file) as process:
        try:
            wait_for(lambda: desk.again(publication).state == OPEN, "the end", timeout_s=60)
        finally:
            process.kill()
            process.wait()
    assert is_done(desk, publication)
