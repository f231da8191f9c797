"""The way of a component into a repository on GitHub, against the stand-in."""
import pytest

from registry.publication import OPEN
from tests.registry.publishing import NEW, PATH, Desk


@pytest.fixture
def desk(github, tmp_path):
    desk = Desk(github, tmp_path / "home")
    yield desk
    desk.close()


def test_a_change_goes_by_fork_commit_and_branch_to_one_pull_request(desk):
    desk.connect()
    done = desk.published()
    assert (done.state, done.problem, done.fork) == (OPEN, None, "bob/components")
    (pull,) = desk.world.pulls
    assert (pull.title, pull.head_branch) == ("Update script/tidy 1.1.0", done.branch)
    assert done.branch == f"registry/script-tidy/1-1-0-{done.tree_sha[:8]}"
    git = desk.upstream.git
    (change,) = git.changes(pull.base_sha, pull.head_sha)
    assert (change.path, git.blob(change.sha).decode()) == (PATH, NEW)
