"""What an open pull request says, and how little looking at it costs, against the stand-in."""
import pytest

from registry.preview import Wanted
from registry.publication import OPEN
from tests.registry.publishing import NEW, PATH, Desk, desk_home  # noqa: F401
from tests.registry.test_publish import merge

NEXT = NEW.replace("1.1.0", "1.2.0")


@pytest.fixture
def desk(github, tmp_path, desk_home):  # noqa: F811
    """A desk whose Bob has connected GitHub."""
    desk = Desk(github, tmp_path / "home", template=desk_home)
    desk.connect()
    yield desk
    desk.close()


def changed(desk, publication, text=NEXT, **words):
    """After its author wrote another text, as the page sends it, and agreed."""
    publication = desk.again(publication)
    draft = desk.drafts.make(desk.user.id, Wanted(**{
        "repository": "ann/components", "text": text, "title": publication.title,
        "body": publication.body, **words}), id_=publication.id)
    return desk.run(desk.publications.confirm(draft))


def words(desk):
    (pull,) = desk.world.pulls
    return pull.title, pull.body


def test_a_new_title_and_text_reach_the_open_pull_request(desk):
    done = changed(desk, desk.published(), title="Tidier still", body="Because.")
    assert (done.state, done.problem, words(desk)) == (OPEN, None, ("Tidier still", "Because."))
    assert desk.watch(done).title == "Tidier still"


def test_words_that_were_made_here_follow_the_new_text(desk):
    first = desk.published()
    assert words(desk)[0] == "Update script/tidy 1.1.0"
    changed(desk, first)
    assert words(desk)[0] == "Update script/tidy 1.2.0" and "1.0.0` to `1.2.0`" in words(desk)[1]


def test_words_that_did_not_change_are_not_written_again(desk):
    first = desk.published(title="Mine", body="My words.")
    desk.world.seen.clear()
    changed(desk, first)
    assert words(desk) == ("Mine", "My words.")
    assert not [seen for seen in desk.writes() if "/pulls" in seen.path]


def test_what_somebody_wrote_on_github_is_taken_over_and_stays(desk):
    first = desk.published()
    desk.world.pulls[0].title, desk.world.pulls[0].body = "Maintained", "By\r\nAnn"
    seen = desk.watch(first)
    assert (seen.title, seen.body) == ("Maintained", "By\nAnn")
    changed(desk, seen)
    assert words(desk) == ("Maintained", "By\r\nAnn")


def test_where_github_does_not_change_the_words_the_change_is_there_and_it_is_said(desk):
    first = desk.published()
    desk.world.fault("PATCH", "/pulls/1$", 403, "Resource not accessible by personal access token",
                     times=9)
    done = changed(desk, first, title="Tidier still")
    assert (done.state, done.problem) == (OPEN, "WORDS_KEPT")
    assert words(desk)[0] == "Update script/tidy 1.1.0"
    assert desk.upstream.git.commit(desk.world.pulls[0].head_sha)
    still = desk.watch(done)
    assert (still.problem, still.title) == ("WORDS_KEPT", "Tidier still")
    desk.world.pulls[0].title = "Tidier still"
    over = desk.watch(still)
    assert (over.problem, over.title) == (None, "Tidier still")


def test_a_kill_before_and_after_the_words_were_written_comes_to_the_same(desk):
    first = desk.published()
    draft = desk.drafts.make(desk.user.id, Wanted(
        repository="ann/components", text=NEXT, path=PATH, title="Twice"), id_=first.id)
    publication = desk.publications.confirm(draft)
    while publication.state != "OPENING":
        publication = desk.tick(publication)
    with desk.accounts.asking(desk.user.id) as api:  # written, and killed before that was noted
        api.change_pull(desk.upstream.id, 1, title="Twice", body=publication.body)
    assert desk.run(publication).state == OPEN and words(desk)[0] == "Twice"


def test_a_change_that_is_dropped_leaves_what_the_branch_holds(desk):
    first = desk.watch(desk.published(title="Mine", body="Words."))
    draft = desk.drafts.make(desk.user.id, Wanted(
        repository="ann/components", text=NEXT, path="other/script/tidy.yaml", title="Else"),
        id_=first.id)
    again = desk.drafts.make(desk.user.id, Wanted(  # edited once more before it is dropped
        repository="ann/components", text=NEXT + "# more\n"), id_=draft.id)
    dropped = desk.watch(desk.publications.withdraw(again))
    assert (dropped.state, dropped.text, dropped.version, dropped.path) == (
        OPEN, NEW, "1.1.0", PATH)
    assert (dropped.title, dropped.body, dropped.commit_sha) == ("Mine", "Words.", first.commit_sha)
    merge(desk)
    desk.add_source()
    desk.watch(dropped)
    desk.publisher.due(desk.now())
    assert desk.again(first).state == "PUBLISHED"


# --- looking at it ------------------------------------------------------------------------------

def looked(desk, publication):
    """It after one more look, and what that cost of the hour's limit."""
    before = desk.accounts._row(desk.user.id).background_used
    desk.world.seen.clear()
    seen = desk.watch(publication, minutes=2)
    assert len(desk.world.rest()) <= 6
    return seen, desk.accounts._row(desk.user.id).background_used - before


def test_a_look_at_what_did_not_change_costs_nothing(desk):
    first = desk.watch(desk.watch(desk.published()))
    again, cost = looked(desk, first)
    assert cost == 0
    assert {**again.pull, "etags": None} == {**first.pull, "etags": None}


def test_what_changed_is_seen_and_the_rest_stays(desk):
    first = desk.watch(desk.watch(desk.published()))
    ann, upstream, sha = desk.ann, desk.upstream, desk.world.pulls[0].head_sha
    desk.world.review(desk.world.pulls[0], ann, "APPROVED")
    seen, _ = looked(desk, first)
    assert seen.pull["reviews"] == [{"login": "ann", "state": "APPROVED"}]
    desk.world.check(upstream, sha, "build", "success")
    seen, _ = looked(desk, seen)
    desk.world.status(upstream, sha, "ci", "success", url="https://example.org/ci")
    seen, _ = looked(desk, seen)
    assert [check["name"] for check in seen.pull["checks"]] == ["build", "ci"]
    assert seen.pull["reviews"] == [{"login": "ann", "state": "APPROVED"}]
    merge(desk)
    assert looked(desk, seen)[0].state == "MERGED"


def test_checks_of_an_older_commit_are_forgotten(desk):
    first = desk.published()
    desk.world.check(desk.upstream, desk.world.pulls[0].head_sha, "build", "failure")
    seen = desk.watch(first)
    assert seen.pull["checks"][0]["name"] == "build"
    assert desk.watch(changed(desk, seen)).pull["checks"] == []


def test_what_an_older_release_kept_of_a_pull_request_is_read_anew(desk):
    first = desk.watch(desk.published())
    old = {name: value for name, value in first.pull.items() if name not in (
        "etags", "body", "head", "head_sha", "base")}
    desk.publications.save(first, pull=old)
    assert "etags" in desk.watch(desk.again(first)).pull
