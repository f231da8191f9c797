"""The pages of settings: password, tokens, and how pages look to whoever is logged in."""
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


# --- appearance -----------------------------------------------------------------------------------

def test_theme_and_language_come_along_into_another_browser(web, ann):
    ann.post("/appearance", theme="dark", language="zh")
    other = web.browser()
    assert 'lang="en"' in other.get("/").text
    other.post("/login", username="ann", password=PASSWORD)
    page = other.get("/").text
    assert 'lang="zh-Hans"' in page and 'data-bs-theme="dark"' in page


def test_what_the_account_says_is_more_than_an_old_cookie(web, ann):
    other = web.browser("ann")
    other.post("/appearance", language="zh")
    ann.post("/appearance", language="en")
    assert 'lang="en"' in other.get("/").text


def test_who_is_signed_out_keeps_the_choice_in_the_browser(web):
    visitor = web.browser()
    visitor.post("/appearance", language="zh", theme="light")
    page = visitor.get("/").text
    assert 'lang="zh-Hans"' in page and 'data-bs-theme="light"' in page
    assert 'lang="en"' in web.browser().get("/").text


def test_shortcuts_motion_and_terminals_are_switched_for_the_account(web, ann):
    assert 'data-keys="on"' in ann.get("/").text
    ann.post("/appearance", boxes="has_keys has_reader_terminal has_less_motion",
             has_reader_terminal="1", has_less_motion="1")
    page = web.browser("ann").get("/").text
    for told in ('data-keys="off"', 'data-terminal="reader"', 'data-motion="less"'):
        assert told in page
    ann.post("/appearance", theme="dark")  # the menu of every page changes nothing else
    assert 'data-keys="off"' in ann.get("/").text
    assert "data-keys" not in web.browser().get("/").text


def test_a_theme_or_language_that_there_is_not_is_refused(web, ann):
    for wrong in ({"theme": "pink"}, {"language": "xx"}):
        assert ann.post("/appearance", **wrong).status_code == 400
    assert web.services.accounts.user_named("ann").preferences.theme is None


def test_the_old_address_of_settings_leads_on(ann):
    assert ann.get("/settings").location == "/settings/profile"
