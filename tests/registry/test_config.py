"""Settings: read from the environment, refused with the variable's name, secrets hidden."""
import re
import stat
import threading
from pathlib import Path

import pytest

from registry import db
from registry.config import Secret, Settings
from registry.errors import RegistryError


def settings(**environ):
    return Settings.from_environ(environ)


def test_everything_has_a_default_below_the_users_home():
    found = settings(HOME="/home/ann")
    assert found.home == Path("~/.paishare").expanduser()
    assert found.database_url == f"sqlite:///{found.home}/registry.db"
    assert found.runner_url == f"unix:{found.home}/runner/runner.sock"
    assert (found.host, found.port, found.sync_interval_s) == ("127.0.0.1", 8080, 60.0)


def test_the_folders_lie_below_the_home(tmp_path):
    found = settings(PAISHARE_HOME=str(tmp_path))
    assert found.git_dir == tmp_path / "git"
    assert found.search_dir == tmp_path / "search"


def test_a_home_of_any_name_holds_its_own_database(tmp_path):
    home = tmp_path / "a home? 100%41 #ü"
    home.mkdir()
    engine = db.create_engine(settings(PAISHARE_HOME=str(home)).database_url)
    db.upgrade(engine)
    engine.dispose()
    assert (home / "registry.db").is_file() and list(tmp_path.iterdir()) == [home]


def test_a_relative_home_is_made_absolute():
    assert settings(PAISHARE_HOME="state").home == Path.cwd() / "state"


def test_pages_and_the_bundled_marketplace_are_found():
    assert (settings().templates_dir / "base.html").is_file()
    assert (settings().marketplace_dir / "job").is_dir()


@pytest.mark.parametrize("name, value", [
    ("PORT", "0"), ("PORT", "65536"), ("PORT", "http"), ("PORT", "²"),
    ("PAISHARE_SYNC_INTERVAL_S", "0"), ("PAISHARE_SYNC_INTERVAL_S", "soon"),
    ("PAISHARE_SYNC_INTERVAL_S", "nan"), ("PAISHARE_DUMP_INTERVAL_H", "-1"),
    ("PAISHARE_DUMP_INTERVAL_H", "8761"), ("PAISHARE_DUMP_INTERVAL_H", "nightly"),
    ("PAISHARE_RUNNER_URL", "ftp://x"),
    ("PAISHARE_RUNNER_URL", "unix:relative"), ("PAISHARE_RUNNER_URL", "http://runner:1"),
    ("PAISHARE_DATABASE_URL", "mysql://x"), ("PAISHARE_DATABASE_URL", "sqlite:///registry.db"),
    ("PAISHARE_DATABASE_URL", "sqlite:///:memory:"),
    ("PAISHARE_GITHUB_URL", "http://github.example.org"), ("PAISHARE_GITHUB_URL", "github.com"),
    ("PAISHARE_GITHUB_URL", "https://x:y@github.com"), ("PAISHARE_GITHUB_URL", "ftp://127.0.0.1"),
    ("PAISHARE_IMPORT_FROM", "git.example.org"),
    ("PAISHARE_IMPORT_FROM", "https://a.example https://b.example/x"),
    ("PAISHARE_GITHUB_URL", "https://github.com/org"), ("PAISHARE_GITHUB_URL", "https://"),
    ("PAISHARE_GITHUB_URL", "http://127.0.0.1.evil.org"), ("PAISHARE_GITHUB_URL", "https://[::1"),
    ("PAISHARE_GITHUB_API_URL", "http://10.0.0.1/api/v3"),
    ("PAISHARE_GITHUB_API_URL", "https://x.org/?a=b"), ("PAISHARE_SEALING_KEY", "secret"),
])
def test_a_wrong_value_is_refused_with_its_variable(name, value):
    with pytest.raises(RegistryError, match="PAISHARE_RUNNER_TOKEN" if "runner:1" in value
                       else name):
        settings(**{name: value})


def test_the_secret_key_is_made_once_and_for_its_owner_alone(tmp_path):
    found = settings(PAISHARE_HOME=str(tmp_path))
    first = found.secret_key.reveal()
    assert len(first) == 64 and found.secret_key.reveal() == first
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


def test_two_processes_that_start_together_agree_on_the_key(tmp_path):
    found, keys = settings(PAISHARE_HOME=str(tmp_path)), set()
    threads = [threading.Thread(target=lambda: keys.add(found.secret_key)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 1


def test_a_secret_shows_itself_only_when_asked():
    secret = Secret("hunter2")
    found = settings(PAISHARE_RUNNER_TOKEN="hunter2",
                     PAISHARE_DATABASE_URL="postgresql+psycopg://ann:hunter2@host/registry")
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r}", repr(found), "%s" % secret):
        assert "hunter2" not in text and "…" in text
    assert found.runner_token == secret and secret.reveal() == "hunter2"


def test_the_guide_lists_every_variable():
    root = Path(__file__).parents[2]
    read = set(re.findall(r'environ\.get\("([A-Z_]+)"', (root / "registry/config.py").read_text()))
    guide = (root / "docs" / "settings.md").read_text()
    assert read and all(f"| `{name}` |" in guide for name in read)


@pytest.mark.parametrize("environ, api", [
    ({}, "https://api.github.com"),
    ({"PAISHARE_GITHUB_URL": "https://github.com/"}, "https://api.github.com"),
    ({"PAISHARE_GITHUB_URL": "https://ghe.example.org"}, "https://ghe.example.org/api/v3"),
    ({"PAISHARE_GITHUB_URL": "http://127.0.0.1:5000"}, "http://127.0.0.1:5000/api/v3"),
    ({"PAISHARE_GITHUB_URL": "https://acme.ghe.com",
      "PAISHARE_GITHUB_API_URL": "https://api.acme.ghe.com"}, "https://api.acme.ghe.com")])
def test_the_api_of_a_github_server_is_found_by_itself(environ, api):
    assert settings(**environ).github_api_url == api
