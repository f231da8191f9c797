"""What GitHub says no to, and how: the stand-in refuses in the same words, codes and headers."""
from datetime import timedelta

import pytest

from tests.fakes.callers import NO_ACCESS, Caller, branch, change

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
    assert refused.headers["X-GitHub-SSO"].startswith(f"required; url={github.url}/")
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
