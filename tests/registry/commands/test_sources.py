"""source add, list, show, remove, and sync."""
import json

import pytest

from tests.fakes.scripted_server import Answer

PROBLEM = {"path": "name", "line": 2, "column": 1, "message": "is missing", "severity": "error"}
ADVICE = {"path": "", "line": 1, "column": 1, "message": "Write a description.",
          "severity": "warning"}


def source(synced_at, **rest):
    return {"name": "mine", "kind": "local", "location": "/srv/mine", "head": "a" * 40,
            "synced_at": synced_at, "sync_error": None, "components": 3, "problems": 0,
            "owner": "ann", "state": "ok", "state_title": "Up to date", "withdrawn": 0,
            "default_branch": None, "is_private": False, "branch": None,
            "freshness": "indexed aaaaaaa", "next_sync_at": None, "paused_at": None, **rest}


def status(synced_at, **rest):
    return source(synced_at, **{"warnings": 0, "progress": None, "sponsor": None, "states": [],
                                **rest})


def file(path, error):
    return {"path": path, "commit": "b" * 40, "errors": [error]}


def test_sync_waits_for_the_end_and_says_what_it_found(run, server):
    server.answers |= {"POST /sources/mine/sync": [Answer({}, 202)],
                       "GET /sources": [{"sources": [source("t1")]}],
                       "GET /sources/mine/status": [status("t1"), status("t2", warnings=2)]}
    code, out, err = run("sync")
    assert (code, out) == (0, "mine: 3 components at aaaaaaaaaaaa, 0 invalid files, advice about "
                              "2 components\n")
    assert err == "mine: `paishare source show mine` gives the advice.\n"


def test_sync_names_each_invalid_file_with_line_and_cause(run, server):
    server.answers |= {
        "POST /sources/mine/sync": [Answer({}, 202)],
        "GET /sources": [{"sources": [source(None)]}],
        "GET /sources/mine/status": [status("t", problems=1)],
        "GET /sources/mine/problems": [{"problem_count": 1, "warning_count": 1,
                                        "problems": [file("job/x.yaml", PROBLEM)],
                                        "warnings": []}]}
    code, _, err = run("sync", "mine")
    assert code == 1 and err == "job/x.yaml:2:1: name: is missing\n"


def test_a_folder_is_added_by_its_absolute_path(run, server, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    server.answers |= {"POST /sources": [Answer(source(None), 201)],
                       "GET /sources/mine/status": [status("t")]}
    assert run("source", "add", "mine")[0] == 0
    assert server.requests[0].body == {"location": str(tmp_path / "mine"), "sub_paths": []}


def test_a_repository_is_added_with_all_that_is_said_about_it(run, server):
    name = "octo/parts"
    server.answers |= {"POST /sources": [Answer(source(None, name=name), 201)],
                       "GET /sources/octo/parts/status": [
                           status(None, name=name, progress={
                               "stage": "files", "title": "Fetching files", "done": 1,
                               "total": 2}),
                           status("t", name=name)]}
    assert run("source", "add", name, "--branch", "dev", "--sub-path", "a", "--sub-path", "b",
               "--tag-prefix", "v", "--use-my-token")[:2] == (
        0, "octo/parts: 3 components at aaaaaaaaaaaa, 0 invalid files, advice about "
           "0 components\n")
    assert server.requests[0].body == {
        "location": name, "branch": "dev", "sub_paths": ["a", "b"], "tag_prefix": "v",
        "use_my_token": True}


def test_an_empty_tag_prefix_is_one(run, server):
    server.answers |= {"POST /sources": [Answer(source(None), 201)],
                       "GET /sources/mine/status": [status("t")]}
    run("source", "add", "octo/parts", "--tag-prefix", "")
    assert server.requests[0].body == {"location": "octo/parts", "sub_paths": [],
                                       "tag_prefix": ""}


def test_sources_are_listed(run, server):
    server.answers["GET /sources"] = [{"sources": [source(None, sync_error="gone")]}]
    assert run("source", "list")[1].splitlines()[1] == \
        "mine\t/srv/mine\taaaaaaaaaaaa\t\t3\t0\tUp to date\tgone"


def test_a_source_is_shown_with_its_state_its_invalid_files_and_advice(run, server):
    server.answers |= {
        "GET /sources/octo/parts/status": [status(
            None, name="octo/parts", is_private=True, sponsor="bob",
            freshness="indexed aaaaaaa · upstream bbbbbbb · 2 minutes behind",
            states=[{"code": "held", "title": "Held back", "text": "Much would go."}],
            progress={"stage": "files", "title": "Fetching files", "done": 1, "total": 2})],
        "GET /sources/octo/parts/problems": [
            {"problem_count": 201, "warning_count": 1, "warnings": [file("job/y.yaml", ADVICE)],
             "problems": [file("job/x.yaml", PROBLEM)]},
            {"problem_count": 201, "warning_count": 1, "warnings": [],
             "problems": [file("job/z.yaml", PROBLEM)]}]}
    code, out, err = run("source", "show", "octo/parts")
    assert code == 0 and "source:      octo/parts (private)\n" in out
    assert "upstream bbbbbbb · 2 minutes behind\n" in out and "Fetching files, 1 of 2\n" in out
    assert err.splitlines() == ["Held back. Much would go.", "job/x.yaml:2:1: name: is missing",
                                "job/z.yaml:2:1: name: is missing",
                                "job/y.yaml:1:1: warning: Write a description."]
    whole = json.loads(run("source", "show", "octo/parts", "--json")[1])
    assert whole["files"]["problems"][0]["path"] == "job/z.yaml"


def test_what_is_shown_has_the_words_of_its_page(run, server):
    server.answers |= {
        "GET /sources/mine/status": [status(
            None, state_title="Gone from GitHub", components=0, withdrawn=2, problems=1,
            default_branch="main")],
        "GET /sources/mine/problems": [{"problem_count": 0, "warning_count": 0,
                                        "problems": [], "warnings": []}]}
    out = run("source", "show", "mine")[1]
    for line in ("state:       Gone from GitHub", "branch:      main, the default one",
                 "components:  0, and 2 withdrawn upstream that keep serving",
                 "invalid:     1 file", "advice:      0 components"):
        assert f"{line}\n" in out


HELD = {"held_head": "e" * 40, "held_count": 30, "states": [
    {"code": "held", "title": "Held back", "text": "Much would go."}]}


def test_what_was_held_back_is_taken_over_after_a_yes(run, server, monkeypatch):
    server.answers |= {"GET /sources/mine/status": [status("t", **HELD)],
                       "POST /sources/mine/agree": [Answer({}, 202)]}
    code, _, err = run("source", "agree", "mine")  # standard input says no such word
    assert code != 0 and "Held back. Much would go." in err and "Take 30 versions out" in err
    assert [each.method for each in server.requests] == ["GET"]
    code, _, err = run("source", "agree", "mine", "--yes")
    assert code == 0 and "The next sync of mine, which begins now" in err
    assert server.requests[-1].body == {"head": "e" * 40}


def test_where_nothing_is_held_back_there_is_nothing_to_agree_to(run, server):
    server.answers["GET /sources/mine/status"] = [status("t", held_head=None, held_count=0)]
    assert run("source", "agree", "mine", "--yes") == (
        1, "", "paishare: Nothing is held back of mine.\n")


def test_the_other_decisions_of_an_owner_are_one_command_each(run, server):
    server.answers |= {"POST /sources/octo/parts/keep": [Answer({}, 202)],
                       "PUT /sources/octo/parts/sponsor": [Answer(None, 204)]}
    assert run("source", "keep", "octo/parts")[2] == \
        "What is in the marketplace of octo/parts stays.\n"
    assert run("source", "use-my-token", "octo/parts")[2] == \
        "octo/parts is synced with your token from now on.\n"


def test_a_webhook_is_shown_or_made(run, server):
    facts = {"url": "https://share.example/api/v3/hooks/github/7", "secret": "5ec"}
    server.answers |= {"GET /sources/octo/parts/webhook": [facts],
                       "POST /sources/octo/parts/webhook": [Answer(facts, 201)]}
    out = run("source", "webhook", "octo/parts")[1]
    assert out.startswith(f"address:      {facts['url']}\ncontent type: application/json\n")
    assert "secret:       5ec\n" in out and "events:       pushes, pull requests" in out
    code, out, err = run("source", "webhook", "octo/parts", "--make")
    assert (code, out) == (0, "") and "GitHub tells of each push from now on" in err


def test_a_source_is_removed(run, server):
    server.answers["DELETE /sources/mine"] = [Answer(None, 204)]
    assert run("source", "remove", "mine") == (0, "", "mine is removed.\n")


@pytest.mark.parametrize("action, text", [
    ("pause", "mine is paused: it is not indexed until somebody resumes it."),
    ("resume", "mine goes on: it is indexed now, and from then on as before.")])
def test_a_source_is_paused_and_resumed(run, server, action, text):
    server.answers |= {f"POST /sources/mine/{action}": [Answer(None, 204)]}
    code, out, err = run("source", action, "mine")
    assert code == 0 and text in err


def test_a_sync_of_everything_leaves_out_what_is_paused(run, server):
    server.answers |= {
        "GET /sources": [{"sources": [source("t1"), source("t1", name="rests", paused_at="t0")]}],
        "POST /sources/mine/sync": [Answer({}, 202)], "GET /sources/mine/status": [status("t2")]}
    code, out, _ = run("sync")
    assert code == 0 and out.startswith("mine: ") and "rests" not in out
