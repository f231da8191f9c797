"""source add, list, show, remove, and sync."""
import json

from tests.fakes.scripted_server import Answer

PROBLEM = {"path": "name", "line": 2, "column": 1, "message": "is missing", "severity": "error"}
ADVICE = {"path": "", "line": 1, "column": 1, "message": "Write a description.",
          "severity": "warning"}


def source(synced_at, **rest):
    return {"name": "mine", "kind": "local", "location": "/srv/mine", "head": "a" * 40,
            "synced_at": synced_at, "sync_error": None, "components": 3, "problems": 0,
            "owner": "ann", "state": "ok", "is_private": False, "branch": None,
            "freshness": "indexed aaaaaaa", "next_sync_at": None, **rest}


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
    assert (code, out) == (0, "mine: 3 components at aaaaaaaaaaaa, 0 invalid files, 2 warnings\n")
    assert err == "mine: `paishare source show mine` tells the warnings.\n"


def test_sync_names_each_invalid_file_with_line_and_cause(run, server):
    server.answers |= {
        "POST /sources/mine/sync": [Answer({}, 202)],
        "GET /sources": [{"sources": [source(None)]}],
        "GET /sources/mine/status": [status("t", problems=1)],
        "GET /sources/mine/problems": [{"problems": [file("job/x.yaml", PROBLEM)],
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
        0, "octo/parts: 3 components at aaaaaaaaaaaa, 0 invalid files, 0 warnings\n")
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
        "mine\t/srv/mine\taaaaaaaaaaaa\t\t3\t0\tok\tgone"


def test_a_source_is_shown_with_its_state_its_invalid_files_and_advice(run, server):
    server.answers |= {
        "GET /sources/octo/parts/status": [status(
            None, name="octo/parts", is_private=True, sponsor="bob",
            freshness="indexed aaaaaaa · upstream bbbbbbb · 2 minutes behind",
            states=[{"code": "held", "title": "Held back", "text": "Much would go."}],
            progress={"stage": "files", "title": "Fetching files", "done": 1, "total": 2})],
        "GET /sources/octo/parts/problems": [{"problems": [file("job/x.yaml", PROBLEM)],
                                              "warnings": [file("job/y.yaml", ADVICE)]}]}
    code, out, err = run("source", "show", "octo/parts")
    assert code == 0 and "source:      octo/parts (private)\n" in out
    assert "upstream bbbbbbb · 2 minutes behind\n" in out and "Fetching files, 1 of 2\n" in out
    assert err.splitlines() == ["Held back. Much would go.", "job/x.yaml:2:1: name: is missing",
                                "job/y.yaml:1:1: warning: Write a description."]
    whole = json.loads(run("source", "show", "octo/parts", "--json")[1])
    assert whole["files"]["warnings"][0]["path"] == "job/y.yaml"


def test_a_source_is_removed(run, server):
    server.answers["DELETE /sources/mine"] = [Answer(None, 204)]
    assert run("source", "remove", "mine") == (0, "", "mine is removed.\n")
