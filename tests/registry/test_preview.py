"""What is said of a draft before it is published."""
from datetime import UTC, datetime

import pytest

from registry.db import github_tokens, repo_access, sources
from registry.errors import ComponentError, ForbiddenError, InvalidInputError
from registry.publication import checked_path, checked_repository, may_follow
from registry.publications import MAX_DRAFTS
from tests.registry.publishing import NEW, OLD, PATH, Desk, desk_home  # noqa: F401


@pytest.fixture
def desk(github, tmp_path, desk_home):  # noqa: F811
    desk = Desk(github, tmp_path / "home", template=desk_home)
    desk.connect()
    yield desk
    desk.close()


def advice(desk, text=NEW, **wanted):
    """The sentences of the checks, with their severities."""
    return [f"{each.severity}: {each.message}"
            for each in desk.drafts.checks(desk.draft(text, **wanted))]


def test_a_higher_version_of_a_known_component_has_nothing_against_it(desk):
    desk.add_source()
    assert advice(desk) == []


@pytest.mark.parametrize("text, wanted, sentence", [
    (NEW.replace("1.1.0", "0.9.0"), {}, "warning: The newest version there is 1.0.0"),
    (NEW.replace("1.1.0", "1.0.0"), {}, "warning: script/tidy@1.0.0 stands there already"),
    (NEW.replace("version: 1.1.0\n", ""), {}, "warning: It has no version"),
    (OLD, {}, "error: script/tidy.yaml holds exactly this text already"),
    (NEW.replace("name: tidy", "name: neat"), {"path": PATH},
     "warning: script/tidy.yaml holds script/tidy now, which yours would replace"),
    (NEW, {"path": "more/script/tidy.yaml"},
     "warning: script/tidy stands at script/tidy.yaml in this repository"),
    (NEW.replace("in order.", "in order with ghp_" + "x" * 36), {},
     "warning: This looks like a password or key."),
    (NEW.replace("in order.", "in order. See http://10.0.0.7/tidy"), {},
     "warning: `10.0.0.7` is an address inside a network"),
    (NEW.replace("in order.", "in order. " + "QUJD" * 400), {},
     "warning: These are 1600 characters of data")])
def test_what_is_odd_is_said(desk, text, wanted, sentence):
    desk.add_source()
    assert any(each.startswith(sentence) for each in advice(desk, text, **wanted))


def test_addresses_of_the_network_are_no_news_to_those_who_read_a_private_repository(desk):
    text = NEW.replace("in order.", "in order. See http://10.0.0.7/tidy")
    desk.add_source()
    draft = desk.draft(text)
    assert any("10.0.0.7" in each.message for each in desk.drafts.checks(draft))
    now = datetime.now(UTC).replace(tzinfo=None)
    with desk.engine.begin() as connection:
        connection.execute(sources.update().values(is_private=True))
        connection.execute(github_tokens.update().values(verified_at=now))
        connection.execute(repo_access.insert().values(
            user_id=desk.user.id, repo_id=desk.upstream.id, level="read", checked_at=now))
    assert desk.drafts.checks(draft) == ()


def test_a_path_where_the_source_does_not_look_is_said(desk):
    desk.add_source(sub_paths=("team",))
    assert any("looks only below team" in each for each in advice(desk, path=PATH))
    draft = desk.draft(NEW.replace("name: tidy", "name: neat"))
    assert draft.path == "team/script/neat.yaml"


def test_a_repository_that_is_no_source_is_said(desk):
    assert any("is not indexed here" in each for each in advice(desk))


@pytest.mark.parametrize("status", [0, 429, 502])
def test_a_draft_waits_for_a_github_that_does_not_answer(desk, status):
    desk.world.fault("GET", "", status, times=9)
    draft = desk.draft()
    assert (draft.problem, draft.text) == ("LOOK_LATER", NEW)
    desk.world.faults.clear()
    desk.world.advance(hours=1)
    assert desk.drafts.look(draft).problem is None


@pytest.mark.parametrize("path", ["../job/x.yaml", "/job/x.yaml", "job/../../x.yaml", "README.md",
                                  ".github/workflows/job/x.yaml", "job/.git/x.yaml", "x.yaml",
                                  "job/x\n.yaml", "job/" + "x" * 600 + ".yaml", "job\\x.yaml"])
def test_no_component_goes_to_such_a_path(path):
    with pytest.raises(InvalidInputError):
        checked_path(path)


def test_a_path_keeps_to_its_type(desk):
    assert checked_path("team/./job//x.yaml") == "team/job/x.yaml"
    with pytest.raises(ComponentError, match="data"):
        desk.draft(path="data/tidy.yaml")


@pytest.mark.parametrize("text", ["ann/parts", " https://github.com/ann/parts.git ",
                                  "http://ghe.example/ann/parts/"])
def test_a_repository_may_be_pasted(text):
    assert checked_repository(text) == "ann/parts"


@pytest.mark.parametrize("text", ["", "ann", "ann/..", "-ann/parts", "ann/a/b", "ann/p?x=1"])
def test_what_is_no_repository_is_refused(text):
    with pytest.raises(InvalidInputError, match="is no repository"):
        checked_repository(text)


def test_drafts_have_an_end(desk):
    draft = desk.draft()
    for number in range(MAX_DRAFTS - 1):
        desk.publications.take_up_draft(desk.user.id, **{
            name: getattr(draft, name) for name in (
                "repo_id", "repository", "base_branch", "type", "version", "path", "text",
                "title", "body", "is_signed_off")}, name=f"tidy-{number}")
    with pytest.raises(ForbiddenError, match="100 drafts"):
        desk.draft(NEW.replace("name: tidy", "name: another"))


def test_a_draft_that_waits_is_taken_up_in_place_of_a_second_one(desk):
    desk.connect()
    first = desk.draft(title="Mine")
    again = desk.draft(NEW + "# more\n", repository="Ann/Components")
    assert (again.id, again.text, again.state) == (first.id, NEW + "# more\n", "DRAFT")
    assert desk.draft(path="other/script/tidy.yaml").id == first.id
    other = desk.draft(NEW.replace("name: tidy", "name: another"))
    kept = {each.id for each in desk.publications.of_user(desk.user.id)}
    assert kept == {first.id, other.id}


def test_what_was_agreed_to_is_no_waiting_draft(desk):
    desk.connect()
    confirmed = desk.confirmed()
    assert desk.draft().id != confirmed.id and desk.again(confirmed).text == NEW


def test_nothing_follows_what_is_over():
    assert not may_follow("PUBLISHED", "CHECKED") and not may_follow("WITHDRAWN", "DRAFT")
