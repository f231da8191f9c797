"""The way of a component into a repository on GitHub, against the stand-in."""
from datetime import timedelta

import pytest
import requests

from registry import publish
from registry.config import Secret
from registry.db import repo_access, sources
from registry.errors import ConflictError, ForbiddenError
from registry.github_api import GitHubApi
from registry.github_errors import Code
from registry.publication import (
    ALREADY_PUBLISHED,
    CLOSED,
    DRAFT,
    FINISH_ON_GITHUB,
    MERGED,
    OPEN,
    PUBLISHED,
    STATES,
    WITHDRAWN,
)
from registry.publication_problems import ADVICE
from registry.publications import now_utc
from registry.views import publications
from tests.fakes.github.limits import SECONDARY
from tests.registry.publishing import NEW, OLD, PATH, Desk, desk_home  # noqa: F401

OTHER = OLD.replace("1.0.0", "1.0.5").replace("tidy.py", "other.py")


@pytest.fixture
def desk(github, tmp_path, desk_home):  # noqa: F811
    desk = Desk(github, tmp_path / "home", template=desk_home)
    yield desk
    desk.close()


@pytest.fixture
def publishing(desk):
    """A desk whose Bob has connected GitHub."""
    desk.connect()
    return desk


def change_of(desk, pull):
    """Path and text of the one file that the pull request changes."""
    git = desk.upstream.git
    (change,) = git.changes(git.merge_base(pull.base_sha, pull.head_sha), pull.head_sha)
    return change.path, git.blob(change.sha).decode()


def only_pull(desk):
    (pull,) = desk.world.pulls
    return pull


# --- the usual way ------------------------------------------------------------------------------

def test_a_change_goes_by_fork_commit_and_branch_to_one_pull_request(publishing):
    done = publishing.published()
    assert (done.state, done.problem, done.fork) == (OPEN, None, "bob/components")
    pull = only_pull(publishing)
    assert (pull.title, pull.head_branch) == ("Update script/tidy 1.1.0", done.branch)
    assert done.branch == f"registry/script-tidy/1-1-0-{done.tree_sha[:8]}"
    assert change_of(publishing, pull) == (PATH, NEW)
    commit = publishing.upstream.git.commit(done.commit_sha)
    assert commit.author["email"] == f"{publishing.bob.id}+bob@users.noreply.127.0.0.1"
    assert commit.message == "Update script/tidy 1.1.0"


def test_a_new_component_goes_to_its_usual_place(publishing):
    publishing.published(NEW.replace("name: tidy", "name: neat"))
    pull = only_pull(publishing)
    assert pull.title == "Add script/neat 1.1.0"
    assert change_of(publishing, pull)[0] == "script/neat.yaml"


def test_with_a_fork_at_hand_it_takes_at_most_eight_requests(publishing):
    publishing.world.fork(publishing.upstream, publishing.bob)
    draft = publishing.draft()
    publishing.world.seen.clear()
    assert publishing.run(publishing.publications.confirm(draft)).state == OPEN
    assert len(publishing.world.rest()) <= 8, publishing.world.rest()


def test_a_pause_lies_between_two_writes(publishing):
    publication, moments = publishing.confirmed(), []
    while publication.state != OPEN:
        before = len(publishing.writes())
        publication = publishing.tick(publication)
        moments += [publishing.now()] * (len(publishing.writes()) - before)
    assert len(moments) == 5
    assert min(later - earlier for earlier, later in zip(moments, moments[1:])) >= publish.PAUSE


def test_who_may_push_makes_a_branch_and_no_fork(publishing):
    publishing.upstream.grants["bob"] = "write"
    done = publishing.published()
    assert (done.state, done.is_direct, done.fork) == (OPEN, True, None)
    assert only_pull(publishing).head is publishing.upstream
    assert publishing.upstream.git.resolve("main") == done.base_sha


def test_the_default_branch_is_never_written(publishing):
    publishing.upstream.grants["bob"] = "write"
    before = publishing.upstream.git.refs()
    done = publishing.published()
    after = publishing.upstream.git.refs()
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {f"refs/heads/{done.branch}"}


def test_nothing_is_written_before_its_author_agrees(publishing):
    draft = publishing.draft()
    publishing.work()
    assert (draft.state, draft.before) == (DRAFT, OLD)
    assert publishing.writes() == [] and publishing.publications.due(publishing.now()) == []


def test_who_signs_off_has_the_line_in_the_commit(publishing):
    done = publishing.published(is_signed_off=True)
    email = f"{publishing.bob.id}+bob@users.noreply.127.0.0.1"
    message = publishing.upstream.git.commit(done.commit_sha).message
    assert message == f"Update script/tidy 1.1.0\n\nSigned-off-by: bob <{email}>"


def test_what_the_preview_showed_is_what_is_committed_whatever_came_since(publishing):
    draft = publishing.draft()
    publishing.world.commit(publishing.upstream, {"other.txt": "more\n"})
    publishing.run(publishing.publications.confirm(draft))
    assert change_of(publishing, only_pull(publishing)) == (PATH, NEW)


# --- forks and branches that are there ----------------------------------------------------------

def test_a_fork_under_another_name_is_used(publishing):
    fork = publishing.world.fork(publishing.upstream, publishing.bob)
    publishing.world.move(fork, name="parts-of-ann")
    done = publishing.published()
    assert (done.state, done.fork, done.fork_id) == (OPEN, "bob/parts-of-ann", fork.id)


def test_a_repository_of_the_same_name_that_is_no_fork_is_left_alone(publishing):
    own = publishing.world.create(publishing.bob, "components", {"mine.txt": "mine\n"})
    before = own.git.refs()
    done = publishing.published()
    assert (done.state, done.fork, own.git.refs()) == (OPEN, "bob/components-1", before)


def test_a_fork_far_behind_its_upstream_makes_a_pull_request_of_one_commit(publishing):
    fork = publishing.world.fork(publishing.upstream, publishing.bob)
    for number in range(3):
        publishing.world.commit(publishing.upstream, {"other.txt": f"{number}\n"})
    done = publishing.published()
    pull = only_pull(publishing)
    assert done.state == OPEN and change_of(publishing, pull) == (PATH, NEW)
    assert publishing.upstream.git.count(pull.base_sha, pull.head_sha) == 1
    assert fork.git.resolve("main") != publishing.upstream.git.resolve("main")


def test_a_fork_that_is_not_ready_is_waited_for(publishing):
    publishing.world.fork_delay = timedelta(seconds=45)
    done = publishing.published()
    assert (done.state, done.problem) == (OPEN, None)


def test_after_five_minutes_the_fork_is_called_slow_and_looked_at_all_the_same(publishing):
    publishing.world.fork_delay = timedelta(minutes=12)
    publication, problems = publishing.confirmed(), set()
    while publication.state != OPEN:
        problems.add(publication.problem)
        publication = publishing.tick(publication)
    assert problems == {None, "FORK_SLOW"} and len(publishing.world.pulls) == 1


def test_a_branch_with_the_same_tree_is_taken_over(publishing):
    first = publishing.published()
    pull = publishing.world.pulls.pop()  # as if it had never been opened
    publishing.world.advance(hours=1)
    publishing.publications.save(first, state=CLOSED, open_key=None, next_at=None)
    again = publishing.published()
    assert (again.branch, again.commit_sha) == (first.branch, first.commit_sha)
    assert only_pull(publishing).head_sha == pull.head_sha


def test_a_branch_of_the_name_with_other_content_is_left_as_it_is(publishing):
    first = publishing.published()
    fork = publishing.world.repositories[first.fork_id]
    publishing.world.pulls.clear()
    other = publishing.world.commit(fork, {PATH: OTHER}, branch=first.branch)
    publishing.publications.save(first, state=CLOSED, open_key=None, next_at=None)
    again = publishing.published()
    assert (again.state, again.branch) == (OPEN, f"{first.branch}-2")
    assert fork.git.resolve(first.branch) == other


def test_a_branch_that_a_rule_forbids_in_the_repository_goes_by_a_fork(publishing):
    publishing.upstream.grants["bob"] = "write"
    publishing.upstream.rules.append("registry/*")
    done = publishing.published()
    assert (done.state, done.is_direct, done.fork) == (OPEN, False, "bob/components")


@pytest.mark.parametrize("status", [404, 422])
def test_workflows_that_the_fork_lacks_are_gone_round(publishing, status):
    publishing.world.workflow_status = status
    publishing.world.fork(publishing.upstream, publishing.bob)
    publishing.world.commit(publishing.upstream, {".github/workflows/ci.yml": "on: push\n"})
    done = publishing.published()
    assert (done.state, done.problem) == (OPEN, None)
    assert change_of(publishing, only_pull(publishing)) == (PATH, NEW)


# --- what its author has to do ------------------------------------------------------------------

def stops(desk, code, **wanted):
    """It waits for its author with this code and a text, and the draft is kept."""
    found = desk.published(**wanted)
    assert (found.problem, found.next_at, found.text) == (code, None, NEW)
    assert ADVICE[code].text and not ADVICE[code].goes_on
    assert desk.world.pulls == []
    return found


def goes_on(desk, publication):
    """After its author pressed Try again."""
    return desk.run(desk.publications.retry(desk.again(publication)))


def test_a_dead_token_waits_for_another_and_then_goes_on_by_itself(desk):
    token, draft = desk.connect(), desk.draft()
    token.is_revoked = True
    stopped = desk.run(desk.publications.confirm(draft))
    assert (stopped.problem, stopped.next_at) == ("TOKEN_DEAD", None)
    desk.world.advance(minutes=1)
    desk.connect()
    desk.publisher.due(desk.now())
    assert desk.run(stopped).state == OPEN


def test_a_token_without_scopes_says_which_one_it_needs(desk):
    desk.connect(desk.world.classic_token(desk.bob))
    stopped = stops(desk, "SCOPE_MISSING")
    desk.connect()
    assert goes_on(desk, stopped).state == OPEN


def test_a_fine_grained_token_uses_the_fork_that_was_made_by_hand(desk):
    desk.connect(desk.world.fine_grained_token(desk.bob))
    stopped = stops(desk, "FG_NO_FORK")
    fork = desk.world.fork(desk.upstream, desk.bob)
    desk.connect(desk.world.fine_grained_token(desk.bob, [fork], contents="write"))
    found = goes_on(desk, stopped)
    assert (found.state, found.fork_id) == (FINISH_ON_GITHUB, fork.id)


def test_a_fine_grained_token_finds_the_fork_under_another_name(desk):
    fork = desk.world.fork(desk.upstream, desk.bob)
    desk.world.move(fork, name="parts-of-ann")
    own = desk.world.create(desk.bob, "components", {"mine.txt": "mine\n"})
    desk.connect(desk.world.fine_grained_token(desk.bob, [fork, own], contents="write"))
    found = desk.published()
    assert (found.state, found.fork_id) == (FINISH_ON_GITHUB, fork.id)


def test_a_pull_request_opened_by_hand_is_found_by_itself(desk):
    fork = desk.world.fork(desk.upstream, desk.bob)
    desk.connect(desk.world.fine_grained_token(desk.bob, [fork], contents="write"))
    found = desk.published()
    assert (found.state, found.problem, desk.world.pulls) == (FINISH_ON_GITHUB, None, [])
    by_hand = GitHubApi(desk.settings, Secret(
        desk.world.classic_token(desk.bob, "public_repo").value))
    by_hand.open_pull(desk.upstream.id, head=found.head, base="main", title="By hand", body="")
    by_hand.close()
    seen = desk.watch(found, minutes=2)
    assert (seen.state, seen.pull_number, seen.pull["title"]) == (OPEN, 1, "By hand")


def test_single_sign_on_is_asked_for_with_its_link(desk):
    acme = organisation(desk, needs_sso=True)
    token = desk.connect()
    stopped = stops(desk, "SSO_REQUIRED", repository="acme/parts")
    assert f"{desk.github.url}/orgs/acme/sso?" in stopped.detail
    acme.sso_tokens.add(token.value)
    assert goes_on(desk, stopped).state == OPEN


def test_an_organisation_that_forbids_the_kind_of_token_is_quoted(desk):
    organisation(desk, forbids_classic=True)
    desk.connect()
    stopped = stops(desk, "ORG_POLICY", repository="acme/parts")
    assert "forbids access via a personal access token (classic)" in stopped.detail


def organisation(desk, **rules):
    acme = desk.world.add_organisation("acme", {"bob": "write"})
    desk.world.create(acme, "parts", {PATH: OLD})
    for name, value in rules.items():
        setattr(acme, name, value)
    return acme


def spoiled(desk, **facts):
    """A publication that was agreed to before the repository changed so."""
    draft = desk.draft()
    for name, value in facts.items():
        setattr(desk.upstream, name, value)
    return desk.run(desk.publications.confirm(draft))


@pytest.mark.parametrize("facts, code", [
    ({"is_archived": True}, "REPO_READONLY"), ({"allows_forks": False}, "FORK_FORBIDDEN"),
    ({"is_blocked": True}, "BLOCKED"), ({"is_private": True}, "GONE")])
def test_a_repository_that_cannot_be_changed_is_said_and_the_text_stays(publishing, facts, code):
    stopped = spoiled(publishing, **facts)
    assert (stopped.problem, stopped.next_at, stopped.text) == (code, None, NEW)
    for name in facts:
        setattr(publishing.upstream, name, name == "allows_forks")
    assert goes_on(publishing, stopped).state == OPEN


def test_an_archived_or_empty_repository_shows_already_in_the_preview(publishing):
    publishing.upstream.is_archived = True
    publishing.world.create(publishing.ann, "empty")
    assert publishing.draft().problem == "REPO_READONLY"
    assert publishing.draft(repository="ann/empty").problem == "EMPTY"
    assert publishing.draft(repository="ann/nowhere").problem == "GONE"


def test_a_rule_in_the_fork_is_told_with_githubs_words(publishing):
    fork = publishing.world.fork(publishing.upstream, publishing.bob)
    fork.rules.append("registry/*")
    stopped = stops(publishing, "RULE")
    assert "rule" in stopped.detail.lower()
    fork.rules.clear()
    assert goes_on(publishing, stopped).state == OPEN


# --- what goes on by itself ---------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/forks$", "/git/trees$", "/git/commits$", "/git/refs$",
                                  "/pulls$"])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_write_that_ends_in_an_error_is_looked_for_before_it_is_done_again(publishing, path,
                                                                             is_done):
    publishing.world.fault("POST", path, 502, is_done=is_done)
    done = publishing.published()
    assert (done.state, done.problem) == (OPEN, None)
    assert change_of(publishing, only_pull(publishing)) == (PATH, NEW)
    branches = publishing.world.repositories[done.fork_id].git.refs("refs/heads/")
    assert sorted(branches) == ["refs/heads/main", f"refs/heads/{done.branch}"]


@pytest.mark.parametrize("path", ["/repos/ann/components$", "/forks$", "/git/refs$", "/pulls$"])
def test_a_connection_that_breaks_loses_nothing(publishing, path):
    draft = publishing.draft()
    publishing.world.fault("*", path, 0, times=4, is_done=True)
    done = publishing.run(publishing.publications.confirm(draft))
    assert done.state == OPEN and len(publishing.world.pulls) == 1


def test_a_secondary_limit_is_waited_for_as_long_as_github_says(publishing):
    publication = publishing.confirmed()
    publishing.world.fault("POST", "/git/trees$", 403, SECONDARY, Retry_After="600")
    while publication.problem != "LATER":
        publication = publishing.tick(publication)
    assert publication.next_at - publishing.now() >= timedelta(seconds=600)
    assert ADVICE["LATER"].goes_on
    assert publishing.run(publication).state == OPEN


def test_the_limit_of_the_hour_is_waited_for_and_the_draft_is_kept(publishing):
    publication = publishing.confirmed()
    publishing.world.limit = 1
    while publication.problem != "LATER":
        publication = publishing.tick(publication)
    assert publication.text == NEW and publication.next_at > publishing.now()
    publishing.world.limit = 5000
    assert publishing.run(publication).state == OPEN


# --- the pull request until it is found here ----------------------------------------------------

def merge(desk, method="squash"):
    """Ann merges the pull request as it stands."""
    token = desk.world.classic_token(desk.ann, "repo")
    answer = requests.put(f"{desk.github.api_url}/repos/ann/components/pulls/1/merge",
                          json={"merge_method": method},
                          headers={"Authorization": f"token {token.value}"}, timeout=60)
    assert answer.status_code == 200, answer.text


def test_checks_and_reviews_are_seen(publishing):
    done = publishing.published()
    pull = only_pull(publishing)
    publishing.world.check(publishing.upstream, pull.head_sha, "build", "success")
    publishing.world.review(pull, publishing.ann, "CHANGES_REQUESTED")
    seen = publishing.watch(done)
    assert [(each["name"], each["state"]) for each in seen.pull["checks"]] == [("build", "passed")]
    assert seen.pull["reviews"] == [{"login": "ann", "state": "CHANGES_REQUESTED"}]


def test_a_red_dco_check_asks_for_the_signature(publishing):
    done = publishing.published()
    publishing.world.check(publishing.upstream, only_pull(publishing).head_sha, "DCO",
                           "action_required")
    seen = publishing.watch(done)
    assert (seen.state, seen.problem) == (OPEN, "CLA") and seen.next_at is not None


def test_a_conflict_is_rebuilt_on_the_newest_state_in_the_same_pull_request(publishing):
    done = publishing.published()
    publishing.world.commit(publishing.upstream, {PATH: OTHER})
    publishing.watch(done)
    seen = publishing.watch(done)
    assert (seen.state, seen.problem) == (OPEN, "CONFLICT")
    draft = publishing.drafts.rebuild(seen)
    assert (draft.state, draft.before, draft.pull_number) == (DRAFT, OTHER, 1)
    publishing.run(publishing.publications.confirm(draft))
    pull = only_pull(publishing)
    assert change_of(publishing, pull) == (PATH, NEW)
    publishing.watch(done)
    assert publishing.watch(done).pull["is_mergeable"] is True
    assert not any("force\":true" in seen.query for seen in publishing.writes())


def test_a_branch_that_someone_else_moved_is_not_written_over(publishing):
    done = publishing.published()
    fork = publishing.world.repositories[done.fork_id]
    theirs = publishing.world.commit(fork, {"x.txt": "x\n"}, branch=done.branch)
    draft = publishing.drafts.rebuild(publishing.watch(done))
    stopped = publishing.run(publishing.publications.confirm(draft))
    assert (stopped.problem, fork.git.resolve(done.branch)) == ("BRANCH_MOVED", theirs)


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_what_is_merged_is_seen_and_the_next_version_may_follow(publishing, method):
    done = publishing.published()
    merge(publishing, method)
    seen = publishing.watch(done)
    assert (seen.state, seen.open_key, seen.pull["is_merged"]) == (MERGED, None, True)
    following = publishing.draft(NEW.replace("1.1.0", "1.2.0"))
    assert publishing.publications.confirm(following).open_key


def test_what_is_closed_is_kept_and_can_be_published_again(publishing):
    done = publishing.published()
    only_pull(publishing).state = "closed"
    seen = publishing.watch(done)
    assert (seen.state, seen.next_at, seen.open_key) == (CLOSED, None, None)
    again = publishing.drafts.rebuild(seen)
    assert publishing.run(publishing.publications.confirm(again)).state == OPEN
    assert [pull.state for pull in publishing.world.pulls] == ["closed", "open"]


def test_a_deleted_fork_does_not_trouble_what_was_merged(publishing):
    done = publishing.published()
    merge(publishing)
    publishing.world.delete(publishing.world.repositories[done.fork_id])
    assert publishing.watch(done).state == MERGED


def test_what_the_sync_found_is_published(github, tmp_path, database_url):
    desk = Desk(github, tmp_path / "home", database_url=database_url)
    desk.connect()
    desk.add_source()
    done = desk.published()
    assert desk.again(done).state == OPEN
    merge(desk)
    assert desk.watch(done).state == MERGED
    desk.sync()
    desk.publisher.due(desk.now())
    found = desk.again(done)
    assert (found.state, found.next_at) == (PUBLISHED, None)
    assert desk.drafts.found(found).version == "1.1.0"
    desk.close()


def test_who_may_not_read_the_repository_any_more_learns_nothing_of_it(publishing):
    publishing.add_source()
    done = publishing.published()
    merge(publishing)
    publishing.watch(done)
    publishing.sync()
    with publishing.engine.begin() as connection:
        connection.execute(sources.update().values(is_private=True))
    publishing.publisher.due(publishing.now())
    assert publishing.again(done).state == MERGED
    with publishing.engine.begin() as connection:
        connection.execute(repo_access.insert().values(
            user_id=publishing.user.id, repo_id=publishing.upstream.id, level="read",
            checked_at=now_utc()))
    publishing.publisher.due(publishing.now())
    assert publishing.again(done).state == PUBLISHED


def test_the_sync_may_see_it_first(publishing):
    publishing.add_source()
    done = publishing.published()
    merge(publishing)
    publishing.sync()
    publishing.publisher.due(publishing.now())
    assert publishing.again(done).state == PUBLISHED


def test_a_change_by_who_merged_it_is_found_by_its_version(publishing):
    publishing.add_source()
    done = publishing.published()
    merge(publishing)
    publishing.world.commit(publishing.upstream, {PATH: NEW.replace("order.", "good order.")})
    publishing.watch(done)
    publishing.sync()
    publishing.publisher.due(publishing.now())
    assert publishing.again(done).state == PUBLISHED


def test_a_closed_one_whose_version_others_took_is_superseded(publishing):
    publishing.add_source()
    done = publishing.published()
    only_pull(publishing).state = "closed"
    publishing.world.commit(publishing.upstream, {PATH: OTHER.replace("1.0.5", "1.1.0")})
    publishing.sync()
    assert publishing.watch(done).state == "SUPERSEDED"


def test_content_that_came_in_meanwhile_needs_no_pull_request(publishing):
    draft = publishing.draft()
    publishing.world.commit(publishing.upstream, {PATH: NEW})
    again = publishing.drafts.look(draft)
    assert [each.message for each in publishing.drafts.checks(again) if each.severity == "error"]
    publishing.publications.save(again, before=None)
    done = publishing.run(publishing.publications.confirm(publishing.again(again)))
    assert (done.state, publishing.world.pulls) == (ALREADY_PUBLISHED, [])


# --- one at a time, and not too many ------------------------------------------------------------

def test_one_component_is_published_once_at_a_time(publishing):
    publishing.published()
    with pytest.raises(ConflictError, match="already .number 1."):
        publishing.confirmed(NEW.replace("1.1.0", "1.2.0"))


def test_agreeing_twice_is_agreeing_once(publishing):
    draft = publishing.draft()
    publishing.publications.confirm(draft)
    publishing.publications.confirm(draft)
    publishing.run(draft)
    assert len(publishing.world.pulls) == 1


def test_a_user_starts_ten_within_an_hour(publishing):
    for number in range(10):
        publishing.confirmed(NEW.replace("name: tidy", f"name: tidy{number}"))
    with pytest.raises(ForbiddenError, match="within an hour.*go on in 60 minutes"):
        publishing.confirmed()
    publishing.world.advance(hours=1)
    assert publishing.confirmed().next_at


def test_twenty_publications_are_open_at_once(publishing):
    for number in range(20):
        publishing.confirmed(NEW.replace("name: tidy", f"name: tidy{number}"))
        publishing.world.advance(minutes=10)
    with pytest.raises(ForbiddenError, match="20 open publications"):
        publishing.confirmed()


def test_a_pull_request_is_looked_at_less_often_as_it_grows_old(publishing):
    done, waits = publishing.published(), []
    for hours in (0, 1, 24):
        publishing.watch(done, hours=hours)
        found = publishing.watch(done, seconds=1)  # GitHub knows by now whether it can be merged
        waits.append(found.next_at - publishing.now())
    assert waits[0] == timedelta(minutes=1) < waits[1] < waits[2] == timedelta(hours=1)


def test_what_is_withdrawn_goes_no_further(publishing):
    publication = publishing.tick(publishing.confirmed())
    gone = publishing.publications.withdraw(publication)
    assert (gone.state, publishing.publisher.advance(publication)) == (WITHDRAWN, None)
    publishing.work()
    assert publishing.world.pulls == [] and publishing.confirmed().state == "CHECKED"


def test_every_state_has_its_word_and_every_code_its_text():
    assert publications._WORDS.keys() == set(STATES)
    own = {Code.EXISTS, Code.NOT_FAST_FORWARD, Code.PULL_EXISTS, Code.NO_COMMITS,
           Code.FINISH_ON_GITHUB, Code.UNREACHABLE}  # these are met on the way
    assert set(map(str, set(Code) - own)) <= ADVICE.keys()
