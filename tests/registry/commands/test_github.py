"""The commands github and rotate-keys: the token never on the command line, never shown."""
import json

import pytest

from registry import cli
from registry.config import Secret
from tests.fakes.scripted_server import Answer
from tests.fakes.web_home import WebHome

CONNECTED = {
    "is_connected": True, "server": "https://github.com", "host": "github.com",
    "ends": "never, unless it is revoked", "sso": None, "sso_url": None,
    "login": "octo", "kind": "classic",
    "scopes": ["repo"], "last_four": "wxyz", "expires_at": None, "verified_at": None,
    "last_used_at": None, "problem": None, "message": None, "limitations": []}


def test_a_token_is_read_from_standard_input_and_not_shown(run, server):
    server.answers["PUT /user/github"] = server.answers["GET /user/github"] = [Answer(CONNECTED)]
    code, out, err = run("github", "connect", "--token-stdin")
    assert code == 0 and "account: octo on github.com" in out
    assert "ends: never, unless it is revoked" in out
    assert server.requests[0].body == {"token": "secret word"} and "secret" not in out + err


def test_status_ends_with_1_where_nothing_is_connected_or_the_token_is_dead(run, server):
    dead = CONNECTED | {"problem": "TOKEN_DEAD", "message": "Make a new one."}
    server.answers["GET /user/github"] = [
        Answer(CONNECTED), Answer(dead), Answer(CONNECTED | {"is_connected": False})]
    assert [run("github", "status")[0] for _ in range(3)] == [0, 1, 1]


def test_disconnect_deletes_the_token(run, server):
    server.answers["DELETE /user/github"] = [Answer(None, 204)]
    assert run("github", "disconnect", "--json")[:2] == (0, '{\n  "is_connected": false\n}\n')


@pytest.fixture
def web(github, home_template, tmp_path, monkeypatch):
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    web = WebHome(home_template, tmp_path)
    for name, value in web.environ.items():
        monkeypatch.setenv(name, value)
    yield web
    web.close()


def test_keys_rotate_while_the_server_runs(github, web, capsys):
    token = github.world.classic_token(github.world.add_user("octo"), "repo")
    ann = web.services.accounts.user_named("ann")
    web.services.github.connect(ann.id, Secret(token.value))
    old = (web.home / "sealing.key").read_text()
    assert cli.main(["rotate-keys", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["sealed"] == 1 and "1 secrets are sealed anew" in said.err
    new = (web.home / "sealing.key").read_text()
    assert len(new.split()) == 1 and new != old and new.strip() not in said.out + said.err
    assert web.services.github.token_of(ann.id) == Secret(token.value)
