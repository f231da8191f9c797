"""The gateway to GitHub, against the stand-in: what it asks, what it takes, where it never goes."""
import os
import subprocess
import sys
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry import github_api, github_transport
from registry.config import Secret, Settings
from registry.errors import InvalidInputError
from registry.github_api import GitHubApi, check_name
from registry.github_errors import Code, GitHubError
from registry.github_records import (
    Author,
    Check,
    Head,
    Review,
    check_of_run,
    expiry,
    kind_of,
)
from tests.fakes.callers import commit_files

HELLO = "type: job\nname: hello\n"
BOB = Author(name="Bob", email="bob@example.org")


@pytest.fixture
def ann(github):
    return github.world.add_user("ann")


@pytest.fixture
def bob(github):
    return github.world.add_user("bob")


@pytest.fixture
def upstream(github, ann):
    return github.world.create(ann, "components", {"job/hello.yaml": HELLO})


@pytest.fixture
def api(github, tmp_path):
    """Opens the API with a token; all are closed at the end."""
    opened = []
    found = Settings.from_environ({"PAISHARE_HOME": str(tmp_path),
                                   "PAISHARE_GITHUB_URL": github.url})

    def open_api(token, **how):
        opened.append(GitHubApi(found, Secret(token.value) if token else None, **how))
        return opened[-1]
    yield open_api
    for each in opened:
        each.close()


# --- what it tells ------------------------------------------------------------------------------

def test_a_token_tells_whose_it_is(github, ann, api):
    ends = github.world.now + timedelta(days=30)
    token = github.world.classic_token(ann, "repo", "workflow", expires_at=ends)
    found = api(token).whoami()
    assert (found.login, found.id, found.kind) == ("ann", ann.id, "classic")
    assert found.scopes == ("repo", "workflow") and found.expires_at == ends.replace(tzinfo=None)


def test_a_classic_token_without_scopes_differs_from_one_that_has_none_to_tell(github, ann, api):
    assert api(github.world.classic_token(ann)).whoami().scopes == ()
    fine = api(github.world.fine_grained_token(ann)).whoami()
    assert (fine.kind, fine.scopes) == ("fine-grained", None)


@pytest.mark.parametrize("text, hour", [
    ("2026-02-06 07:42:23 +0100", 6), ("2026-07-02 09:51:24 UTC", 9), ("some day", None),
    (None, None)])
def test_an_expiry_is_read_in_both_forms(text, hour):
    found = expiry(text)
    assert (found and found.hour) == hour and (found is None or found.tzinfo is None)


@pytest.mark.parametrize("token, has_scopes, kind", [
    ("ghp_x", True, "classic"), ("0" * 40, True, "classic"),
    ("github_pat_x", False, "fine-grained"), ("gho_x", True, "other"),
    ("ghs_x", False, "other"), ("ghp_x", False, "other")])
def test_the_kind_of_a_token_needs_more_than_its_prefix(token, has_scopes, kind):
    assert kind_of(token, has_scopes) == kind


def test_a_change_goes_by_fork_branch_and_pull_request(github, bob, upstream, api):
    github.world.mergeable_looks = 0
    asked = api(github.world.classic_token(bob, "public_repo"))
    found = asked.repository("ann/components")
    assert (found.id, found.level, found.network_id) == (upstream.id, "read", upstream.id)
    fork = asked.fork(found)
    assert (fork.full_name, fork.parent_id, fork.level) == ("bob/components", found.id, "admin")
    head = asked.head(found.id, found.default_branch)
    assert isinstance(head, Head) and asked.ref(fork.id, "main") == head.commit
    tree, commit = commit_files(
        asked, fork.id, head, {"job/hi.yaml": "type: job\n", "job/hello.yaml": None}, "Add hi", BOB)
    assert asked.ref(fork.id, "add-hi") is None
    asked.create_branch(fork.id, "add-hi", commit)
    assert asked.tree_of(fork.id, commit) == tree
    assert asked.file(fork.id, commit, "job/hi.yaml") == "type: job\n"
    assert asked.file(fork.id, commit, "job/hello.yaml") is None
    assert asked.find_pulls(found.id, "bob:add-hi") == []
    opened = asked.open_pull(found.id, head="bob:add-hi", base="main", title="Add hi", body="New")
    assert [each.number for each in asked.find_pulls(found.id, "bob:add-hi")] == [opened.number]
    shown = asked.pull(found.id, opened.number)
    assert (shown.state, shown.is_merged, shown.head_sha) == ("open", False, commit)


def test_a_pull_request_comes_with_checks_and_the_last_word_of_each_reviewer(
        github, ann, bob, upstream, api):
    pull, commit = opened_pull(github, api, bob, upstream)
    world = github.world
    world.check(upstream, commit, "DCO", "action_required", details_url="https://example.org/dco")
    world.status(upstream, commit, "ci", "success", url="https://example.org/ci")
    for state in ("APPROVED", "CHANGES_REQUESTED", "COMMENTED"):
        world.review(world.pulls[0], ann, state)
    shown = api(world.classic_token(bob, "public_repo")).pull(upstream.id, pull.number)
    assert shown.reviews == (Review(login="ann", state="CHANGES_REQUESTED"),)
    assert {(each.name, each.state) for each in shown.checks} == {
        ("DCO", "failed"), ("ci", "passed")}
    assert Check(name="DCO", state="failed", url="https://example.org/dco") in shown.checks


@pytest.mark.parametrize("run, state", [
    ({"status": "in_progress", "conclusion": None}, "pending"), ({"status": "queued"}, "pending"),
    ({"status": "completed", "conclusion": "skipped"}, "passed"),
    ({"status": "completed", "conclusion": "timed_out"}, "failed")])
def test_a_check_that_runs_is_neither_passed_nor_failed(run, state):
    assert check_of_run(run).state == state


def test_a_pull_request_outlives_its_fork(github, bob, upstream, api):
    pull, _ = opened_pull(github, api, bob, upstream)
    github.world.delete(github.world.find("bob", "components"))
    asked = api(github.world.classic_token(bob, "public_repo"))
    assert asked.pull(upstream.id, pull.number).head is None


def opened_pull(github, api, user, upstream):
    asked = api(github.world.classic_token(user, "public_repo"))
    fork = asked.fork(asked.repository(upstream.id))
    _, commit = commit_files(asked, fork.id, asked.head(fork.id, "main"), {"job/hi.yaml": HELLO},
                             "Add hi", BOB)
    asked.create_branch(fork.id, "add-hi", commit)
    return asked.open_pull(upstream.id, head=f"{user.login}:add-hi", base="main", title="Add hi",
                           body=""), commit


def test_a_fork_in_another_name_is_taken_by_its_number(github, ann, bob, upstream, api):
    github.world.create(bob, "components", {"other": "x"})
    asked = api(github.world.classic_token(bob, "public_repo"))
    fork = asked.fork(asked.repository(upstream.id))
    assert (fork.full_name, fork.parent_id) == ("bob/components-1", upstream.id)


def test_everything_that_the_user_was_given_comes_page_by_page(github, ann, api, monkeypatch):
    monkeypatch.setattr(github_api, "PER_PAGE", 2)
    names = {f"ann/r{number}" for number in range(5)}
    for name in names:
        github.world.create(ann, name.partition("/")[2], is_private=True)
    assert {each.full_name for each in api(github.world.classic_token(ann, "repo")).repositories()
            } == names
    pages = [each.query for each in github.world.rest() if each.path.endswith("/user/repos")]
    assert len(pages) == 3


def test_what_did_not_change_costs_nothing_of_the_limit(github, ann, upstream, api):
    asked = api(github.world.classic_token(ann, "repo"))
    etag = asked.repository(upstream.id).etag
    left = asked.remaining
    assert asked.repository_since(upstream.id, etag) is None and asked.remaining == left
    upstream.is_private = True
    assert asked.repository_since(upstream.id, etag).is_private


def test_internal_counts_as_private(github, ann, api):
    acme = github.world.add_organisation("acme", {"ann": "read"})
    github.world.create(acme, "inside", {"a": "a"}, is_internal=True)
    assert api(github.world.classic_token(ann, "repo")).repository("acme/inside").is_private


def test_an_old_name_leads_to_the_repository_and_its_number_stays(github, ann, bob, upstream, api):
    github.world.move(upstream, name="parts")
    asked = api(github.world.classic_token(bob, "public_repo"))
    found = asked.repository("ann/components")
    assert (found.id, found.full_name) == (upstream.id, "ann/parts")
    assert asked.fork(found).parent_id == upstream.id


def test_a_ref_that_was_just_made_may_not_be_seen_yet(github, ann, upstream, api):
    github.world.lag = 2
    asked = api(github.world.classic_token(ann, "repo"))
    asked.create_branch(upstream.id, "new", asked.ref(upstream.id, "main"))
    assert [asked.ref(upstream.id, "new") is None for _ in range(3)] == [True, True, False]


def test_an_empty_repository_has_no_head(github, ann, api):
    empty = github.world.create(ann, "empty")
    asked = api(github.world.classic_token(ann, "repo"))
    assert asked.head(empty.id, "main") is None and asked.ref(empty.id, "main") is None


# --- where it never goes ------------------------------------------------------------------------

@pytest.mark.parametrize("name", [
    "x/../../user", "a/b?x=1", "a/b/branches", "-a/b", "a/..", "a/.", "a/b.git", "a/b\n", "a", "",
    "a b/c", "a/b#c", "ä/b", "a/" + "b" * 101, "a" * 40 + "/b"])
def test_what_is_no_name_is_never_sent(name):
    with pytest.raises(InvalidInputError):
        check_name(name)


@given(st.text(max_size=60))
@settings(deadline=None, max_examples=300)
def test_no_name_that_passes_can_leave_its_place_in_an_address(name):
    try:
        owner, repository = check_name(name).split("/")
    except InvalidInputError:
        return
    assert not set("?#%\\@: \n") & set(name) and repository not in (".", "..") and owner


@pytest.mark.parametrize("branch", ["../../../user", "a/../b", "a//b", "."])
def test_no_branch_leads_out_of_its_repository(github, ann, api, branch):
    with pytest.raises(InvalidInputError):
        api(github.world.classic_token(ann)).ref(1, branch)
    assert github.world.seen == []


class Hostile:
    """A server that answers as `reply` says, and notes who asked with which token."""

    def __init__(self, reply):
        seen = self.seen = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append((self.path, self.headers.get("Authorization")))
                reply(self)

            do_POST = do_GET

            def log_message(self, *_):
                pass
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def hostile():
    """Opens the API at a server that answers as it likes."""
    opened = []

    def start(reply):
        opened.append(Hostile(reply))
        return opened[-1]
    yield start
    for each in opened:
        each.close()


def at(server):
    return GitHubApi(Settings.from_environ({"PAISHARE_GITHUB_URL": server.url}),
                     Secret("ghp_" + "s" * 36))


def reply_with(status, body=b"{}", **headers):
    def reply(handler):
        handler.send_response(status)
        for name, value in {**headers, "Content_Length": str(len(body))}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
    return reply


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_host_is_not_followed(hostile, status):
    other = hostile(reply_with(200))
    with at(hostile(reply_with(status, Location=f"{other.url}/api/v3/user"))) as asked:
        for ask in (asked.whoami, asked.repositories, lambda: asked.repository("ann/parts"),
                    lambda: asked.create_hook(1, "https://example.org", Secret("s"))):
            with pytest.raises(GitHubError) as refused:
                ask()
            assert refused.value.code in (Code.UNREACHABLE, Code.UNKNOWN)
    assert other.seen == []


def test_a_next_page_on_another_host_is_not_followed(hostile):
    other = hostile(reply_with(200, b"[]"))
    pages = iter([f'<{other.url}/x>; rel="next"', ""])
    server = hostile(lambda handler: reply_with(200, b"[]", Link=next(pages))(handler))
    with at(server) as asked:
        assert asked.repositories() == []
    assert other.seen == [] and len(server.seen) == 2


@pytest.mark.parametrize("body", [b"", b"<html>Log in to the network</html>", b"[]", b"{}",
                                  b'{"login": 5}', b"[[[", b'"x"', b"null"])
def test_an_answer_that_is_not_githubs_is_an_error_that_names_the_setting(hostile, body):
    with at(hostile(reply_with(200, body))) as asked:
        for ask in (asked.whoami, lambda: asked.repository(7), lambda: asked.pull(7, 1)):
            with pytest.raises(GitHubError, match="PAISHARE_GITHUB_URL") as refused:
                ask()
            assert refused.value.code is Code.UNREACHABLE


def test_an_answer_that_never_ends_is_cut_off(hostile, monkeypatch):
    is_over = threading.Event()

    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        while not is_over.wait(0.02):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return
    monkeypatch.setattr(github_api, "TIMEOUT_S", 0.3)
    try:
        with at(hostile(drip)) as asked, pytest.raises(GitHubError) as refused:
            asked.whoami()
    finally:
        is_over.set()
    assert refused.value.code is Code.UNREACHABLE and "does not end" in refused.value.detail


def test_an_answer_without_bounds_is_cut_off(hostile, monkeypatch):
    monkeypatch.setattr(github_transport, "MAX_BODY_BYTES", 1000)
    with at(hostile(reply_with(200, b" " * 5000))) as asked, pytest.raises(GitHubError) as refused:
        asked.whoami()
    assert refused.value.code is Code.UNREACHABLE


def test_an_answer_that_is_being_prepared_is_not_waited_for(hostile):
    server = hostile(reply_with(202))
    with at(server) as asked, pytest.raises(GitHubError):
        asked.whoami()
    assert len(server.seen) == 1


@pytest.mark.parametrize("code", [
    "from registry.config import Settings; from registry.github_api import GitHubApi; "
    "GitHubApi(Settings.from_environ({}), None)",
    "from registry.app import create_app; create_app()"])
def test_without_its_checks_python_does_not_even_start(tmp_path, code):
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True,
                          cwd=Path(__file__).parents[2],
                          env={**os.environ, "PAISHARE_HOME": str(tmp_path)})
    assert done.returncode and "python -O" in done.stderr
