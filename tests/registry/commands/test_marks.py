"""yank, deprecate and purge."""
import pytest

from tests.fakes.scripted_server import Answer

RESOLVED = {"type": "job", "name": "x", "version": "1.0.0"}
PURGED = {"reference": "job/x@1.0.0", "source": "mine", "commit": "c" * 40, "blob": "b" * 40}


@pytest.mark.parametrize(("words", "body"), [
    (("yank", "job/x@1.0.0"), {"kind": "yanked", "successor": ""}),
    (("deprecate", "job/x@1.0.0", "--successor", "job/y"),
     {"kind": "deprecated", "successor": "job/y"})])
def test_a_mark_goes_to_the_server_with_its_reason(run, server, words, body):
    server.answers["POST /marks"] = [RESOLVED]
    code, _, err = run(*words, "--reason", "wrong labels")
    assert code == 0 and "--undo" in err
    assert server.requests[0].body == {
        "reference": "job/x@1.0.0", "reason": "wrong labels", **body}


@pytest.mark.parametrize(("word", "kind"), [("yank", "yanked"), ("deprecate", "deprecated")])
def test_a_mark_is_taken_back(run, server, word, kind):
    server.answers["DELETE /marks"] = [Answer({}, 204)]
    assert run(word, "x@1.0.0", "--undo") == (0, "", f"x@1.0.0 is no longer {kind}.\n")
    assert server.requests[0].query == {"kind": kind, "reference": "x@1.0.0"}


@pytest.mark.parametrize("word", ["yank", "deprecate", "purge"])
def test_without_a_reason_nothing_is_asked(run, server, word):
    code, _, err = run(word, "x@1.0.0")
    assert code == 2 and "Give a --reason" in err and not server.requests


def test_a_purge_asks_first_and_no_answer_is_no(run, server, monkeypatch):
    server.answers["POST /purges"] = [Answer(PURGED, 201)]
    monkeypatch.setattr("sys.stdin.readline", lambda *_: "n\n", raising=False)
    assert run("purge", "x@1.0.0", "--reason", "private")[0] == 130 and not server.requests
    code, out, _ = run("purge", "x@1.0.0", "--reason", "private", "--yes")
    assert (code, out) == (0, "mine:job/x@1.0.0 (blob bbbbbbbbbbbb) is deleted for good.\n")


def test_what_was_deleted_for_good_is_code_4_with_the_reason(run, server):
    server.answers["GET /resolve"] = [Answer(
        {"code": "Gone", "message": "x was deleted for good: private data", "errors": []}, 410)]
    assert run("show", "x@1.0.0") == (4, "", "paishare: x was deleted for good: private data\n")
