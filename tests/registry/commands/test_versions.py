"""diff, changelog and uses."""
import json

VERSION = {"type": "job", "name": "x", "source": "s", "commit": "c" * 40,
           "committed_at": "2026-01-02T03:04:05Z", "exact_reference": "s:job/x@1.0.0",
           "version": "1.0.0"}
NEWER = {**VERSION, "version": "1.1.0", "exact_reference": "s:job/x@1.1.0"}
DIFFERENCE = {"verdict": "breaking", "step": "major", "suggested": "2.0.0",
              "warning": "The step says less.", "changes": [
                  {"path": "description", "sentence": "The description is another.",
                   "verdict": "cosmetic"},
                  {"path": "parameters.lr", "sentence": "The parameter `lr` is gone.",
                   "verdict": "breaking"}]}
USE = {"kind": "reference", "type": "data", "target": "d", "source": None, "version": "^1"}


def test_diff_tells_the_gravest_first(run, server):
    server.answers["GET /compare"] = [{**DIFFERENCE, "a": VERSION, "b": NEWER}]
    code, out, err = run("diff", "x@1.0.0", "x@1.1.0")
    assert (code, err) == (0, "The step says less.\n")
    assert out == ("s:job/x@1.0.0 → s:job/x@1.1.0: breaking\n"
                   "  breaking    The parameter `lr` is gone.\n"
                   "  cosmetic    The description is another.\n")
    assert server.requests[0].query == {"a": "x@1.0.0", "b": "x@1.1.0"}


def test_diff_of_one_reference_goes_up_to_the_latest(run, server):
    server.answers["GET /compare"] = [{**DIFFERENCE, "a": VERSION, "b": NEWER}]
    assert json.loads(run("diff", "s:job/x@1.0.0", "--json")[1])["verdict"] == "breaking"
    assert server.requests[0].query["b"] == "s:job/x"


def test_diff_by_lines_is_what_patch_reads(run, server):
    server.answers["GET /compare"] = [{**DIFFERENCE, "a": VERSION, "b": NEWER}]
    server.answers["GET /components/job/x"] = [{"text": "a\nb\n"}, {"text": "a\nc\n"}]
    assert run("diff", "x@1.0.0", "x", "--lines")[1] == (
        "--- s:job/x@1.0.0\n+++ s:job/x@1.1.0\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
    assert [request.query["version"] for request in server.requests[1:]] == ["1.0.0", "1.1.0"]


def test_changelog_tells_each_version_and_that_there_are_more(run, server):
    server.answers["GET /resolve"] = [NEWER]
    server.answers["GET /components/job/x/changelog"] = [{"total": 3, "steps": [
        {"version": NEWER, "before": VERSION, "difference": DIFFERENCE},
        {"version": VERSION, "before": None, "difference": None}]}]
    _, out, err = run("changelog", "x")
    assert "job/x@1.1.0" in out and "breaking    The parameter `lr` is gone." in out
    assert "the first version" in out and "2 of 3; more with --page 2." in err


def test_uses_tells_both_ways_and_what_a_yank_would_change(run, server):
    server.answers["GET /resolve"] = [VERSION]
    server.answers["GET /components/job/x/uses"] = [{"uses": [{**USE, "found": None}]}]
    server.answers["GET /components/job/x/used-by"] = [{
        "users": [{"version": NEWER, "use": USE, "older": 2}],
        "if_yanked": [{"version": NEWER, "use": USE, "after": None, "reason": "None is left."}]}]
    _, out, err = run("uses", "x@1.0.0")
    assert out == ("USES\tKIND\tIN THE CATALOG\ndata/d@^1\treference\t\n\n"
                   "USED BY\tAS\tOLDER VERSIONS\ns:job/x@1.1.0\tdata/d@^1\t2\n")
    assert err == "If yanked: data/d@^1 of s:job/x@1.1.0 would break: None is left.\n"
    assert server.requests[1].query == {"source": "s", "version": "1.0.0"}
