"""The command as a whole: its words, its errors, its exit codes."""
import subprocess
import sys
from pathlib import Path

import pytest

from registry import cli
from registry.error_text import error_lines, problem_line
from registry.errors import ComponentError, NotFoundError, Problem
from tests.fakes.scripted_server import Answer

ROOT = Path(__file__).parents[3]
UNAUTHORIZED = Answer({"code": "Unauthorized", "message": "Log in first.", "errors": []}, 401)


def test_help_lists_every_command_without_loading_what_they_need():
    code = ("import sys; from registry.cli import main; assert main(['--help']) == 0; "
            "print([name for name in ('requests', 'sqlalchemy', 'rich', 'jsonschema') "
            "if name in sys.modules])")
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "[]"
    assert all(f"  {name} " in answer.stdout for name in cli.WORDS)


@pytest.mark.parametrize("name", cli.WORDS)
def test_the_list_and_the_commands_own_help_say_the_same(name):
    command = cli.paishare.get_command(None, name)
    assert command.help.splitlines()[0] == cli.WORDS[name].help


@pytest.mark.parametrize("name", cli.WORDS)
def test_the_documentation_names_every_command_and_every_option(name):
    text = (ROOT / "docs" / "cli.md").read_text()
    assert f"`paishare {name}" in text
    command = cli.paishare.get_command(None, name)
    for each in [command, *getattr(command, "commands", {}).values()]:
        for option in (word for param in each.params for word in param.opts):
            assert not option.startswith("--") or f"{option}" in text, option


def test_an_unknown_word_is_wrong_usage(run):
    code, out, err = run("serch")
    assert code == 2 and "No such command 'serch'" in err and not out


def test_a_server_out_of_reach_is_one_line_and_code_5(run, monkeypatch):
    monkeypatch.setattr("registry.api_client.CONNECT_TRIES", 0)
    code, out, err = run("search", "x", "--server", "http://127.0.0.1:9")
    assert (code, out) == (5, "")
    assert err == ("paishare: No PAIShare server answers at http://127.0.0.1:9. Start one with "
                   "`paishare serve`, or name another with --server or PAISHARE_URL.\n")


def test_a_server_of_another_kind_is_told_apart(run, server):
    server.answers["GET /components"] = [Answer(b"<html>hello</html>", 403)]
    code, _, err = run("search", "x")
    assert code == 5 and "no message of a PAIShare server" in err


def test_a_server_that_is_no_address_is_refused(run):
    code, _, err = run("search", "x", "--server", "localhost:8080")
    assert code == 1 and "'localhost:8080' is no server address" in err


def test_without_a_login_the_next_step_is_said_and_the_code_is_3(run, server):
    server.answers["GET /jobs"] = [UNAUTHORIZED]
    code, _, err = run("jobs")
    assert code == 3 and "Run `paishare login`" in err


def test_a_token_that_the_server_does_not_know_is_named(run, server, monkeypatch):
    monkeypatch.setenv("PAISHARE_TOKEN", "pai_old")
    server.answers["GET /jobs"] = [Answer({"code": "Unauthorized", "message": "No."}, 401)]
    code, _, err = run("jobs")
    assert code == 3 and "The token in PAISHARE_TOKEN is not one of" in err


def test_ctrl_c_is_130(run, monkeypatch):
    def interrupted(*_args, **_rest):
        raise KeyboardInterrupt
    monkeypatch.setattr("registry.api_client.ApiClient.get", interrupted)
    assert run("jobs")[0] == 130


def test_the_unexpected_is_one_line_and_its_details_a_file(run, server, tmp_path):
    server.answers["GET /jobs"] = [{"surprise": 1}]
    code, _, err = run("jobs")
    assert code == 1 and len(err.splitlines()) == 1
    assert "Traceback" in (tmp_path / "state" / "paishare" / "error.log").read_text()


def test_an_error_reads_like_a_compilers():
    error = ComponentError("2 problems.", [
        Problem(message="is missing", path="name"),
        Problem(message="tabs", line=3, column=1, severity="warning")])
    assert error_lines(error, "x.yaml") == [
        "paishare: 2 problems.", "x.yaml: name: is missing", "x.yaml:3:1: warning: tabs"]


def test_an_error_at_one_place_is_said_once_and_in_a_file_also_where_editors_find_it():
    error = ComponentError("Line 3, column 1: Tabs.", [Problem(message="Tabs.", line=3, column=1)])
    assert error_lines(error) == ["paishare: Line 3, column 1: Tabs."]
    assert error_lines(error, "x.yaml") == ["paishare: Line 3, column 1: Tabs.",
                                            "x.yaml:3:1: Tabs."]


def test_what_may_be_meant_is_asked():
    assert error_lines(NotFoundError("No x.", ["y", "z"]))[1] == "Did you mean y, z?"


@pytest.mark.parametrize("path, message, expected", [
    ("tasks", "`tasks` must be a list.", "`tasks` must be a list."),
    ("tasks[0].command", "`command` is empty.", "tasks[0]: `command` is empty."),
    ("tasks[0].command", "`command` is missing in `tasks[0]`.",
     "`command` is missing in `tasks[0]`."),
    ("version", "`version: 1.0` is kept as the text `1.0`.",
     "`version: 1.0` is kept as the text `1.0`."),
    ("tasks[2].role", "The role `worker` is already on line 14.",
     "tasks[2].role: The role `worker` is already on line 14.")])
def test_a_place_in_a_file_is_named_once(path, message, expected):
    problem = Problem(path=path, line=3, column=1, message=message, severity="error")
    assert problem_line(problem, "job/x.yaml") == f"job/x.yaml:3:1: {expected}"
