import io

import pytest

from registry import cli
from tests.fakes.scripted_server import ScriptedServer


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A scripted server that the command line speaks to, logged in nowhere."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PAISHARE_TOKEN", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO("secret word\n"))
    with ScriptedServer() as scripted:
        monkeypatch.setenv("PAISHARE_URL", scripted.url)
        yield scripted


@pytest.fixture
def run(server, capsys):
    """Runs a command; returns its exit code, stdout and stderr."""
    def run_command(*words):
        code = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err
    return run_command
