"""source add, list, remove, and sync."""
from tests.fakes.scripted_server import Answer


def source(synced_at, **rest):
    return {"name": "mine", "kind": "local", "location": "/srv/mine", "head": "a" * 40,
            "synced_at": synced_at, "sync_error": None, "components": 3, "problems": 0,
            "owner": "ann", **rest}


def test_sync_waits_for_the_end_and_says_what_it_found(run, server):
    server.answers |= {"POST /sources/mine/sync": [Answer({}, 202)],
                       "GET /sources": [{"sources": [source("t1")]}, {"sources": [source("t1")]},
                                        {"sources": [source("t2")]}]}
    assert run("sync")[:2] == (0, "mine: 3 components at aaaaaaaaaaaa, 0 invalid files\n")


def test_sync_names_each_invalid_file_with_line_and_cause(run, server):
    problem = {"path": "name", "line": 2, "column": 1, "message": "is missing",
               "severity": "error"}
    server.answers |= {
        "POST /sources/mine/sync": [Answer({}, 202)],
        "GET /sources": [{"sources": [source(None)]}, {"sources": [source("t", problems=1)]}],
        "GET /sources/mine/problems": [{"problems": [{"path": "job/x.yaml", "commit": "b" * 40,
                                                      "errors": [problem]}]}]}
    code, _, err = run("sync", "mine")
    assert code == 1 and err == "job/x.yaml:2:1: name: is missing\n"


def test_a_source_is_added_by_its_absolute_path(run, server, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    server.answers |= {"POST /sources": [Answer(source(None), 201)],
                       "GET /sources": [{"sources": [source("t")]}]}
    assert run("source", "add", "mine")[0] == 0
    assert server.requests[0].body == {"location": str(tmp_path / "mine"), "sub_paths": []}


def test_sources_are_listed(run, server):
    server.answers["GET /sources"] = [{"sources": [source(None, sync_error="gone")]}]
    assert run("source", "list")[1].splitlines()[1] == \
        "mine\t/srv/mine\taaaaaaaaaaaa\t\t3\t0\tgone"


def test_a_source_is_removed(run, server):
    server.answers["DELETE /sources/mine"] = [Answer(None, 204)]
    assert run("source", "remove", "mine") == (0, "", "mine is removed.\n")
