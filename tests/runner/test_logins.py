"""Logins that jobs brought along: a file a job that its owner alone reads."""
import pytest

from runner.errors import InvalidSpecError
from runner.logins import Logins, logins_from_json
from runner.spec import Image, Login, registry_name

ANN = Login(server="r.example:5000", username="ann", secret="Kanarienvogel")


@pytest.fixture
def logins(tmp_path):
    return Logins(tmp_path / "logins")


def test_a_job_finds_its_login_by_the_registry_until_it_is_dropped(logins, tmp_path):
    logins.keep("a1", [ANN])
    logins.keep("b2", [])
    assert logins.of("a1", "r.example:5000") == ANN and logins.of("a1", "other.example") is None
    assert logins.of("b2", "r.example:5000") is None
    file, = (tmp_path / "logins").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    logins.drop("a1")
    logins.drop("a1")
    assert not list((tmp_path / "logins").iterdir())


def test_after_a_kill_only_jobs_that_need_theirs_keep_them(logins, tmp_path):
    for job in ("a1", "b2"):
        logins.keep(job, [ANN])
    (tmp_path / "logins" / "c3.new").write_text("half")
    logins.keep_only({"b2"})
    assert [path.name for path in (tmp_path / "logins").iterdir()] == ["b2.json"]


def test_a_login_shows_no_secret():
    assert "Kanarienvogel" not in repr(ANN)
    with pytest.raises(InvalidSpecError) as caught:
        logins_from_json([{"server": "r.example", "username": "", "secret": "Kanarienvogel"}])
    assert "Kanarienvogel" not in caught.value.message


@pytest.mark.parametrize("uri, server", [
    ("busybox", "docker.io"), ("team/x:1", "docker.io"), ("docker.io/team/x", "docker.io"),
    ("index.docker.io/x", "docker.io"), ("ghcr.io/a/b:1", "ghcr.io"),
    ("R.example:5000/x@sha256:" + "a" * 64, "r.example:5000"), ("localhost/x", "localhost")])
def test_the_registry_of_an_image_is_read_from_its_name(uri, server):
    assert Image(uri=uri).server == server


@pytest.mark.parametrize("text, name", [
    ("https://index.docker.io/v1/", "docker.io"), (" GHCR.io ", "ghcr.io"),
    ("http://127.0.0.1:5000", "127.0.0.1:5000"), ("", "")])
def test_people_write_registries_in_several_ways(text, name):
    assert registry_name(text) == name
