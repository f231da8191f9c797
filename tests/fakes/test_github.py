"""The stand-in for GitHub keeps to GitHub's own description, asked by the clients that we use."""
import hashlib
import hmac
import subprocess
from datetime import timedelta

import pytest
import requests
from dulwich import porcelain
from flask import Flask, jsonify
from github import Auth, Github, GithubException, InputGitTreeElement

from tests.fakes.github.records import Fault
from tests.fakes.scripted_server import Answer, ScriptedServer

COMPONENT = "type: job\nname: hello\nversion: 1.0.0\n"


@pytest.fixture
def people(github):
    return [github.world.add_user(login) for login in ("ann", "bob")]


@pytest.fixture
def upstream(github, people, tmp_path):
    """ann's public repository with two commits, pushed with the git command."""
    repository = github.world.create(people[0], "components")
    token = github.world.classic_token(people[0], "repo")
    push(github, repository, token, tmp_path / "work", {"job/hello.yaml": COMPONENT})
    push(github, repository, token, tmp_path / "work", {"README.md": "# Components\n"})
    return repository


def push(github, repository, token, folder, files, branch="main", force=False):
    def git(*args):
        return subprocess.run(
            ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *args],
            cwd=folder, check=True, capture_output=True)
    if not folder.exists():
        folder.mkdir()
        git("init", "-q", "-b", branch)
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    git("add", "-A")
    git("commit", "-q", "-m", f"Change {', '.join(files)}")
    git("push", "-q", *(["-f"] if force else []), github.clone_url(repository, token), branch)


def client(github, token):
    return Github(base_url=github.api_url, auth=Auth.Token(token.value), seconds_between_requests=0,
                  seconds_between_writes=0, retry=None, per_page=100)


def test_a_classic_token_tells_who_it_is_and_its_scopes(github, people):
    api = client(github, github.world.classic_token(people[0], "repo", "workflow"))
    assert (api.get_user().login, api.oauth_scopes) == ("ann", ["repo", "workflow"])


def test_a_fine_grained_token_shows_no_scopes_and_when_it_ends(github, people):
    ends = github.world.now + timedelta(days=30)
    user = client(github, github.world.fine_grained_token(people[0], expires_at=ends)).get_user()
    assert user.login == "ann" and "x-oauth-scopes" not in user.raw_headers
    shown = user.raw_headers["github-authentication-token-expiration"]
    assert shown == f"{ends:%Y-%m-%d %H:%M:%S} UTC"


def test_a_token_that_ended_is_refused(github, people):
    token = github.world.classic_token(people[0], expires_at=github.world.now + timedelta(hours=1))
    github.world.advance(hours=2)
    with pytest.raises(GithubException) as refused:
        client(github, token).get_user().login
    assert (refused.value.status, refused.value.data["message"]) == (401, "Bad credentials")


def test_a_private_repository_is_not_there_for_others(github, people):
    ann, bob = people
    hidden = github.world.create(ann, "hidden", is_private=True)
    for token in (github.world.classic_token(bob, "repo"), github.world.classic_token(ann)):
        with pytest.raises(GithubException) as refused:
            client(github, token).get_repo("ann/hidden").id
        assert refused.value.status == 404
    fine = github.world.fine_grained_token(ann, [hidden], contents="read")
    assert client(github, fine).get_repo(hidden.id).full_name == "ann/hidden"


def test_what_was_pushed_is_read_back_in_every_way(github, people, upstream):
    repository = client(github, github.world.classic_token(people[1])).get_repo("ann/components")
    assert [commit.commit.message for commit in repository.get_commits()] == [
        "Change README.md", "Change job/hello.yaml"]
    assert [each.filename for each in repository.get_commits()[0].files] == ["README.md"]
    tree = repository.get_git_tree("main", recursive=True)
    assert [each.path for each in tree.tree] == ["README.md", "job", "job/hello.yaml"]
    assert repository.get_contents("job/hello.yaml").decoded_content.decode() == COMPONENT
    assert [each.path for each in repository.get_contents("job")] == ["job/hello.yaml"]
    assert repository.get_branch("main").commit.sha == repository.get_commits()[0].sha
    assert [branch.name for branch in repository.get_branches()] == ["main"]
    assert repository.get_commits()[0].get_combined_status().total_count == 0
    assert repository.get_commits()[0].get_check_runs().totalCount == 0
    base, head = (repository.get_commits()[number].sha for number in (1, 0))
    assert (repository.compare(base, head).status, repository.compare(base, head).ahead_by) == (
        "ahead", 1)


def test_git_and_dulwich_fetch_with_a_token_and_not_without(github, people, tmp_path):
    hidden = github.world.create(people[0], "hidden", is_private=True)
    token = github.world.classic_token(people[0], "repo")
    push(github, hidden, token, tmp_path / "work", {"job/hello.yaml": COMPONENT})
    with porcelain.clone(f"{github.url}/ann/hidden.git", str(tmp_path / "copy"), bare=True,
                         username="x", password=token.value) as copy:
        assert copy.head().decode() == hidden.git.resolve("main")
    no_prompt = {"GIT_TERMINAL_PROMPT": "0", "PATH": "/usr/bin:/bin"}
    denied = subprocess.run(["git", "ls-remote", github.clone_url(hidden)], env=no_prompt,
                            capture_output=True, text=True)
    assert denied.returncode and "could not read Username" in denied.stderr


def test_a_change_goes_by_fork_and_pull_request_to_the_merge(github, people, upstream):
    ann, bob = people
    api = client(github, github.world.classic_token(bob, "public_repo"))
    base = api.get_repo("ann/components")
    fork = base.create_fork(default_branch_only=True)
    head = base.get_branch("main").commit
    tree = fork.create_git_tree(
        [InputGitTreeElement("job/hi.yaml", "100644", "blob", content="type: job\n")],
        base_tree=head.commit.tree)
    commit = fork.create_git_commit("Add hi", tree, [head.commit])
    fork.create_git_ref("refs/heads/add-hi", commit.sha)
    pull = base.create_pull(base="main", head="bob:add-hi", title="Add hi", body="New.")
    assert (pull.number, pull.mergeable, base.get_pull(1).mergeable) == (1, None, True)
    assert [each.filename for each in pull.get_files()] == ["job/hi.yaml"]
    assert [each.number for each in base.get_pulls(state="all", head="bob:add-hi")] == [1]
    with pytest.raises(GithubException) as refused:
        base.create_pull(base="main", head="bob:add-hi", title="Again", body="")
    assert "already exists" in refused.value.data["errors"][0]["message"]
    own = client(github, github.world.classic_token(ann, "repo")).get_repo("ann/components")
    assert own.get_pull(1).merge(merge_method="squash").merged
    assert base.get_pull(1).merged and base.get_contents("job/hi.yaml").size == 10
    github.world.delete(github.world.find("bob", "components"))
    assert base.get_pull(1).raw_data["head"]["repo"] is None


def test_conflicting_changes_cannot_be_merged(github, people, upstream, tmp_path):
    ann, bob = people
    token = github.world.classic_token(ann, "repo")
    api = client(github, token).get_repo("ann/components")
    api.create_git_ref("refs/heads/other", api.get_branch("main").commit.sha)
    file = api.get_contents("job/hello.yaml")
    for name, branch in (("theirs", "other"), ("ours", "main")):
        api.update_file(file.path, "Change", f"name: {name}\n", file.sha, branch=branch)
    pull = api.create_pull(base="main", head="other", title="x", body="")
    assert api.get_pull(pull.number).mergeable_state == "dirty"
    with pytest.raises(GithubException) as refused:
        pull.merge()
    assert refused.value.status == 405


def test_a_fine_grained_token_opens_no_pull_request_elsewhere(github, people, upstream):
    token = github.world.fine_grained_token(people[1], contents="write", pull_requests="write")
    with pytest.raises(GithubException) as refused:
        client(github, token).get_repo("ann/components").create_pull(
            base="main", head="bob:x", title="x", body="")
    assert refused.value.data["message"] == "Resource not accessible by personal access token"


def test_a_fork_comes_late_and_under_a_free_name(github, people, upstream):
    github.world.fork_delay = timedelta(seconds=30)
    github.world.create(people[1], "components")
    api = client(github, github.world.classic_token(people[1], "public_repo"))
    fork = api.get_repo("ann/components").create_fork()
    assert fork.full_name == "bob/components-1" and fork.parent.full_name == "ann/components"
    with pytest.raises(GithubException) as early:
        fork.get_git_ref("heads/main")
    github.world.advance(seconds=31)
    assert early.value.status == 409
    assert fork.get_git_ref("heads/main").object.sha == upstream.git.resolve("main")


def test_a_fork_that_fell_behind_catches_up(github, people, upstream, tmp_path):
    api = client(github, github.world.classic_token(people[1], "public_repo"))
    fork = api.get_repo("ann/components").create_fork()
    assert fork.merge_upstream("main").merge_type == "none"
    push(github, upstream, github.world.classic_token(people[0], "repo"), tmp_path / "work",
         {"README.md": "# More\n"})
    assert fork.merge_upstream("main").merge_type == "fast-forward"
    assert fork.get_branch("main").commit.sha == upstream.git.resolve("main")


def test_an_old_name_leads_on_until_another_takes_it(github, people, upstream):
    token = github.world.classic_token(people[0], "repo")
    github.world.move(upstream, name="renamed")
    headers = {"Authorization": f"token {token.value}"}
    url = f"{github.api_url}/repos/ann/components"
    read = requests.get(f"{url}/commits?sha=main", headers=headers, allow_redirects=False)
    written = requests.post(f"{url}/forks", headers=headers, json={}, allow_redirects=False)
    assert (read.status_code, written.status_code) == (301, 307)
    assert read.headers["Location"].endswith(f"/repositories/{upstream.id}/commits?sha=main")
    other = github.world.create(people[0], "components")
    assert client(github, token).get_repo("ann/components").id == other.id


def test_what_did_not_change_costs_nothing_of_the_limit(github, people, upstream):
    headers = {"Authorization": f"token {github.world.classic_token(people[0]).value}"}
    url = f"{github.api_url}/repos/ann/components"
    first = requests.get(url, headers=headers)
    again = requests.get(url, headers={**headers, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["X-RateLimit-Used"] == "1"


def test_the_limit_of_an_hour_ends(github, people):
    github.world.limit = 2
    api = client(github, github.world.classic_token(people[0]))
    for _ in range(2):
        api.get_user().login
    with pytest.raises(GithubException) as refused:
        api.get_user().login
    assert refused.value.status == 403 and "rate limit exceeded" in refused.value.data["message"]


def test_a_fault_comes_before_or_after_the_deed(github, people, upstream):
    api = client(github, github.world.classic_token(people[1], "public_repo"))
    base = api.get_repo("ann/components")
    for is_done, forks in ((False, 0), (True, 1)):
        github.world.faults = [Fault(method="POST", path="/forks$", status=502, is_done=is_done)]
        with pytest.raises(GithubException) as failed:
            base.create_fork()
        assert (failed.value.status, base.get_forks().totalCount) == (502, forks)


def test_a_push_tells_the_hook_signed(github, people, upstream, tmp_path):
    with ScriptedServer() as listener:
        listener.answers["POST /hook"] = [Answer({})]
        token = github.world.classic_token(people[0], "repo", "admin:repo_hook")
        client(github, token).get_repo("ann/components").create_hook(
            "web", {"url": f"{listener.url}/hook", "secret": "hush"}, ["push"])
        push(github, upstream, token, tmp_path / "work", {"README.md": "# New\n"})
        ping, sent = github.hooks.deliveries
        assert ping.headers["X-GitHub-Event"] == "ping"
        expected = hmac.new(b"hush", sent.raw, hashlib.sha256).hexdigest()
        assert sent.headers["X-Hub-Signature-256"] == f"sha256={expected}"
        told = listener.requests[1].body
        assert (told["ref"], told["after"]) == ("refs/heads/main", upstream.git.resolve("main"))


def test_a_protected_branch_takes_no_commit(github, people, upstream):
    upstream.protected.add("main")
    api = client(github, github.world.classic_token(people[0], "repo")).get_repo("ann/components")
    with pytest.raises(GithubException) as refused:
        api.create_file("x.txt", "x", "x")
    assert refused.value.status == 409
    assert refused.value.data["message"].startswith("Repository rule violations found")


def test_an_empty_repository_says_so(github, people):
    github.world.create(people[0], "empty")
    api = client(github, github.world.classic_token(people[0], "repo")).get_repo("ann/empty")
    with pytest.raises(GithubException) as refused:
        api.get_commits()[0]
    assert (refused.value.status, refused.value.data["message"]) == (
        409, "Git Repository is empty.")


def test_the_description_bites(github_contract):
    if github_contract is None:
        pytest.skip("THE STAND-IN IS NOT HELD TO GITHUB'S DESCRIPTION: no package index")
    app = Flask(__name__)
    with app.test_request_context():
        github_contract.check("GET", "/repos/ann/components/branches", jsonify([{"name": 1}]))
    place = "GET /repos/{owner}/{repo}/branches 200 at 0"
    assert github_contract.take_violations() == [
        f"{place}.name: 1 is not of type 'string'", f"{place}: 'commit' is a required property",
        f"{place}: 'protected' is a required property"]
