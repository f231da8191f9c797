"""The command registry: the secret never on the command line, never shown."""
from tests.fakes.scripted_server import Answer

LOGIN = {"server": "ghcr.io", "username": "octo", "created_at": "2026-11-22T10:00:00",
         "last_used_at": None}


def test_a_secret_is_read_from_standard_input_and_not_shown(run, server):
    server.answers["PUT /user/registries/ghcr.io"] = [Answer(LOGIN)]
    code, out, err = run("registry", "add", "https://ghcr.io/v2/", "--username", "octo",
                         "--password-stdin")
    assert code == 0 and "log in to ghcr.io as octo" in err and "secret" not in out + err
    assert server.requests[0].body == {"username": "octo", "secret": "secret word"}


def test_logins_are_listed_and_removed(run, server):
    server.answers["GET /user/registries"] = [Answer({"logins": [LOGIN]})]
    server.answers["DELETE /user/registries/ghcr.io"] = [Answer(None, 204)]
    assert "octo" in run("registry", "list")[1]
    assert run("registry", "remove", "ghcr.io", "--json")[:2] == (
        0, '{\n  "server": "ghcr.io"\n}\n')
