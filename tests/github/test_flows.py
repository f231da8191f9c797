"""What the registry does on GitHub, on the stand-in and, with a token, on the real one alike."""
import pytest
from dulwich.repo import Repo
from github import GithubException

from registry.github_errors import Code, GitHubError
from registry.github_records import Author
from tests.fakes.callers import commit_files
from tests.github.places import wait_for

PATH, TEXT = "script/hello.yaml", "type: script\nname: hello\nversion: 1.0.0\n"
NEWER = TEXT.replace("1.0.0", "1.1.0")
AUTHOR = Author(name="PAIShare's tests", email="tests@example.org")


@pytest.fixture
def upstream(place):
    return place.create({PATH: TEXT})


@pytest.fixture
def api(place):
    with place.api() as api:
        yield api


@pytest.fixture
def fork(place, api, upstream):
    made = api.fork(api.repository(upstream.id))
    place.will_remove(made.full_name)
    wait_for(lambda: api.ref(made.id, made.default_branch))
    return made


def propose(api, upstream, fork, branch="add-newer", text=NEWER):
    """A branch in the fork on top of the upstream's head; returns its commit."""
    head = api.head(upstream.id, upstream.default_branch)
    _, commit = commit_files(api, fork.id, head, {PATH: text}, "Newer", AUTHOR)
    api.create_branch(fork.id, branch, commit)
    return commit


def open_pull(api, upstream, fork, branch="add-newer"):
    return api.open_pull(upstream.id, head=f"{fork.full_name.partition('/')[0]}:{branch}",
                         base=upstream.default_branch, title="Newer", body="By a test.")


def test_a_token_tells_whose_it_is(place, api):
    who = api.whoami()
    assert who.login == place.client().get_user().login and who.id > 0
    assert api.remaining > 0 and api.resets_at is not None


def test_a_repository_is_found_by_its_name_its_number_and_its_old_name(api, upstream):
    found = api.repository(upstream.full_name)
    assert (found.id, found.is_private, found.level) == (upstream.id, False, "admin")
    upstream.edit(name=f"{upstream.name}-renamed")
    moved = api.repository(found.full_name)
    assert (moved.id, moved.full_name) == (found.id, f"{found.full_name}-renamed")


def test_what_did_not_change_is_told_in_short(api, upstream):
    found = wait_for(lambda: steady(api, upstream.id))
    assert api.repository_since(upstream.id, found.etag) is None


def steady(api, number):
    """The repository once two answers in a row are the same."""
    found = api.repository(number)
    return found if api.repository(number).etag == found.etag else None


def test_content_comes_over_git_without_blobs_and_then_one_by_one(place, api, upstream, tmp_path):
    branch = upstream.default_branch.encode()
    wait_for(lambda: api.file(upstream.id, api.ref(upstream.id, upstream.default_branch), PATH))
    blob = place.client().get_repo(upstream.id).get_contents(PATH).sha.encode()
    with Repo.init_bare(str(tmp_path / "copy"), mkdir=True) as repo:
        def fetch(wants, **options):
            place.git().fetch(f"/{upstream.full_name}.git", repo, protocol_version=2,
                              ref_prefix=[b"refs/heads/" + branch],
                              determine_wants=lambda refs, depth=None: wants(refs), **options)
        fetch(lambda refs: list(refs.values()), filter_spec=b"blob:none")
        assert blob not in repo.object_store
        fetch(lambda refs: [blob])
        assert repo[blob].data.decode() == TEXT


def test_a_change_goes_by_fork_branch_and_pull_request_to_the_merge(place, api, upstream, fork):
    commit = propose(api, upstream, fork)
    pull = open_pull(api, upstream, fork)
    assert (pull.state, pull.head_sha, pull.is_merged) == ("open", commit, False)
    assert [each.number for each in api.find_pulls(upstream.id, pull.head)] == [pull.number]
    ready = wait_for(lambda: known(api.pull(upstream.id, pull.number)))
    assert ready.is_mergeable
    place.client().get_repo(upstream.id).get_pull(pull.number).merge(merge_method="squash")
    merged = wait_for(lambda: done(api.pull(upstream.id, pull.number)))
    assert merged.merged_at is not None
    head = wait_for(lambda: api.ref(upstream.id, upstream.default_branch))
    assert api.file(upstream.id, head, PATH) == NEWER and head != commit


def known(pull):
    return pull if pull.is_mergeable is not None else None


def done(pull):
    return pull if pull.is_merged else None


def test_asking_twice_is_refused_and_the_fork_is_the_same(api, upstream, fork):
    propose(api, upstream, fork)
    open_pull(api, upstream, fork)
    refusals = []
    for again in (lambda: propose(api, upstream, fork, text=TEXT + "tags: [again]\n"),
                  lambda: open_pull(api, upstream, fork),
                  lambda: open_pull(api, upstream, fork, fork.default_branch)):
        with pytest.raises(GitHubError) as refused:
            again()
        refusals.append(refused.value.code)
    assert refusals == [Code.EXISTS, Code.PULL_EXISTS, Code.NO_COMMITS]
    assert api.fork(api.repository(upstream.id)).id == fork.id


def test_two_changes_of_one_line_conflict(api, place, upstream, fork):
    propose(api, upstream, fork)
    pull = open_pull(api, upstream, fork)
    file = upstream.get_contents(PATH)
    upstream.update_file(PATH, "Other", TEXT.replace("1.0.0", "2.0.0"), file.sha,
                         branch=upstream.default_branch)
    assert wait_for(lambda: conflicting(api.pull(upstream.id, pull.number)))


def conflicting(pull):
    return pull.is_mergeable is False


def test_a_pull_request_outlives_its_fork(place, api, upstream, fork):
    propose(api, upstream, fork)
    pull = open_pull(api, upstream, fork)
    place.client().get_repo(fork.id).delete()
    place.made.remove(fork.full_name)
    assert wait_for(lambda: headless(api.pull(upstream.id, pull.number))).number == pull.number


def headless(pull):
    return pull if pull.head is None else None


def test_what_is_not_there_is_not_found_and_old_shas_are_stale(api, place, upstream):
    with pytest.raises(GitHubError) as gone:
        api.repository(f"{place.organisation}/nothing-of-this-name")
    assert gone.value.code == Code.GONE
    with pytest.raises(GithubException) as stale:
        upstream.update_file(PATH, "Stale", NEWER, "0" * 40, branch=upstream.default_branch)
    assert stale.value.status == 409
