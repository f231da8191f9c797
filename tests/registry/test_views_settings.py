"""The page Settings: password and tokens."""
import re

import pytest

from tests.fakes.web_home import PASSWORD


@pytest.fixture
def ann(web):
    return web.browser("ann")


@pytest.mark.parametrize("fields, text", [
    ({"old_password": "no", "new_password": "x" * 9, "again": "x" * 9}, "not your password"),
    ({"old_password": PASSWORD, "new_password": "x" * 9, "again": "y" * 9}, "passwords differ"),
    ({"old_password": PASSWORD, "new_password": "x", "again": "x"}, "8 to 1024 characters")])
def test_a_password_that_cannot_be_changed_says_why_at_its_field(web, ann, fields, text):
    answer = ann.post("/settings/password", **fields)
    assert answer.status_code == 400 and text in answer.text and "aria-invalid" in answer.text
    assert web.services.accounts.verify_password("ann", PASSWORD)


def test_a_token_is_shown_once_and_works_until_it_is_revoked(web, ann):
    page = ann.post("/settings/tokens", name="<b>laptop</b>")
    token = re.search('id="token" class="wrap">([^<]+)<', page.text)[1]
    assert web.services.accounts.user_of_token(token).name == "ann"
    again = ann.get("/settings/tokens").text
    assert token not in again and "&lt;b&gt;laptop&lt;/b&gt;" in again
    number = re.search(r"/settings/tokens/(\d+)/revoke", again)[1]
    assert ann.post(f"/settings/tokens/{number}/revoke").status_code == 303
    assert web.services.accounts.user_of_token(token) is None


def test_nobody_revokes_the_token_of_another(web, ann):
    page = ann.post("/settings/tokens", name="laptop")
    number = re.search(r"/settings/tokens/(\d+)/revoke", page.text)[1]
    for each in (number, "9" * 30):
        assert web.browser("bob").post(f"/settings/tokens/{each}/revoke").status_code == 404
    assert len(web.services.accounts.tokens(web.services.accounts.user_named("ann"))) == 1
