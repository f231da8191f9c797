"""login, logout, and where the token goes."""
import json

import pytest

from tests.fakes.scripted_server import Answer, ScriptedServer

UNAUTHORIZED = Answer({"code": "Unauthorized", "message": "Log in first.", "errors": []}, 401)


@pytest.fixture
def logged_in(run, server):
    """A stored login as ann with the token pai_x."""
    server.answers["POST /token"] = [
        Answer({"token": "pai_x", "username": "ann", "is_admin": False}, 201)]
    assert run("login", "--username", "ann", "--password-stdin")[0] == 0


def test_login_keeps_a_token_that_only_its_owner_reads(server, logged_in, tmp_path):
    file = tmp_path / "config" / "paishare" / "credentials.json"
    assert server.requests[0].body["password"] == "secret word"
    assert json.loads(file.read_text())[server.url]["token"] == "pai_x"
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_token_goes_along_from_then_on(run, server, logged_in):
    run("jobs")
    assert server.requests[-1].headers["Authorization"] == "Bearer pai_x"


def test_the_token_goes_to_no_other_server(run, logged_in):
    with ScriptedServer() as other:
        run("jobs", "--server", other.url)
        assert "Authorization" not in other.requests[0].headers


def test_a_token_from_the_environment_wins(run, server, logged_in, monkeypatch):
    monkeypatch.setenv("PAISHARE_TOKEN", "pai_env")
    run("jobs")
    assert server.requests[-1].headers["Authorization"] == "Bearer pai_env"


def test_logout_revokes_and_forgets(run, server, logged_in):
    server.answers["DELETE /token"] = [Answer(None, 204)]
    assert run("logout")[0] == 0
    assert server.requests[-1].headers["Authorization"] == "Bearer pai_x"
    run("jobs")
    assert "Authorization" not in server.requests[-1].headers


def test_a_wrong_password_is_code_3_and_leaves_no_file(run, server, tmp_path):
    server.answers["POST /token"] = [UNAUTHORIZED]
    assert run("login", "--username", "ann", "--password-stdin")[0] == 3
    assert not (tmp_path / "config").exists()
