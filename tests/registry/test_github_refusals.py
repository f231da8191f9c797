"""Each way in which GitHub refuses becomes one code, and a sentence that says what to do."""
from datetime import datetime, timedelta

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry import github_api
from registry.config import Secret, Settings
from registry.github_api import GitHubApi
from registry.github_errors import SENTENCES, Action, Code, GitHubError, Refusal, error_of
from registry.github_records import Author
from tests.fakes.callers import commit_files
from tests.fakes.github.limits import SECONDARY

BOB = Author(name="Bob", email="bob@example.org")


class Situation:
    """ann's repository, and bob who wants to change it."""

    def __init__(self, github, folder):
        self.world = github.world
        self.ann, self.bob = self.world.add_user("ann"), self.world.add_user("bob")
        self.parts = self.world.create(self.ann, "parts", {"a.yaml": "a\n"})
        self.token = self.world.classic_token(self.bob, "public_repo")
        self.settings = Settings.from_environ({"PAISHARE_HOME": str(folder),
                                               "PAISHARE_GITHUB_URL": github.url})

    def now(self):
        return self.world.now.replace(tzinfo=None)

    def api(self):
        return GitHubApi(self.settings, Secret(self.token.value), now=self.now)

    def refused(self, ask):
        """The error that `ask` meets; no part of the token is in it."""
        with self.api() as api, pytest.raises(GitHubError) as refused:
            ask(api)
        error = refused.value
        shown = f"{error} {error.detail} {error.link} {error.args} {error!r}"
        assert self.token.value not in shown and error.message.endswith((".", error.detail))
        return error

    def branch(self, name="new", path="b.yaml"):
        """A commit in bob's fork that is on a branch of its own."""
        with self.api() as api:
            self.fork = api.fork(api.repository(self.parts.id))
            head = api.head(self.fork.id, "main")
            _, commit = commit_files(api, self.fork.id, head, {path: "b\n"}, "Add", BOB)
            api.create_branch(self.fork.id, name, commit)
        return commit

    def look(self, api):
        return api.repository(self.parts.id)

    def fork_it(self, api):
        return api.fork(api.repository(self.parts.id))

    def open_pull(self, api):
        return api.open_pull(self.parts.id, head="bob:new", base="main", title="New", body="")


@pytest.fixture
def situation(github, tmp_path):
    return Situation(github, tmp_path)


def test_a_token_that_was_revoked_or_has_ended(situation):
    situation.token.is_revoked = True
    error = situation.refused(lambda api: api.whoami())
    assert error.code is Code.TOKEN_DEAD and "Settings" in error.message


def test_a_classic_token_without_the_scope_gets_the_link_to_make_one(situation, github):
    situation.token = situation.world.classic_token(situation.bob)
    error = situation.refused(situation.fork_it)
    assert error.code is Code.SCOPE_MISSING
    assert f"{github.url}/settings/tokens/new?scopes=public_repo" in error.message


def test_a_fine_grained_token_that_may_not_fork(situation):
    situation.token = situation.world.fine_grained_token(situation.bob, contents="write")
    error = situation.refused(situation.fork_it)
    assert error.code is Code.FG_NO_FORK and "your fork" in error.message


def test_a_fine_grained_token_that_may_not_open_a_pull_request(situation):
    situation.token = situation.world.fine_grained_token(
        situation.bob, contents="write", administration="write")
    assert situation.refused(situation.open_pull).code is Code.FINISH_ON_GITHUB


def test_single_sign_on_comes_with_its_link(situation, github):
    acme = situation.world.add_organisation("acme", {"bob": "write"})
    acme.needs_sso = True
    hidden = situation.world.create(acme, "hidden", {"a": "a"}, is_private=True)
    situation.token = situation.world.classic_token(situation.bob, "repo")
    error = situation.refused(lambda api: api.repository(hidden.id))
    assert error.code is Code.SSO_REQUIRED and error.link.startswith(f"{github.url}/orgs/acme/sso")
    assert error.link in error.message


@pytest.mark.parametrize("text", [
    "`acme` forbids access via a personal access token (classic). Please use a GitHub App.",
    "Although you appear to have the correct authorization credentials, the `acme` organization "
    "has an IP allow list enabled, and your IP address is not permitted to access this resource.",
    "The 'acme' organization forbids access via a fine-grained personal access tokens if the "
    "token's lifetime is greater than 366 days."])
def test_what_an_organization_forbids_is_told_in_its_words(situation, text):
    situation.world.fault("GET", "/parts$", 403, text)
    error = situation.refused(situation.look)
    assert error.code is Code.ORG_POLICY and text in error.message


def test_a_repository_that_may_not_be_forked(situation):
    situation.parts.allows_forks = False
    assert situation.refused(situation.fork_it).code is Code.FORK_FORBIDDEN


def test_an_archived_repository(situation):
    commit = situation.branch()
    situation.world.repositories[situation.fork.id].is_archived = True
    error = situation.refused(
        lambda api: api.create_branch(situation.fork.id, "other", commit))
    assert error.code is Code.REPO_READONLY and "archived" in error.message


def test_what_is_gone_and_what_is_hidden_look_the_same(situation):
    hidden = situation.world.create(situation.ann, "hidden", is_private=True)
    situation.world.delete(situation.parts)
    errors = [situation.refused(lambda api, id_=id_: api.repository(id_))
              for id_ in (hidden.id, situation.parts.id, 999_999)]
    assert {(error.code, error.message) for error in errors} == {
        (Code.GONE, SENTENCES[Code.GONE])}


def test_what_github_blocked(situation):
    situation.parts.is_blocked = True
    assert situation.refused(situation.look).code is Code.BLOCKED


def test_an_empty_repository_takes_no_commit(situation):
    empty = situation.world.create(situation.bob, "empty")
    error = situation.refused(lambda api: api.write_tree(empty.id, "0" * 40, {"a": "a"}))
    assert error.code in (Code.EMPTY, Code.GONE, Code.REFUSED)


def test_a_branch_that_is_there(situation):
    commit = situation.branch()
    error = situation.refused(lambda api: api.create_branch(situation.fork.id, "new", commit))
    assert error.code is Code.EXISTS


def test_a_branch_is_never_forced(situation):
    situation.branch()
    with situation.api() as api:
        fork, head = situation.fork, api.head(situation.fork.id, "main")
        _, other = commit_files(api, fork.id, head, {"c.yaml": "c\n"}, "C", BOB)
    error = situation.refused(lambda api: api.move_branch(fork.id, "new", other))
    assert error.code is Code.NOT_FAST_FORWARD


def test_a_second_pull_request_and_one_that_would_change_nothing(situation):
    situation.branch()
    with situation.api() as api:
        situation.open_pull(api)
    assert situation.refused(situation.open_pull).code is Code.PULL_EXISTS
    nothing = situation.refused(lambda api: api.open_pull(
        situation.parts.id, head="bob:main", base="main", title="x", body=""))
    assert nothing.code is Code.NO_COMMITS


def test_a_rule_of_the_repository_is_told_in_its_words(situation):
    commit = situation.branch()
    situation.world.fault("POST", "/git/refs", 422, "Repository rule violations found\n\nCannot "
                          "create ref due to creations being restricted.")
    error = situation.refused(lambda api: api.create_branch(situation.fork.id, "x", commit))
    assert error.code is Code.RULE and "creations being restricted" in error.message


@pytest.mark.parametrize("status, text", [
    (404, "Not Found"), (422, "refusing to allow a Personal Access Token to create or update "
                              "workflow `.github/workflows/ci.yml` without `workflow` scope")])
def test_workflows_that_the_fork_has_not_ask_for_a_scope_of_their_own(situation, status, text):
    commit = situation.branch()
    situation.world.fault("POST", "/git/refs", status, text)
    error = situation.refused(lambda api: api.create_branch(situation.fork.id, "x", commit))
    assert error.code is Code.WORKFLOW_SCOPE and "Sync fork" in error.message


@pytest.mark.parametrize("text", ["Must have admin rights to Repository.", "Some new refusal"])
def test_any_other_refusal_is_told_in_githubs_words(situation, text):
    situation.world.fault("POST", "/hooks", 403, text)
    error = situation.refused(
        lambda api: api.create_hook(situation.parts.id, "https://x.org", Secret("s")))
    assert error.code is Code.FORBIDDEN and error.message.endswith(text)


# --- limits and failures ------------------------------------------------------------------------

def test_the_hours_limit_is_waited_for_until_it_is_over(situation):
    situation.world.limit = 1
    with situation.api() as api:
        api.whoami()
    error = situation.refused(lambda api: api.whoami())
    assert error.code is Code.LATER and error.status == 503
    assert timedelta(0) < error.retry_at - situation.now() <= timedelta(hours=1)


@pytest.mark.parametrize("headers, seconds", [
    ({"Retry_After": "7"}, 7), ({"Retry_After": "999999"}, 3600), ({"Retry_After": "soon"}, 60),
    ({}, 60)])
@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_is_waited_for_as_github_says_and_never_longer_than_an_hour(
        situation, status, headers, seconds):
    situation.world.fault("GET", "/user$", status, SECONDARY, **headers)
    error = situation.refused(lambda api: api.whoami())
    assert error.code is Code.LATER
    assert error.retry_at == situation.now() + timedelta(seconds=seconds)
    assert len(situation.world.rest()) == 1  # nobody waits in the request, nobody asks again


def test_a_read_is_tried_again_and_then_later(situation):
    situation.world.fault("GET", "/user$", 502, times=2)
    with situation.api() as api:
        assert api.whoami().login == "bob" and api.requests == 3
    situation.world.fault("GET", "/user$", 503, times=3)
    assert situation.refused(lambda api: api.whoami()).code is Code.LATER


@pytest.mark.parametrize("status", [502, 0])
@pytest.mark.parametrize("is_done", [True, False])
def test_a_write_is_sent_once_and_nobody_knows_whether_it_was_done(situation, status, is_done):
    situation.world.fault("POST", "/forks", status, is_done=is_done)
    assert situation.refused(situation.fork_it).code is Code.UNKNOWN
    assert len([seen for seen in situation.world.rest() if seen.method == "POST"]) <= 1
    assert (situation.world.find("bob", "parts") is not None) == is_done


def test_a_server_that_does_not_answer(situation, tmp_path):
    away = Settings.from_environ({"PAISHARE_GITHUB_URL": "http://127.0.0.1:9"})
    with GitHubApi(away, Secret("ghp_" + "x" * 36)) as api, pytest.raises(GitHubError) as refused:
        api.whoami()
    assert refused.value.code is Code.UNREACHABLE and "PAISHARE_GITHUB_URL" in str(refused.value)


def test_in_a_hurry_nothing_is_tried_again(situation, monkeypatch):
    monkeypatch.setattr(github_api, "HURRIED_S", 5.0)
    situation.world.fault("GET", "/user$", 502, times=3)
    with GitHubApi(situation.settings, Secret(situation.token.value), is_hurried=True) as api:
        with pytest.raises(GitHubError):
            api.whoami()
    assert len(situation.world.rest()) == 1


def test_githubs_words_are_cleaned_of_the_token(situation):
    situation.world.fault("GET", "/user$", 403, f"Token {situation.token.value} is not welcome")
    error = situation.refused(lambda api: api.whoami())
    assert "Token … is not welcome" in error.message


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_sentence_and_fits_its_column(code):
    assert SENTENCES[code] and len(code) <= 32


HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "x-ratelimit-reset", "x-ratelimit-remaining", "x-github-sso",
                     "x-oauth-scopes"]), st.text(max_size=20) | st.integers().map(str))
BODIES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["message", "errors", "code"]), inner), max_leaves=6)


@given(st.integers(300, 599), HEADERS, BODIES, st.sampled_from(Action))
@hypothesis.settings(deadline=None, max_examples=300)
def test_whatever_github_answers_is_one_error_that_waits_at_most_an_hour(
        status, headers, body, action):
    now = datetime(2026, 7, 1)
    error = error_of(Refusal(status=status, headers=headers, body=body, action=action, now=now,
                             url="https://github.com"))
    assert error.code in Code and error.message and "{" not in SENTENCES[error.code].format(
        url="", when="", link="")
    assert error.retry_at is None or now < error.retry_at <= now + timedelta(hours=1)
