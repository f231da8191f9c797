"""Logins to registries of images: sealed, bound to their rows, given to their user's jobs alone."""
import pytest
import sqlalchemy as sa

from registry import db
from registry.accounts import Accounts
from registry.config import Secret, Settings
from registry.db import image_logins
from registry.errors import InvalidInputError, NotFoundError
from registry.image_logins import MAX_LOGINS, ImageLogins
from registry.rotation import rotate_keys
from runner.spec import Image, JobSpec, Login, TaskRoleSpec

CANARY = Secret("Zeisig+/=&%")


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "home").mkdir()
    return Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "home")})


@pytest.fixture
def engine(settings):
    engine = db.create_engine(settings.database_url)
    db.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def logins(engine, settings):
    return ImageLogins(engine, settings)


@pytest.fixture
def ann(engine):
    return Accounts(engine).create_user("ann", "a password").id


@pytest.fixture
def bob(engine):
    return Accounts(engine).create_user("bob", "a password").id


def job(*uris):
    return JobSpec(name="j", user="ann", task_roles=tuple(
        TaskRoleSpec(name=f"r{number}", image=Image(uri=uri), commands=("true",))
        for number, uri in enumerate(uris)))


def test_a_job_gets_the_logins_of_its_user_to_the_registries_of_its_images(logins, ann, bob):
    logins.keep(ann, "https://Registry.example:5000/v2/", " octo ", CANARY)
    logins.keep(ann, "index.docker.io", "octo", Secret("hub"))
    images = job("registry.example:5000/team/x:1", "ghcr.io/x")
    assert logins.for_job(images, user_id=ann) == [
        Login(server="registry.example:5000", username="octo", secret=CANARY.reveal())]
    assert [each.secret for each in logins.for_job(job("busybox"), user_id=ann)] == ["hub"]
    assert logins.for_job(images, user_id=bob) == []
    used = {each.server: each.last_used_at for each in logins.of(ann)}
    assert used["registry.example:5000"] and list(used) == ["docker.io", "registry.example:5000"]


def test_a_secret_is_in_no_row_and_no_repr(logins, engine, ann):
    logins.keep(ann, "ghcr.io", "octo", CANARY)
    with engine.connect() as connection:
        row = connection.execute(sa.select(image_logins)).one()
    found = logins.for_job(job("ghcr.io/x"), user_id=ann)
    for text in (repr(row), repr(found), repr(logins.of(ann))):
        assert CANARY.reveal() not in text


@pytest.mark.parametrize("change", [{"server": "other.example"}, {"username": "mallory"}])
def test_a_row_that_was_changed_does_not_open(logins, engine, ann, change):
    logins.keep(ann, "ghcr.io", "octo", CANARY)
    with engine.begin() as connection:
        connection.execute(image_logins.update().values(**change))
    with pytest.raises(InvalidInputError, match="on the page Settings"):
        logins.for_job(job("ghcr.io/x", "other.example/x"), user_id=ann)


def test_a_login_is_replaced_and_removed(logins, ann, bob):
    logins.keep(ann, "ghcr.io", "octo", CANARY)
    logins.keep(ann, "ghcr.io", "ann", Secret("newer"))
    assert [each.username for each in logins.of(ann)] == ["ann"]
    with pytest.raises(NotFoundError, match="no login to ghcr.io"):
        logins.forget(bob, "ghcr.io")
    logins.forget(ann, "GHCR.io")
    assert logins.of(ann) == []


@pytest.mark.parametrize("server, username, secret, field", [
    ("", "u", "s", "server"), ("no server", "u", "s", "server"), ("a.b:x", "u", "s", "server"),
    ("ghcr.io", "", "s", "username"), ("ghcr.io", "a:b", "s", "username"),
    ("ghcr.io", "u", "", "secret"), ("ghcr.io", "u", "two\nlines", "secret")])
def test_what_is_no_login_is_refused_by_its_field(logins, ann, server, username, secret, field):
    with pytest.raises(InvalidInputError) as caught:
        logins.keep(ann, server, username, Secret(secret))
    assert caught.value.problems[0].path == field


def test_there_is_a_limit(logins, ann):
    for number in range(MAX_LOGINS):
        logins.keep(ann, f"r{number}.example", "u", CANARY)
    with pytest.raises(InvalidInputError, match="Remove one first"):
        logins.keep(ann, "one-more.example", "u", CANARY)
    logins.keep(ann, "r0.example", "u", Secret("replaced"))


def test_the_secret_outlives_a_rotation_and_the_old_key_does_not(logins, engine, settings, ann):
    logins.keep(ann, "ghcr.io", "octo", CANARY)
    old = (settings.home / "sealing.key").read_text()
    done = rotate_keys(engine, settings)
    assert (done.resealed, done.unreadable) == (1, 0)
    assert (settings.home / "sealing.key").read_text() != old
    assert logins.for_job(job("ghcr.io/x"), user_id=ann)[0].secret == CANARY.reveal()


def test_both_databases_keep_logins(database_url, settings):
    engine = db.create_engine(database_url)
    db.upgrade(engine)
    logins = ImageLogins(engine, settings)
    user = Accounts(engine).create_user("ann", "a password").id
    logins.keep(user, "ghcr.io", "octo", CANARY)
    assert rotate_keys(engine, settings).resealed == 1
    assert logins.for_job(job("ghcr.io/x"), user_id=user)[0].secret == CANARY.reveal()
    logins.forget(user, "ghcr.io")
    engine.dispose()
