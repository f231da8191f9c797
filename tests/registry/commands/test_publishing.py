"""publish: one file goes to the server, and what came of it is said in a line."""
import json

import pytest

from tests.fakes.scripted_server import Answer

FOUND = {"reference": "job/run@1.0.0", "source": "ann-shelf", "type": "job", "name": "run",
         "version": "1.0.0", "commit": "0123456789abcdef" + "0" * 24, "is_known": False,
         "warnings": [{"path": "x", "line": 2, "column": 1, "message": "Better not.",
                       "severity": "warning"}]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xef\xbb\xbftype: job\n")
    return path


def test_what_was_published_is_said_with_its_commit(run, server, file):
    server.answers["POST /components"] = [Answer(FOUND, status=201)]
    code, out, err = run("publish", file)
    assert (code, out) == (0, "job/run@1.0.0 is published: ann-shelf, commit 0123456789ab.\n")
    assert "run.yaml:2:1" in err and "Better not." in err
    assert server.requests[0].body == {"yaml": "type: job\n"}


def test_a_repetition_is_told_and_json_is_whole(run, server, file):
    known = {**FOUND, "is_known": True, "warnings": []}
    server.answers["POST /components"] = [Answer(known), Answer(known)]
    assert "was there already" in run("publish", file)[1]
    assert json.loads(run("publish", file, "--json")[1]) == known


@pytest.mark.parametrize("content, text", [
    (b"\xff\xfe", "is no UTF-8 text"), (b"a" * 256_001, "larger than a component may be"),
    (None, "cannot be read: No such file")])
def test_a_file_that_cannot_be_sent_is_said_before_anything_is(run, server, tmp_path, content,
                                                               text):
    if content:
        (tmp_path / "x.yaml").write_bytes(content)
    code, _, err = run("publish", tmp_path / "x.yaml")
    assert code == 1 and text in err and not server.requests


STEPS = [{"name": "Repository", "state": "done", "detail": "ann/parts"},
         {"name": "Pull request", "state": "todo", "detail": ""}]
STATE = {"id": 7, "state": "CHECKED", "is_working": True, "repository": "ann/parts",
         "path": "job/run.yaml", "title": "Add job/run 1.0.0", "steps": STEPS, "problem": None,
         "pull": None, "compare_url": None}
DRAFT = {**STATE, "state": "DRAFT", "seen": "5ee", "diff": "+++ b/job/run.yaml\n+type: job\n",
         "changes": ["It is new."], "checks": [], "may_confirm": True}
OPENED = {**STATE, "state": "OPEN", "is_working": False,
          "pull": {"url": "https://github.com/ann/parts/pull/3"}}
GONE = {"code": "GONE", "title": "It is gone", "text": "Look.", "detail": "", "link": None,
        "goes_on": False}


@pytest.fixture
def github(server):
    """A server on which the draft of number 7 can be made and agreed to."""
    server.answers["POST /publications"] = [Answer(DRAFT, status=201)]
    server.answers["POST /publications/7/confirm"] = [Answer(STATE)]
    server.answers["GET /publications/7"] = [Answer(OPENED)]
    return server


def test_a_proposal_shows_the_change_then_the_steps_and_ends_with_the_address(run, github, file):
    code, out, err = run("publish", file, "--to", "ann/parts", "--message", "T\n\nB", "--yes")
    assert code == 0
    assert out == "+++ b/job/run.yaml\n+type: job\nhttps://github.com/ann/parts/pull/3\n"
    assert "✓ Repository ann/parts" in err
    asked, agreed = github.requests[:2]
    assert (asked.body["title"], asked.body["body"]) == ("T", "B")
    assert agreed.body == {"seen": "5ee"}


def test_without_a_yes_nothing_is_published(run, github, file):
    code, _, err = run("publish", file, "--to", "ann/parts")  # standard input says no such word
    assert code != 0 and "Create the pull request in ann/parts?" in err
    assert [each.path for each in github.requests] == ["/publications"]


def test_json_is_the_publication_and_nothing_else(run, github, file):
    code, out, _ = run("publish", file, "--to", "ann/parts", "--yes", "--json")
    assert (code, json.loads(out)) == (0, OPENED)


def test_the_page_to_finish_on_github_is_the_result(run, github, file):
    address = "https://github.com/ann/parts/compare/main...bob:x"
    github.answers["GET /publications/7"] = [Answer(
        {**STATE, "is_working": False, "state": "FINISH_ON_GITHUB", "compare_url": address})]
    code, out, err = run("publish", file, "--to", "ann/parts", "--yes")
    assert code == 0 and out.endswith(f"{address}\n") and "found by itself" in err


@pytest.mark.parametrize("answers, at", [
    ({"POST /publications": {**DRAFT, "problem": GONE}}, "number 7"),
    ({"GET /publications/7": {**STATE, "is_working": False, "problem": GONE}}, "/publish/7")])
def test_what_is_in_the_way_is_said_and_ends_with_1(run, github, file, answers, at):
    github.answers |= {path: [Answer(body)] for path, body in answers.items()}
    code, _, err = run("publish", file, "--to", "ann/parts", "--yes")
    assert code == 1 and "It is gone. Look." in err and at in err


@pytest.mark.parametrize("detail, link, end", [
    ("No such thing", None, "Look. GitHub says: “No such thing”. The draft"),
    ("", "https://github.com/x", "Look. https://github.com/x The draft"),
    ("See https://github.com/x", "https://github.com/x", "says: “See https://github.com/x”. The")])
def test_githubs_words_and_where_it_is_mended_are_said_once(run, github, file, detail, link, end):
    github.answers["POST /publications"] = [Answer(
        {**DRAFT, "problem": {**GONE, "detail": detail, "link": link}}, status=201)]
    assert end in run("publish", file, "--to", "ann/parts", "--yes")[2]


@pytest.fixture
def opened(github, file):
    """The same server where a pull request of the component in the file is open."""
    text = "type: data\nname: run\nversion: 1.0.0\nuri: ./x\n"
    file.write_text(text)
    pull = {**OPENED, "reference": "data/run@0.9.0", "yaml": text.replace("1.0.0", "0.9.0"),
            "pull": {**OPENED["pull"], "number": 3}}
    github.answers |= {"GET /publications": [{"publications": [
        {**pull, "id": 6, "reference": "data/runs@1.0.0"}, pull]}],
        "PUT /publications/7": [Answer(DRAFT)], "GET /publications/7/preview": [Answer(DRAFT)],
        "POST /publications/7/withdraw": [Answer(OPENED)]}
    return github


@pytest.mark.parametrize("place", ["ann/parts", "https://github.com/Ann/Parts.git"])
def test_an_open_pull_request_of_the_component_is_changed(run, opened, file, place):
    code, out, _ = run("publish", file, "--to", place, "--yes")
    assert code == 0 and out.endswith("https://github.com/ann/parts/pull/3\n")
    assert [f"{each.method} {each.path}" for each in opened.requests[1:4]] == [
        "PUT /publications/7", "GET /publications/7/preview", "POST /publications/7/confirm"]


def test_without_a_yes_the_pull_request_stays_as_it_is_and_is_followed_on(run, opened, file):
    code, _, err = run("publish", file, "--to", "ann/parts")
    assert code != 0 and "Change the pull request #3 in ann/parts?" in err
    assert (opened.requests[-1].path, opened.requests[-1].body) == (
        "/publications/7/withdraw", {})


def test_a_pull_request_that_holds_just_this_is_named_and_left_alone(run, opened, file):
    held = opened.answers["GET /publications"][0]["publications"][1]
    held["yaml"] = file.read_text()
    code, out, err = run("publish", file, "--to", "ann/parts", "--yes")
    assert (code, out) == (0, "https://github.com/ann/parts/pull/3\n")
    assert "holds exactly this already" in err and len(opened.requests) == 1


def test_options_of_a_proposal_ask_for_its_repository(run, server, file):
    assert run("publish", file, "--yes")[0] == 2
