"""search: the same language as everywhere, and errors with a caret under their place."""
import json

import pytest

from tests.fakes.scripted_server import Answer
from tests.registry.commands.bodies import component, found


def test_search_prints_a_line_for_each_hit_and_says_that_there_is_more(run, server):
    server.answers["GET /components"] = [found(component(), total=30)]
    code, out, err = run("search", "hand", "written", "--type", "job", "--type", "data")
    assert code == 0
    assert out == ("REFERENCE\tDESCRIPTION\tCONTRIBUTOR\n"
                   "job/digits@1.0.0\tReads digits\tann\n")
    assert "1 of 30" in err
    assert server.requests[0].query["q"] == "hand written"


def test_search_says_how_many_there_are(run, server):
    server.answers["GET /components"] = [found(component(), component("more"))]
    assert run("search", "digits")[2] == "2 found.\n"


def test_search_that_finds_nothing_says_what_may_be_meant(run, server):
    server.answers["GET /components"] = [found(suggestions=["digits"])]
    assert run("search", "digist")[2] == "Nothing found. Did you mean digits?\n"


def test_text_from_others_cannot_steer_the_terminal(run, server):
    hit = component(description="\x1b]0;gotcha\x07[red]hello[/red]")
    server.answers["GET /components"] = [found(hit)]
    assert "\ufffd]0;gotcha\ufffd[red]hello[/red]" in run("search", "x")[1]


def test_json_is_all_that_stdout_gets(run, server):
    server.answers["GET /components"] = [found(component(), total=30)]
    _, out, err = run("search", "x", "--json")
    assert json.loads(out)["total"] == 30 and not err


@pytest.mark.parametrize("words, asked", [
    (["cifar", "-mnist", "type:job"], "cifar -mnist type:job"),
    (['"two words"', "gpu:<=4"], '"two words" gpu:<=4'),
    (["--all-versions", "cifar"], "versions:all cifar"),
    (["-type:data", "(a OR b)"], "-type:data (a OR b)"),
])
def test_search_sends_the_query_as_it_is(run, server, words, asked):
    server.answers["GET /components"] = [found()]
    assert run("search", *words)[0] == 0
    assert server.requests[0].query["q"] == asked


def test_search_takes_an_order(run, server):
    server.answers["GET /components"] = [found()]
    run("search", "x", "--sort", "used")
    assert server.requests[0].query["sort"] == "used"


def test_a_query_that_cannot_be_read_has_a_caret_under_its_place(run, server):
    server.answers["GET /components"] = [Answer({
        "code": "InvalidQuery", "message": "There is no field `tpye:`.", "errors": [
            {"path": "q", "line": 1, "column": 4, "message": "There is no field `tpye:`.",
             "severity": "error"}]}, 400)]
    code, out, err = run("search", "训练", "tpye:job")
    assert (code, out) == (2, "")
    assert err == ("Error: There is no field `tpye:`.\n"
                   "  训练 tpye:job\n"
                   "       ^\n")


def test_an_option_that_is_not_there_is_no_word(run, server):
    code, _, err = run("search", "cifar", "--pgae", "2")
    assert code == 2 and "There is no option --pgae" in err and not server.requests


def test_facets_are_printed_as_filters(run, server):
    server.answers["GET /components"] = [{**found(component()), "facets": {
        "type": [{"value": "job", "count": 3}], "by": [{"value": "Ann Lee", "count": 2}]}}]
    assert run("search", "--facets")[1] == 'FILTER\tCOUNT\ntype:job\t3\nby:"Ann Lee"\t2\n'
