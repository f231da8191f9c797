"""GitHub access on the page Settings, in the API and as OpenPAI's clients set it."""
import threading
from datetime import datetime, timedelta, timezone

import pytest

from registry.access import AccessTask
from registry.github_errors import GitHubError
from registry.sources import NewRepository
from tests.fakes.web_home import WebHome


@pytest.fixture
def web(github, home_template, tmp_path, monkeypatch):
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    web = WebHome(home_template, tmp_path)
    yield web
    web.close()


@pytest.fixture
def ann(web):
    return web.browser("ann")


@pytest.fixture
def octo(github):
    return github.world.add_user("octo-ann")


def connect(browser, token):
    return browser.post("/settings/github", token=token.value)


def revoke(token, accounts, user):
    """At GitHub, and the next request tells."""
    token.is_revoked = True
    with pytest.raises(GitHubError), accounts.asking(user.id) as api:
        api.whoami()


def test_the_page_says_how_to_make_a_token_and_what_it_is_for(github, ann):
    page = ann.get("/settings/github").text
    assert f"{github.url}/settings/tokens/new?scopes=public_repo" in page
    assert f"{github.url}/settings/personal-access-tokens/new?" in page
    assert "by pull request" in page and "never shown again" in page


def test_a_token_is_verified_and_the_page_shows_all_but_the_token(github, ann, octo):
    token = github.world.classic_token(octo, "public_repo",
                                       expires_at=github.world.now + timedelta(days=90))
    answer = connect(ann, token)
    assert (answer.status_code, answer.location) == (303, "/settings/github")
    page = ann.get("/settings/github").text
    for text in ("octo-ann", "classic", token.value[-4:], "public_repo",
                 f"{token.expires_at:%Y-%m-%d}", "Private repositories stay hidden"):
        assert text in page
    assert token.value not in page


def test_a_fine_grained_token_says_what_will_not_work(github, ann, octo):
    connect(ann, github.world.fine_grained_token(octo))
    assert "finished on GitHub: the branch" in ann.get("/settings/github").text


def test_a_wrong_token_says_why_at_its_field_and_is_not_shown(ann):
    answer = ann.post("/settings/github", token="ghp_" + "w" * 36)
    assert answer.status_code == 400 and "does not accept this token" in answer.text
    assert 'aria-invalid="true"' in answer.text and "w" * 36 not in answer.text


def test_a_token_that_is_over_is_not_said_to_wait_for_github(github, web, ann, octo):
    token = github.world.classic_token(octo, "repo")
    connect(ann, token)
    accounts, user = web.services.github, web.services.accounts.user_named("ann")
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    accounts._update(user.id, limited_until=now + timedelta(hours=1))
    assert "asked to wait" in ann.get("/settings/github").text
    revoke(token, accounts, user)
    page = ann.get("/settings/github").text
    assert "GitHub access does not work" in page and "asked to wait" not in page


def test_a_dead_token_is_not_said_to_end_never(github, web, ann, octo):
    token = github.world.classic_token(octo, "repo")
    connect(ann, token)
    program = web.program("ann")
    assert "never, unless it is revoked" in ann.get("/settings/github").text
    accounts, user = web.services.github, web.services.accounts.user_named("ann")
    revoke(token, accounts, user)
    assert "never, unless" not in ann.get("/settings/github").text
    told = program.get("/user/github").get_json()["ends"]
    assert told == "now: GitHub does not accept it any more"
    assert told in ann.get("/settings/github").text
    accounts._update(user.id, expires_at=datetime(2026, 1, 2, 3, 4))
    assert program.get("/user/github").get_json()["ends"] == "over since 2026-01-02 03:04 UTC"


def test_single_sign_on_that_is_asked_for_is_shown_with_githubs_link(github, web, ann, octo):
    acme = github.world.add_organisation("acme", {"octo-ann": "write"})
    acme.needs_sso = True
    secret = github.world.create(acme, "secret", {"a": "a"}, is_private=True)
    token = github.world.classic_token(octo, "repo")
    connect(ann, token)
    assert "single sign-on before" not in ann.get("/settings/github").text
    answer = ann.post("/sources", location="acme/secret", use_my_token="1")
    assert answer.status_code == 403
    page = ann.get("/settings/github").text
    assert "An organization asks for single sign-on before this token" in page
    assert f'href="{github.url}/orgs/acme/sso?authorization_request=A5SH"' in page
    told = web.program("ann").get("/user/github").get_json()
    assert told["sso_url"].startswith(f"{github.url}/orgs/acme/sso") and told["sso"] in page
    assert web.program("bob").get("/user/github").get_json()["sso"] is None
    acme.sso_tokens.add(token.value)
    web.services.sources.add_repository(
        NewRepository(repo_id=secret.id, full_name="acme/secret", is_private=True), name=None,
        owner_id=2, sponsor_id=2)
    task = AccessTask(web.engine, web.services.github)
    task.step(2, threading.Event())
    assert web.program("ann").get("/user/github").get_json()["sso"] is None
    assert ann.get("/sources/acme/secret").status_code == 200


def test_of_a_list_that_leaves_out_organizations_it_is_said_where_to_authorize(
        github, web, ann, octo):
    acme = github.world.add_organisation("acme", {"octo-ann": "write"})
    acme.needs_sso = True
    github.world.create(acme, "secret", {"a": "a"}, is_private=True)
    connect(ann, github.world.classic_token(octo, "repo"))
    AccessTask(web.engine, web.services.github).step(2, threading.Event())
    told = web.program("ann").get("/user/github").get_json()
    assert f"on {github.url}/settings/tokens, under Configure SSO" in told["sso"]
    assert told["sso_url"] is None


@pytest.mark.parametrize("link", ["https://evil.example/orgs/acme/sso", "{}.evil.example/sso",
                                  "javascript:alert(1)", "http://github.com/sso"])
def test_a_link_that_leads_elsewhere_is_not_kept(github, web, ann, octo, link):
    connect(ann, github.world.classic_token(octo, "repo"))
    github.world.fault("GET", "/repos/o/r$", 403, "SSO", X_GitHub_SSO="required; url="
                       + link.format(github.url))
    assert ann.post("/sources", location="o/r").status_code == 403
    told = web.program("ann").get("/user/github").get_json()
    assert told["sso"] and told["sso_url"] is None


def test_a_token_is_tested_again_and_what_it_may_do_is_told_anew(github, ann, octo):
    token = github.world.classic_token(octo, "repo")
    connect(ann, token)
    assert "It does all that is done here" in ann.get("/settings/github").text
    token.scopes = ("public_repo",)
    assert ann.post("/settings/github/verify").location == "/settings/github"
    assert "Private repositories stay hidden" in ann.get("/settings/github").text
    token.is_revoked = True
    answer = ann.post("/settings/github/verify")
    assert answer.status_code >= 400 and "GitHub access does not work." in answer.text
    assert token.value not in answer.text


def test_nobody_tests_a_token_that_is_not_there(ann):
    assert ann.post("/settings/github/verify").status_code >= 400


def test_a_token_is_disconnected(github, web, ann, octo):
    connect(ann, github.world.classic_token(octo, "repo"))
    assert ann.post("/settings/github/disconnect").status_code == 303
    assert web.program("ann").get("/user/github").get_json()["is_connected"] is False


def test_a_program_connects_sees_and_disconnects(github, web, octo):
    program, token = web.program("ann"), github.world.classic_token(octo, "repo")
    shown = program.put("/user/github", {"token": token.value}).get_json()
    assert shown == program.get("/user/github").get_json() | {
        "last_used_at": shown["last_used_at"]}
    assert (shown["login"], shown["scopes"], shown["limitations"]) == ("octo-ann", ["repo"], [])
    assert token.value not in str(shown)
    assert program.delete("/user/github").status_code == 204
    assert web.program("ann").get("/user/github").get_json()["login"] is None
    assert program.put("/user/github", {"token": "nonsense"}).get_json()["errors"][0][
        "path"] == "token"


@pytest.mark.parametrize("prefix", ["/api/v1", "/rest-server/api/v1"])
@pytest.mark.parametrize("form", ["json", "data"])
def test_a_client_of_openpai_sets_and_clears_the_token(github, web, octo, prefix, form):
    program = web.program("ann")
    client = web.app.test_client(use_cookies=False)

    def put(name, headers=program.headers, **fields):
        return client.put(f"{prefix}/user/{name}/githubPAT", headers=headers, **{form: fields})
    token = github.world.classic_token(octo, "repo")
    answer = put("ann", githubPAT=token.value)
    assert (answer.status_code, answer.get_json()) == (
        201, {"message": "update user github PAT successfully"})
    assert program.get("/user/github").get_json()["login"] == "octo-ann"
    assert put("ann", githubPAT="").status_code == 201
    assert program.get("/user/github").get_json()["is_connected"] is False
    assert put("ann", githubPAT="ghp_" + "w" * 36).status_code == 400
    assert put("ann", other="x").status_code == 400
    assert put("bob", githubPAT=token.value).get_json()["code"] == "ForbiddenUserError"
    assert put("ann", {}, githubPAT=token.value).status_code == 401
    admin = web.program("admin").headers
    assert put("ann", admin, githubPAT=token.value).status_code == 403
    assert put("nobody", admin).get_json() == {
        "code": "NoUserError", "message": "User nobody is not found."}


@pytest.mark.parametrize("status, headers, found, text", [
    (429, {"Retry_After": "120"}, 503, "Paste it again then"),
    (500, {}, 503, "GitHub asks to wait"), (0, {}, 503, "cannot be reached"),
    (403, {"X_GitHub_SSO": "required; url={}/orgs/acme/sso?x=1"}, 403, "{}/orgs/acme/sso")])
def test_a_token_that_cannot_be_checked_says_why_and_is_not_kept(
        github, web, ann, octo, status, headers, found, text):
    token, text = github.world.classic_token(octo, "repo"), text.format(github.url)
    headers = {name: value.format(github.url) for name, value in headers.items()}
    github.world.fault("GET", "/user$", status, "No", times=9, **headers)
    answer = connect(ann, token)
    assert answer.status_code == found and text in answer.text and token.value not in answer.text
    told = web.program("ann").put("/user/github", {"token": token.value})
    assert told.status_code == found
    assert (told.get_json()["retry_at"] is not None) == (found == 503)
    assert bool(told.get_json()["link"]) == (found == 403)
    assert web.program("ann").get("/user/github").get_json()["is_connected"] is False


def test_nobody_tries_out_tokens_here(ann):
    answers = [ann.post("/settings/github", token=f"ghp_{number:036}") for number in range(11)]
    assert [answer.status_code for answer in answers] == [400] * 10 + [429]
