"""Who may use an image that came with somebody's login, over restarts and kills."""
import pytest

from runner.image_access import ImageAccess

DIGEST, URI = "sha256:" + "a" * 64, "r.example/x:1"


@pytest.fixture
def access(tmp_path):
    return lambda: ImageAccess(tmp_path / "access.json")  # each call reads what the last one wrote


def test_an_image_that_nobody_logged_in_for_is_everybodys(access):
    assert access().may_use(DIGEST, URI, "ann")
    access().came(DIGEST, URI, "ann", is_new=True, is_open=True)
    assert access().may_use(DIGEST, URI, "mallory")


def test_what_a_login_brought_is_its_users_and_theirs_who_were_allowed(access):
    access().begin(URI)
    access().came(DIGEST, URI, "ann", is_new=True, is_open=False)
    access().allow(DIGEST, "other/name:1", "bob")
    allowed = [access().may_use(DIGEST, "any/name", user) for user in ("ann", "bob", "mallory")]
    assert allowed == [True, True, False]


def test_between_the_begin_of_a_pull_and_its_end_nobody_may_use_what_comes(access):
    access().begin(URI)
    assert not access().may_use(DIGEST, URI, "ann") and access().may_use(DIGEST, "other:1", "ann")
    access().allow(DIGEST, URI, "ann")
    assert access().may_use(DIGEST, URI, "ann") and not access().may_use(DIGEST, URI, "mallory")


def test_what_was_everybodys_stays_so_and_what_comes_anew_is_closed_anew(access):
    access().came(DIGEST, URI, "ann", is_new=False, is_open=False)
    assert access().may_use(DIGEST, URI, "mallory")
    access().came(DIGEST, URI, "ann", is_new=True, is_open=False)
    access().came(DIGEST, "evil.example/x:1", "bob", is_new=False, is_open=True)
    allowed = [access().may_use(DIGEST, URI, user) for user in ("ann", "bob", "mallory")]
    assert allowed == [True, True, False]
    access().came(DIGEST, URI, "eve", is_new=True, is_open=False)
    assert not access().may_use(DIGEST, URI, "ann")
