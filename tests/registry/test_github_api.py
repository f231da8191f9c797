"""The gateway to GitHub, against the stand-in: what it asks, and what each refusal becomes."""
from datetime import timedelta

import pytest

from registry.config import Secret, Settings
from registry.github_api import GitHubApi
from registry.github_records import Author, Head

HELLO = "type: job\nname: hello\n"


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
    settings = Settings.from_environ({"PAISHARE_HOME": str(tmp_path),
                                      "PAISHARE_GITHUB_URL": github.url})

    def open_api(token, **how):
        opened.append(GitHubApi(settings, Secret(token.value) if token else None, **how))
        return opened[-1]
    yield open_api
    for each in opened:
        each.close()


def test_a_token_tells_whose_it_is(github, ann, api):
    ends = github.world.now + timedelta(days=30)
    token = github.world.classic_token(ann, "repo", "workflow", expires_at=ends)
    found = api(token).whoami()
    assert (found.login, found.id, found.kind) == ("ann", ann.id, "classic")
    assert found.scopes == ("repo", "workflow") and found.expires_at == ends.replace(tzinfo=None)


def test_a_change_goes_by_fork_branch_and_pull_request(github, bob, upstream, api):
    github.world.mergeable_looks = 0
    asked = api(github.world.classic_token(bob, "public_repo"))
    found = asked.repository("ann/components")
    assert (found.id, found.level, found.network_id) == (upstream.id, "read", upstream.id)
    fork = asked.fork(found)
    assert (fork.full_name, fork.parent_id, fork.level) == ("bob/components", found.id, "admin")
    head = asked.head(found.id, found.default_branch)
    assert isinstance(head, Head) and asked.ref(fork.id, "main") == head.commit
    tree, commit = asked.commit_files(
        fork.id, head.commit, {"job/hi.yaml": "type: job\n", "job/hello.yaml": None}, "Add hi",
        Author(name="Bob", email="bob@example.org"), base_tree=head.tree)
    assert asked.ref(fork.id, "add-hi") is None
    asked.create_branch(fork.id, "add-hi", commit)
    assert asked.tree_of(fork.id, commit) == tree
    assert asked.find_pulls(found.id, "bob:add-hi") == []
    opened = asked.open_pull(found.id, head="bob:add-hi", base="main", title="Add hi", body="New")
    assert [each.number for each in asked.find_pulls(found.id, "bob:add-hi")] == [opened.number]
    shown = asked.pull(found.id, opened.number)
    assert (shown.state, shown.is_merged, shown.head_sha) == ("open", False, commit)
