"""Sources that are paused, and those whose sponsor is locked out or was deleted."""
from datetime import UTC, datetime, timedelta

import pytest

from registry.access import AccessTask, Proof
from registry.accounts import Accounts
from registry.errors import ConflictError
from registry.github_accounts import GitHubAccounts
from tests.fakes.github_web import OnGitHub
from tests.fakes.web_home import FILES, HELLO
from tests.registry.github_market import GitHubMarket
from tests.registry.marketplace import data
from tests.registry.repository import Repository
from tests.registry.test_views_marketplace import text_of

NEWER = HELLO.replace("version: 1.0.0", "version: 2.0.0")


@pytest.fixture
def market(tmp_path, github):
    market = GitHubMarket(tmp_path / "home", github)
    yield market
    market.close()


@pytest.fixture
def on_github(github, home_template, tmp_path, monkeypatch):
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    web = OnGitHub(home_template, tmp_path)
    yield web
    web.close()


def add_version(web):
    folder = web.home.parent / "more"
    repository = Repository(folder)
    repository.commit({"job/third.yaml": HELLO.replace("hello", "third")})
    web.services.sources.add_folder(str(folder), name="more", owner_id=2)
    web.sync()
    return repository


# --- paused ---------------------------------------------------------------------------------------

def test_a_paused_source_is_not_indexed_and_what_is_known_keeps_serving(web):
    repository, ann = add_version(web), web.browser("ann")
    answer = ann.post("/sources/more/pause")
    assert (answer.status_code, answer.location) == (303, "/sources/more")
    repository.commit({"job/third.yaml": NEWER.replace("hello", "third")})
    web.sync()
    assert "2.0.0" not in ann.get("/c/job/third").text
    assert "Its source is paused" in ann.get("/c/job/third").text
    page = ann.get("/sources/more")
    assert "ann paused it" in text_of(page) and "Next sync when it is resumed" in text_of(page)
    assert 'action="/sources/more/resume"' in page.text
    assert 'action="/sources/more/sync"' not in page.text
    ann.post("/sources/more/resume")
    web.sync()
    assert "2.0.0" in ann.get("/c/job/third").text
    assert "Its source is paused" not in ann.get("/c/job/third").text


def test_an_admin_pauses_anyones_source_in_the_list_and_undoes_it_there(web):
    admin = web.browser("admin")
    admin.post("/admin/sources/examples/pause")
    assert "Paused" in text_of(admin.get("/admin/sources"))
    assert "Paused" in text_of(web.browser("bob").get("/sources"))
    assert "admin paused it" in text_of(web.browser("ann").get("/sources/examples"))
    assert 'action="/admin/sources/examples/resume"' in admin.get("/admin/sources").text
    admin.post("/admin/sources/examples/resume")
    assert web.services.sources.requested() == ["examples"]


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_only_the_owner_or_an_admin_pauses_and_resumes(web, action):
    assert web.browser("bob").post(f"/sources/examples/{action}").status_code == 403
    assert web.program("bob").post(f"/sources/examples/{action}").status_code == 403
    assert "/pause" not in web.browser("bob").get("/sources/examples").text
    assert web.program("ann").post(f"/sources/examples/{action}").status_code == 204


def test_a_sync_of_a_paused_source_is_refused_with_what_to_do(web):
    program = web.program("ann")
    program.post("/sources/examples/pause")
    status = program.get("/sources/examples/status").json
    assert status["paused_at"] and status["paused_by"] == "ann" and status["state"] == "paused"
    assert not status["is_syncing"] and status["next_sync_at"] is None
    refused = program.post("/sources/examples/sync")
    assert refused.status_code == 409 and "paishare source resume examples" in refused.text
    page = web.browser("bob").post("/sources/examples/sync")
    assert page.status_code == 409 and "is paused, so it is not indexed" in text_of(page)


def test_nothing_is_published_to_a_paused_shelf(web):
    program = web.program("ann")
    assert program.post("/components", {"yaml": HELLO.replace("hello", "mine")}).status_code == 201
    program.post("/sources/ann-shelf/pause")
    refused = program.post("/components", {"yaml": NEWER.replace("hello", "mine")})
    assert refused.status_code == 409 and "is paused" in refused.json["message"]
    program.post("/sources/ann-shelf/resume")
    again = program.post("/components", {"yaml": NEWER.replace("hello", "mine")})
    assert again.status_code == 201


def test_nothing_is_asked_of_github_for_a_paused_source(market, github):
    octo = github.world.add_user("octo")
    parts = github.world.create(octo, "parts", {"data/a.yaml": data("a")})
    source = market.add_repository(parts)
    market.run()
    market.sources.pause(market.source("octo/parts"), market.connect(
        github.world.classic_token(octo)))
    github.world.seen.clear()
    github.world.commit(parts, {"data/a.yaml": data("a", "2.0.0")})
    market.set(source, next_sync_at=None)
    market.sync.step(True)
    assert market.sync.run_once() == [] and github.world.seen == []
    with pytest.raises(ConflictError, match="is paused"):
        market.sources.request_sync("octo/parts")
    market.sources.resume(market.source("octo/parts"))
    assert market.run().new == ("data/a@2.0.0",)


def test_an_owner_pauses_a_repository_that_is_hidden_from_them(on_github, github):
    octo = github.world.add_user("octo")
    token = github.world.classic_token(octo, "repo")
    github.world.create(octo, "secret", FILES, is_private=True)
    ann = on_github.connected("ann", token)
    ann.post("/sources", location="octo/secret", use_my_token="1")
    ann.post("/settings/github/disconnect")
    for action, is_paused in (("pause", True), ("resume", False)):
        answer = ann.post(f"/sources/octo/secret/{action}")
        assert answer.location == "/sources#hidden"
        assert bool(on_github.source("octo/secret").paused_at) is is_paused
        assert ("Paused" in text_of(ann.get("/sources"))) is is_paused
    assert on_github.browser("bob").post("/sources/octo/secret/pause").status_code == 404


# --- whose token it is ----------------------------------------------------------------------------

@pytest.mark.parametrize("act, state, text", [
    ("lock", "locked", "an admin lets ann in again"),
    ("delete", "deleted", "whose account was deleted")])
def test_the_token_of_who_is_locked_out_or_deleted_is_not_used_and_the_source_says_so(
        market, github, act, state, text):
    ann = github.world.add_user("ann")
    parts = github.world.create(ann, "parts", {"data/a.yaml": data("a")}, is_private=True)
    user_id = market.connect(github.world.classic_token(ann, "repo"))
    market.add_repository(parts, sponsor_id=user_id)
    market.run()
    accounts = Accounts(market.engine)
    accounts.create_user("root", "long enough", is_admin=True)
    getattr(accounts, act)(accounts.user(user_id))
    github.world.seen.clear()
    assert text in market.report().error
    assert "ann" not in {each.login for each in github.world.seen}
    assert market.source("ann/parts").sponsor_is_out == state
    assert market.present() == ["a@1.0.0"]


def test_a_public_source_goes_on_without_the_token_of_who_is_locked_out(market, github):
    ann = github.world.add_user("ann")
    parts = github.world.create(ann, "parts", {"data/a.yaml": data("a")})
    user_id = market.connect(github.world.classic_token(ann))
    market.add_repository(parts, sponsor_id=user_id)
    accounts = Accounts(market.engine)
    accounts.create_user("root", "long enough", is_admin=True)
    accounts.lock(accounts.user(user_id))
    assert market.run().new == ("data/a@1.0.0",)


def test_the_page_says_why_a_source_waits_and_it_goes_on_when_its_sponsor_is_let_in(
        on_github, github):
    octo = github.world.add_user("octo")
    github.world.create(octo, "secret", FILES, is_private=True)
    bob = on_github.connected("bob", github.world.classic_token(octo, "repo"))
    ann = on_github.connected("ann", github.world.classic_token(octo, "repo"))
    ann.post("/sources", location="octo/secret", use_my_token="1")
    on_github.sync()
    admin = on_github.browser("admin")
    admin.post("/admin/users/ann/lock")
    on_github.services.access.prove(3, _proof(on_github.source("octo/secret").repo_id))
    page = text_of(bob.get("/sources/octo/secret"))
    assert "Its token is not used" in page and "Use my token" in page
    assert "no token: ann is locked out" in page
    admin.post("/admin/users/ann/unlock")
    on_github.sync()
    on_github.services.access.prove(3, _proof(on_github.source("octo/secret").repo_id))
    page = text_of(bob.get("/sources/octo/secret"))
    assert "the token of ann" in page and "up to date" in page


def test_who_is_locked_out_is_asked_for_in_the_background_no_more(market, github):
    ann = github.world.add_user("ann")
    parts = github.world.create(ann, "parts", {"data/a.yaml": data("a")}, is_private=True)
    user_id = market.connect(github.world.classic_token(ann, "repo"))
    market.add_repository(parts, sponsor_id=user_id)
    accounts = Accounts(market.engine)
    accounts.create_user("root", "long enough", is_admin=True)
    task = AccessTask(market.engine, GitHubAccounts(market.engine, market.settings))
    soon = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=2)
    assert user_id in task.due(soon)
    accounts.lock(accounts.user(user_id))
    assert user_id not in task.due(soon)


def _proof(repo_id):
    return Proof(repo_id=repo_id, level="read")
