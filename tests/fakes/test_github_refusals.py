"""What GitHub says no to, and how: the stand-in refuses in the same words, codes and headers."""
import json
import threading
from datetime import timedelta

import pytest
import requests

from tests.fakes.github.limits import SECONDARY
from tests.fakes.scripted_server import Answer, ScriptedServer
from tests.github.places import wait_for

NO_ACCESS = "Resource not accessible by personal access token"


class Caller:
    """Asks as somebody; `ask` returns the answer, whatever it is."""

    def __init__(self, github, token):
        self._url, self._token = github.api_url, token

    def ask(self, method, path, headers=None, **body):
        return requests.request(
            method, self._url + path, json=body or None, allow_redirects=False, timeout=60,
            headers={"Authorization": f"token {self._token.value}", **(headers or {})})

    def told(self, method, path, **body):
        answer = self.ask(method, path, **body)
        return answer.status_code, answer.json()["message"]


@pytest.fixture
def world(github):
    return github.world


@pytest.fixture
def ann(world):
    return world.add_user("ann")


@pytest.fixture
def bob(world):
    return world.add_user("bob")


@pytest.fixture
def parts(world, ann):
    return world.create(ann, "parts", {"a.yaml": "a\n"})


@pytest.fixture
def classic(github, world, bob):
    return Caller(github, world.classic_token(bob, "public_repo"))


@pytest.fixture
def fork(world, parts, bob):
    return world.fork(parts, bob)


def change(caller, fork, path="b.yaml", parent=None):
    """A commit in the fork by REST; returns its id."""
    base = fork.git.commit(parent or fork.git.resolve("main"))
    tree = caller.ask("POST", f"/repos/{fork.full_name}/git/trees", base_tree=base.tree, tree=[
        {"path": path, "mode": "100644", "type": "blob", "content": "b\n"}]).json()
    return caller.ask("POST", f"/repos/{fork.full_name}/git/commits", tree=tree["sha"],
                      parents=[base.sha], message="Add").json()["sha"]


def branch(caller, fork, sha, name="new"):
    return caller.ask("POST", f"/repos/{fork.full_name}/git/refs", ref=f"refs/heads/{name}",
                      sha=sha)


# --- tokens -------------------------------------------------------------------------------------


def test_a_classic_token_without_a_scope_forks_nothing_and_sees_only_404(github, world, parts, bob):
    caller = Caller(github, world.classic_token(bob))
    assert caller.told("POST", "/repos/ann/parts/forks") == (404, "Not Found")
    assert caller.ask("GET", "/user").headers["X-OAuth-Scopes"] == ""


def test_a_fine_grained_token_forks_only_with_its_right_and_opens_no_pull_elsewhere(
        github, world, parts, bob):
    weak, strong = (Caller(github, world.fine_grained_token(bob, **rights)) for rights in (
        {"contents": "write"}, {"administration": "write", "contents": "write"}))
    answer = weak.ask("POST", "/repos/ann/parts/forks")
    assert (answer.status_code, answer.json()["message"]) == (403, NO_ACCESS)
    assert answer.headers["X-Accepted-GitHub-Permissions"] == "administration=write; contents=read"
    assert strong.ask("POST", "/repos/ann/parts/forks").status_code == 202
    opened = strong.told("POST", "/repos/ann/parts/pulls", head="bob:x", base="main", title="x")
    assert opened == (403, NO_ACCESS)


def test_a_fine_grained_token_reaches_only_its_repositories_and_rights(github, world, ann):
    one, two = (world.create(ann, name, {"a": "a"}, is_private=True) for name in ("one", "two"))
    caller = Caller(github, world.fine_grained_token(ann, [one], contents="read"))
    assert caller.ask("GET", f"/repositories/{one.id}").status_code == 200
    assert caller.told("GET", f"/repositories/{two.id}") == (404, "Not Found")
    assert caller.told("GET", "/repos/ann/one/pulls") == (403, NO_ACCESS)
    assert [each["name"] for each in caller.ask("GET", "/user/repos").json()] == ["one"]
    refused = caller.ask("POST", "/repos/ann/one/git/blobs", content="x")
    assert (refused.status_code, refused.headers["X-Accepted-GitHub-Permissions"]) == (
        403, "contents=write")


@pytest.mark.parametrize("offset, shown", [
    (None, "%Y-%m-%d %H:%M:%S UTC"), (timedelta(hours=1), "%Y-%m-%d %H:%M:%S +0100")])
def test_an_expiry_comes_in_both_forms(github, world, ann, offset, shown):
    ends = world.now + timedelta(days=3)
    caller = Caller(github, world.classic_token(ann, expires_at=ends, offset=offset))
    header = caller.ask("GET", "/user").headers["GitHub-Authentication-Token-Expiration"]
    assert header == (ends + (offset or timedelta())).strftime(shown)


# --- organisations ------------------------------------------------------------------------------


def test_single_sign_on_keeps_a_token_out_and_cuts_lists_short(github, world, ann):
    acme = world.add_organisation("acme", {"ann": "write"})
    acme.needs_sso = True
    world.create(acme, "hidden", {"a": "a"}, is_private=True)
    token = world.classic_token(ann, "repo")
    caller = Caller(github, token)
    refused, listed = caller.ask("GET", "/repos/acme/hidden"), caller.ask("GET", "/user/repos")
    assert refused.status_code == 403
    assert refused.headers["X-GitHub-SSO"].startswith("required; url=https://")
    assert (listed.json(), listed.headers["X-GitHub-SSO"]) == (
        [], f"partial-results; organizations={acme.id}")
    acme.sso_tokens.add(token.value)
    assert caller.ask("GET", "/repos/acme/hidden").status_code == 200
    assert len(caller.ask("GET", "/user/repos").json()) == 1


def test_an_organisation_may_forbid_classic_tokens(github, world, ann):
    acme = world.add_organisation("acme", {"ann": "write"})
    acme.forbids_classic = True
    hidden = world.create(acme, "hidden", {"a": "a"}, is_private=True)
    status, message = Caller(github, world.classic_token(ann, "repo")).told(
        "GET", "/repos/acme/hidden")
    assert status == 403 and message.startswith("`acme` forbids access via a personal access token")
    fine = Caller(github, world.fine_grained_token(ann, [hidden], contents="read"))
    assert fine.ask("GET", "/repos/acme/hidden").status_code == 200


def test_what_is_internal_is_seen_by_members_alone(github, world, ann, bob):
    world.add_organisation("acme", {"ann": "none"})
    world.create(world.users["acme"], "inside", {"a": "a"}, is_internal=True)
    seen, hidden = (Caller(github, world.classic_token(user, "repo")).ask(
        "GET", "/repos/acme/inside") for user in (ann, bob))
    assert (seen.json()["visibility"], seen.json()["private"], hidden.status_code) == (
        "internal", True, 404)


# --- repositories -------------------------------------------------------------------------------


def test_repositories_refuse_by_their_state(world, classic, parts, ann):
    parts.allows_forks = False
    assert classic.told("POST", "/repos/ann/parts/forks") == (
        403, "The repository exists, but forking is disabled.")
    parts.is_archived = True
    assert classic.told("POST", "/repos/ann/parts/pulls", head="x", base="main", title="x") == (
        403, "Repository was archived so is read-only.")
    parts.is_blocked = True
    assert classic.told("GET", "/repos/ann/parts") == (451, "Repository access blocked")
    world.create(ann, "empty")
    assert classic.told("GET", "/repos/ann/empty/git/trees/main") == (
        409, "Git Repository is empty.")


def test_a_fork_is_the_one_that_is_there_under_its_own_name(world, classic, parts, fork):
    world.move(fork, name="mine")
    assert classic.ask("POST", "/repos/ann/parts/forks").json()["full_name"] == "bob/mine"


def test_a_fork_shares_objects_and_its_commits_show_through_the_upstream(classic, parts, fork):
    made = change(classic, fork)
    assert classic.ask("GET", f"/repos/ann/parts/git/commits/{made}").status_code == 200
    assert made not in parts.git.refs().values()


def test_a_new_fork_takes_some_looks_to_be_ready(world, classic, parts):
    world.fork_looks = 2
    path = "/repos/bob/parts/git/ref/heads/main"
    assert classic.ask("POST", "/repos/ann/parts/forks").status_code == 202
    assert [classic.ask("GET", path).status_code for _ in range(3)] == [409, 409, 200]


def test_a_ref_just_made_may_stay_unseen_for_a_while(world, classic, fork):
    world.lag = 2
    assert branch(classic, fork, change(classic, fork)).status_code == 201
    path = "/repos/bob/parts/git/ref/heads/new"
    assert [classic.ask("GET", path).status_code for _ in range(3)] == [404, 404, 200]


# --- writing ------------------------------------------------------------------------------------


def test_rules_forbid_branches_and_changes(classic, fork):
    fork.rules.append("registry/*")
    fork.protected.add("main")
    made = change(classic, fork)
    refused = branch(classic, fork, made, "registry/x")
    assert (refused.status_code, refused.json()["message"].split("\n")[0]) == (
        422, "Repository rule violations found")
    moved = classic.told("PATCH", "/repos/bob/parts/git/refs/heads/main", sha=made)
    assert moved[0] == 422 and "pull request" in moved[1]
    assert branch(classic, fork, made, "other").status_code == 201


@pytest.mark.parametrize("status, text", [(404, "Not Found"), (422, "without `workflow` scope")])
def test_newer_workflows_of_the_upstream_need_a_scope(world, classic, parts, fork, status, text):
    world.workflow_status = status
    head = world.commit(parts, {".github/workflows/ci.yml": "on: push\n"})
    refused = branch(classic, fork, change(classic, fork, parent=head))
    assert refused.status_code == status and text in refused.json()["message"]
    assert branch(classic, fork, change(classic, fork), "older").status_code == 201


def test_a_branch_is_made_once_and_goes_only_forward(classic, fork):
    first, second = change(classic, fork), change(classic, fork, "c.yaml")
    assert branch(classic, fork, first).status_code == 201
    again = branch(classic, fork, second)
    assert (again.status_code, again.json()["message"]) == (422, "Reference already exists")
    assert classic.told("PATCH", "/repos/bob/parts/git/refs/heads/new", sha=second) == (
        422, "Update is not a fast forward")
    assert branch(classic, fork, "0" * 40, "none").json()["message"] == "Object does not exist"


# --- pulls --------------------------------------------------------------------------------------


@pytest.fixture
def pull(world, classic, fork):
    branch(classic, fork, change(classic, fork))
    assert classic.ask("POST", "/repos/ann/parts/pulls", head="bob:new", base="main",
                       title="Add").status_code == 201
    return world.pulls[0]


def test_mergeability_is_known_after_a_while(world, classic, pull, parts):
    def looked():
        found = classic.ask("GET", "/repos/ann/parts/pulls/1").json()
        return found["mergeable"], found["mergeable_state"]
    assert [looked(), looked()] == [(True, "clean")] * 2
    world.mergeable_looks = 2
    world.commit(parts, {"b.yaml": "conflict\n"})
    assert [looked(), looked(), looked()] == [
        (None, "unknown"), (None, "unknown"), (False, "dirty")]


def test_an_open_pull_shows_a_merge_commit_that_is_no_sign_of_a_merge(classic, pull):
    found = classic.ask("GET", "/repos/ann/parts/pulls/1").json()
    assert found["merge_commit_sha"] and not found["merged"] and found["merged_at"] is None


def test_nothing_new_and_the_same_again_are_refused(classic, pull):
    def told(**wanted):
        answer = classic.ask("POST", "/repos/ann/parts/pulls", base="main", title="x", **wanted)
        return answer.status_code, answer.json()["errors"][0].get("message")
    assert told(head="bob:new") == (422, "A pull request already exists for bob:new.")
    assert told(head="bob:main") == (422, "No commits between ann:main and bob:main")
    assert told(head="bob:nothing") == (422, None)


@pytest.mark.parametrize("method, commits", [("merge", 3), ("squash", 2), ("rebase", 2)])
def test_each_way_to_merge_leaves_its_own_history(github, world, ann, parts, pull, method,
                                                  commits):
    owner = Caller(github, world.classic_token(ann, "repo"))
    merged = owner.ask("PUT", "/repos/ann/parts/pulls/1/merge", merge_method=method).json()
    assert merged["merged"] and parts.git.resolve("main") == merged["sha"]
    assert len(parts.git.log("main")) == commits
    assert parts.git.blob(parts.git.at("main", "b.yaml").sha) == b"b\n"
    found = owner.ask("GET", "/repos/ann/parts/pulls/1").json()
    assert found["merged"] and found["state"] == "closed"


def test_a_red_check_a_status_and_a_review_show(world, classic, ann, parts, pull):
    world.check(parts, pull.head_sha, "DCO", "action_required", title="DCO",
                details_url="https://example.org/dco")
    world.status(parts, pull.head_sha, "ci", "success")
    world.review(pull, ann, "CHANGES_REQUESTED", "Please sign")
    path = f"/repos/ann/parts/commits/{pull.head_sha}"
    run, = classic.ask("GET", f"{path}/check-runs").json()["check_runs"]
    assert (run["name"], run["conclusion"], run["details_url"]) == (
        "DCO", "action_required", "https://example.org/dco")
    assert classic.ask("GET", f"{path}/status").json()["state"] == "success"
    review, = classic.ask("GET", "/repos/ann/parts/pulls/1/reviews").json()
    assert (review["state"], review["user"]["login"]) == ("CHANGES_REQUESTED", "ann")
    assert classic.ask("GET", "/repos/ann/parts/pulls/1").json()["mergeable_state"] == "unstable"
    parts.protected.add("main")
    assert classic.ask("GET", "/repos/ann/parts/pulls/1").json()["mergeable_state"] == "blocked"


def test_a_pull_of_a_deleted_fork_has_no_head(world, classic, fork, pull):
    world.delete(fork)
    head = classic.ask("GET", "/repos/ann/parts/pulls/1").json()["head"]
    assert (head["repo"], head["user"], head["label"]) == (None, None, None)


# --- large things -------------------------------------------------------------------------------


def test_large_trees_and_files_are_not_all_there(world, classic, parts):
    world.max_tree = 2
    world.commit(parts, {"big.yaml": "x" * ((1 << 20) + 1), "c": "c"})
    tree = classic.ask("GET", "/repos/ann/parts/git/trees/main?recursive=1").json()
    assert (tree["truncated"], len(tree["tree"])) == (True, 2)
    big = classic.ask("GET", "/repos/ann/parts/contents/big.yaml").json()
    assert (big["encoding"], big["content"], big["size"]) == ("none", "", (1 << 20) + 1)


def test_links_are_followed_and_submodules_listed_as_files(world, classic, parts):
    head = parts.git.resolve("main")
    world.commit(parts, {"l": "a.yaml", "s": head}, modes={"l": "120000", "s": "160000"})
    listed = classic.ask("GET", "/repos/ann/parts/contents").json()
    assert {each["name"]: each["type"] for each in listed} == {
        "a.yaml": "file", "l": "symlink", "s": "file"}
    assert classic.ask("GET", "/repos/ann/parts/contents/l").json()["path"] == "a.yaml"


# --- limits and faults --------------------------------------------------------------------------


def test_the_hourly_limit_tells_when_it_ends_and_ends_then(world, classic):
    world.limit = 1
    assert classic.ask("GET", "/user").headers["X-RateLimit-Remaining"] == "0"
    refused = classic.ask("GET", "/user")
    assert refused.status_code == 403 and "API rate limit exceeded" in refused.json()["message"]
    assert classic.ask("GET", "/rate_limit").json()["resources"]["core"]["remaining"] == 0
    assert int(refused.headers["X-RateLimit-Reset"]) > world.now.timestamp()
    world.advance(hours=1)
    assert classic.ask("GET", "/user").status_code == 200


def test_an_enterprise_server_may_have_no_limits(world, classic):
    world.limit = None
    assert not any(name.startswith("X-RateLimit") for name in classic.ask("GET", "/user").headers)
    assert classic.told("GET", "/rate_limit") == (404, "Rate limiting is not enabled.")


def test_the_secondary_limit_says_how_long_or_does_not(world, classic):
    world.fault("*", "/user$", 403, SECONDARY, Retry_After="60")
    world.fault("*", "/user$", 429, "Too Many Requests")
    first, second = classic.ask("GET", "/user"), classic.ask("GET", "/user")
    assert first.headers["Retry-After"] == "60" and "secondary" in first.json()["message"]
    assert second.status_code == 429 and "Retry-After" not in second.headers
    assert classic.ask("GET", "/user").status_code == 200


def test_a_connection_may_end_before_or_after_the_deed(world, classic, parts):
    for is_done in (False, True):
        world.fault("POST", "/forks$", 0, is_done=is_done)
        with pytest.raises(requests.ConnectionError):
            classic.ask("POST", "/repos/ann/parts/forks")
        assert (world.find("bob", "parts") is not None) == is_done
    assert [each.status for each in world.rest()] == [0, 0]


def test_the_most_requests_at_one_time_are_counted(world, classic):
    gate = threading.Event()
    world.fault("GET", "/user$", None, gate=gate, times=2)
    threads = [threading.Thread(target=classic.ask, args=("GET", "/user")) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_for(lambda: world.peaks.get("bob") == 2)
    gate.set()
    for thread in threads:
        thread.join()
    assert (world.peaks, world.flying) == ({"bob": 2}, {"bob": 0})


def test_a_list_may_lead_to_another_host(world, classic):
    world.fault("GET", "/user/repos$", None, Link='<http://elsewhere/>; rel="next"')
    assert classic.ask("GET", "/user/repos").links["next"]["url"] == "http://elsewhere/"


# --- webhooks -----------------------------------------------------------------------------------


def test_a_delivery_can_be_sent_again_with_the_same_id_or_be_lost(github, world, parts):
    with ScriptedServer() as listener:
        listener.answers["POST /hook"] = [Answer({}, 202)]
        world.add_hook(parts, f"{listener.url}/hook", "hush")
        world.commit(parts, {"b": "b"})
        sent, = github.hooks.deliveries
        assert github.hooks.redeliver(sent).status == sent.status == 202
        ids = [each.headers["X-GitHub-Delivery"] for each in listener.requests]
        assert len(ids) == 2 and len(set(ids)) == 1
        github.hooks.is_lost = True
        world.commit(parts, {"c": "c"}, parent=None)
        assert len(listener.requests) == 2 and github.hooks.deliveries[-1].status is None
        assert b'"forced": true' in github.hooks.deliveries[-1].raw


def test_hooks_hear_of_pulls_and_of_what_becomes_of_a_repository(github, world, classic, parts,
                                                                 pull):
    github.hooks.is_lost = True
    world.add_hook(parts, "http://127.0.0.1:9/", "x", ["pull_request", "repository"])
    world.commit(pull.head, {"b.yaml": "more"}, branch="new")
    classic.ask("PATCH", "/repos/ann/parts/pulls/1", state="closed")
    world.move(parts, name="newer")
    world.show(parts, is_private=True)
    world.delete(parts)
    told = [json.loads(each.raw) for each in github.hooks.deliveries]
    assert [each["action"] for each in told] == [
        "synchronize", "closed", "renamed", "privatized", "deleted"]
    assert {each["repository"]["id"] for each in told} == {parts.id}
    assert told[0]["pull_request"]["head"]["sha"] == pull.head.git.branch("new")
