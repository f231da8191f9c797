"""Log in, log out, sessions, forgery, and how often one may guess."""
import pytest

from tests.fakes.web_home import PASSWORD


def test_a_right_password_logs_in_and_log_out_ends_it(web):
    browser = web.browser("ann")
    assert "ann" in browser.get("/").text
    assert browser.post("/logout").location == "/"
    assert browser.get("/jobs").location.startswith("/login")


def test_a_wrong_password_says_so_and_keeps_the_name_and_the_target(web):
    answer = web.browser().post("/login", username="ann", password="wrong",
                                next="/jobs?state=FAILED")
    assert answer.status_code == 401 and "is wrong" in answer.text
    assert 'value="ann"' in answer.text and 'value="/jobs?state=FAILED"' in answer.text
    assert "wrong&#34;" not in answer.text and 'value="wrong"' not in answer.text


@pytest.mark.parametrize("target", [
    "https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:x",
    "/\t/evil.example", "/\n/evil.example", " /x", "jobs", "", "///evil.example", "/%0a\r\nX: y"])
def test_a_login_never_leads_to_another_site(web, target):
    answer = web.browser().post("/login", username="ann", password=PASSWORD, next=target)
    assert (answer.status_code, answer.location) == (303, "/")


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(web):
    browser = web.browser()
    login = browser.post("/login", username="ann", password=PASSWORD)
    cookie = login.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie


def test_over_https_the_cookie_stays_on_https(web):
    answer = web.app.test_client().get("/login", base_url="https://localhost")
    assert "; Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize("path", [
    "/login", "/logout", "/submit", "/jobs/1/stop", "/settings/password", "/settings/tokens",
    "/settings/tokens/1/revoke", "/sources", "/sources/examples/sync", "/sources/examples/remove"])
def test_a_form_without_its_token_changes_nothing(web, path):
    browser = web.browser("admin")
    for fields in ({}, {"csrf_token": "x"}):
        answer = browser.send(path, fields)
        assert answer.status_code == 400 and "out of date" in answer.text
    assert web.services.sources.get("examples").sync_requested_at is None


def test_every_form_of_every_blueprint_is_protected(web):
    browser = web.browser("admin")
    for rule in web.app.url_map.iter_rules():
        for method in rule.methods & {"POST", "PUT", "DELETE", "PATCH"}:
            path = web.app.url_map.bind("").build(
                rule.endpoint, {name: 1 for name in rule.arguments}, method=method)
            answer = browser.json(method, path.removeprefix("http://"), {})
            assert answer.status_code == 400 and "out of date" in answer.text


def test_guessing_is_slowed_down_and_right_logins_are_not(web):
    for _ in range(12):
        web.browser("ann")
    browser = web.browser()
    token = browser.token()
    answers = [browser.send("/login", {"csrf_token": token, "username": "ann", "password": "no"})
               for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert "Wait a minute" in answers[-1].text


def test_a_session_ends_with_the_password_it_began_with(web):
    here, there = web.browser("ann"), web.browser("ann")
    answer = here.post("/settings/password", old_password=PASSWORD, new_password="another horse",
                       again="another horse")
    assert answer.status_code == 303 and "is changed" in here.get("/settings/profile").text
    assert there.get("/jobs").location.startswith("/login")


def test_a_forged_session_is_none(web):
    browser = web.browser("ann")
    value = browser.cookie("paishare").value
    other = web.browser()
    other._client.set_cookie("paishare", value[:-4] + "AAAA")
    assert other.get("/jobs").location.startswith("/login")


def test_no_password_token_or_cookie_reaches_a_log(web, caplog):
    caplog.set_level("DEBUG")
    browser, program = web.browser("ann"), web.program("ann")
    browser.post("/login", username="ann", password="a wrong secret")
    program.get("/user")
    web.runner.close()
    program.get("/machine")
    browser.get("/jobs")
    secrets = [PASSWORD, "a wrong secret", program.headers["Authorization"][7:],
               browser.cookie("paishare").value, web.app.secret_key]
    assert caplog.text and not any(secret in caplog.text for secret in secrets)


def test_a_cookie_that_a_job_on_the_same_host_got_hold_of_is_useless_elsewhere(web):
    value = web.browser("ann").cookie("paishare").value
    other = web.app.test_client()
    other.set_cookie("paishare", value)
    assert other.get("/jobs").status_code == 200
    for headers in ({}, {"X-Forwarded-For": "127.0.0.1"}):
        answer = other.get("/jobs", environ_base={"REMOTE_ADDR": "172.17.0.2"}, headers=headers)
        assert answer.location.startswith("/login")


def test_an_answer_to_a_script_takes_back_nothing_that_a_form_has_left(web):
    ann = web.browser("ann")
    ann.get("/jobs")  # gives the session its token for forms
    script = ann.get("/jobs", headers={"Sec-Fetch-Mode": "cors"})
    page = ann.get("/jobs", headers={"Sec-Fetch-Mode": "navigate"})
    assert "Set-Cookie" not in script.headers and "paishare=" in page.headers["Set-Cookie"]
