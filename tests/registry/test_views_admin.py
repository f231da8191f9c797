"""The pages of admins: who gets in, users, limits, the queue, and sources tried out first."""
import re
from datetime import datetime

import pytest

from registry import db
from tests.fakes.web_home import FILES, HELLO, PASSWORD, write_repository

PAGES = ("/admin/sources", "/admin/users", "/admin/limits", "/admin/system")


@pytest.fixture
def admin(web):
    return web.browser("admin")


@pytest.mark.parametrize("path", PAGES)
def test_the_pages_are_for_admins_and_say_whom_others_can_ask(web, admin, path):
    assert admin.get(path).status_code == 200
    refused = web.browser("ann").get(path)
    assert refused.status_code == 403 and "Ask one of them: admin." in refused.text
    assert web.browser().get(path).location.startswith("/login?next=")


@pytest.mark.parametrize("path", [
    "/admin/users", "/admin/users/bob/password", "/admin/users/bob/admin", "/admin/users/bob/lock",
    "/admin/users/bob/unlock", "/admin/users/bob/tokens/1/revoke", "/admin/limits",
    "/admin/system/pause", "/admin/system/resume", "/admin/sources", "/admin/sources/example",
    "/admin/sources/examples/sync", "/admin/sources/examples/remove"])
def test_nobody_else_changes_anything_there(web, path):
    assert web.browser("ann").post(path).status_code == 403


# --- users ------------------------------------------------------------------------------------

def test_a_new_user_gets_a_password_that_is_shown_once_and_works(web, admin):
    page = admin.post("/admin/users", name="cleo")
    password = re.search('id="password" class="wrap">([^<]+)<', page.text)[1]
    assert web.services.accounts.verify_password("cleo", password).is_admin is False
    assert password not in admin.get("/admin/users").text


def test_a_name_that_is_taken_or_none_is_refused_and_stays_in_the_form(admin):
    taken = admin.post("/admin/users", name="ann")
    assert taken.status_code == 409 and "There is already a user called ann." in taken.text
    wrong = admin.post("/admin/users", name="a b")
    assert wrong.status_code == 400 and 'value="a b"' in wrong.text


def test_a_user_who_is_locked_out_keeps_nothing_open_until_let_in_again(web, admin):
    ann, program = web.browser("ann"), web.program("ann")
    assert admin.post("/admin/users/ann/lock").status_code == 303
    assert ann.get("/jobs").location.startswith("/login")
    assert program.get("/user").status_code == 401
    assert web.services.accounts.verify_password("ann", PASSWORD) is None
    assert "locked out" in admin.get("/admin/users").text
    admin.post("/admin/users/ann/unlock")
    assert program.get("/user").status_code == 200
    assert web.browser("ann").get("/jobs").status_code == 200


def test_one_admin_who_may_log_in_always_remains(web, admin):
    for way in ("admin", "lock"):
        refused = admin.post(f"/admin/users/admin/{way}", is_admin="0")
        assert refused.status_code == 409 and "is the only admin" in refused.text
    assert admin.post("/admin/users/ann/admin", is_admin="1").status_code == 303
    assert admin.post("/admin/users/admin/admin", is_admin="0").status_code == 303
    assert admin.get("/admin/users").status_code == 403
    assert web.browser("ann").get("/admin/users").status_code == 200


def test_a_password_that_an_admin_makes_ends_the_sessions_of_its_user(web, admin):
    ann = web.browser("ann")
    page = admin.post("/admin/users/ann/password")
    password = re.search('id="password" class="wrap">([^<]+)<', page.text)[1]
    assert ann.get("/jobs").location.startswith("/login")
    assert web.services.accounts.verify_password("ann", password)


def test_tokens_of_users_are_listed_without_their_text_and_revoked(web, admin):
    accounts = web.services.accounts
    ann = accounts.user_named("ann")
    token = accounts.create_token(ann, "<b>laptop")
    page = admin.get("/admin/users").text
    assert "&lt;b&gt;laptop" in page and token not in page
    number = accounts.tokens(ann)[0].id
    assert admin.post(f"/admin/users/bob/tokens/{number}/revoke").status_code == 404
    assert admin.post(f"/admin/users/ann/tokens/{number}/revoke").status_code == 303
    assert accounts.user_of_token(token) is None


def test_many_users_come_in_pages_and_are_found_by_name(web, admin):
    with web.engine.begin() as connection:
        connection.execute(db.users.insert(), [
            {"name": f"u{number:02}", "password_hash": "-", "is_admin": False, "session_epoch": 0,
             "created_at": datetime(2026, 1, 1)} for number in range(60)])

    def named(query):
        return re.findall('<b class="wrap">([^<]+)</b>', admin.get(f"/admin/users{query}").text)
    assert named("")[:4] == ["admin", "ann", "bob", "u00"] and len(named("")) == 50
    assert named("?page=2")[-1] == "u59" and named("?q=U1") == [f"u{n}" for n in range(10, 20)]
    assert "No user fits." in admin.get("/admin/users?q=none").text


# --- limits and the system ----------------------------------------------------------------------

def test_limits_are_shown_with_their_file_and_saved_there(web, admin):
    page = admin.get("/admin/limits").text
    assert "/srv/clusters.json" in page and "5 of 8 free" in page
    assert admin.post("/admin/limits", text='{"perUser":\r\n{}}').status_code == 303
    assert web.runner.limits == '{"perUser":\n{}}'


def test_the_queue_is_paused_with_a_reason_and_let_go(web, admin):
    assert admin.post("/admin/system/pause", reason="until noon").status_code == 303
    paused = admin.get("/admin/system").text
    assert "until noon" in paused and "the machine is empty" in paused
    admin.post("/admin/system/resume")
    assert web.runner.paused is None


def test_logs_are_shown_without_tokens_and_no_other_file_is(web, admin):
    folder = web.home / "logs"
    folder.mkdir(exist_ok=True)
    (folder / "sync.log").write_text(f"refused ghp_{'a' * 36} <b>\n")
    page = admin.get("/admin/system?log=sync").text
    assert "refused … &lt;b&gt;" in page and "ghp_" not in page
    for name in ("../secret", "../../secret.key", "nothing"):
        assert "It has said nothing." in admin.get(f"/admin/system?log={name}").text


def test_the_system_page_works_while_the_runner_is_down(web, admin):
    web.runner.close()
    page = admin.get("/admin/system")
    assert page.status_code == 200 and "The runner is down." in page.text
    assert "Parts and versions" in page.text


# --- sources ------------------------------------------------------------------------------------

@pytest.fixture
def team(tmp_path):
    folder = tmp_path / "team"
    write_repository(folder, FILES, {"job/second.yaml": HELLO})
    return folder


def test_a_source_is_tried_out_before_it_is_added(web, admin, team):
    tried = admin.post("/admin/sources", location=str(team))
    assert tried.status_code == 200 and "2 components" in tried.text
    assert "data/points, job/hello" in tried.text and "2 invalid files" in tried.text
    assert re.search(r"job/broken\.yaml:3</code> .*must be a list of tasks", tried.text)
    assert "job/hello.yaml already declares job/hello" in tried.text
    assert [each.name for each in web.services.sources.all()] == ["examples"]
    added = admin.post("/admin/sources", location=str(team), agreed="1")
    assert added.status_code == 303
    assert "team" in {each.name for each in web.services.sources.all()}


def test_a_trial_says_what_is_wrong_with_the_place(admin, tmp_path):
    missing = admin.post("/admin/sources", location=str(tmp_path / "nowhere"))
    assert missing.status_code == 400 and "There is no folder" in missing.text
    (tmp_path / "plain" / "data").mkdir(parents=True)
    (tmp_path / "plain/data/x.yaml").write_text("type: data\nname: x\nuri: x.csv\n")
    plain = admin.post("/admin/sources", location=str(tmp_path / "plain"))
    assert "a plain folder" in plain.text and "1 component<" in plain.text


def test_a_trial_looks_into_nothing_that_the_server_keeps(web, admin, tmp_path):
    """Stores of repositories lie there that an admin may not read."""
    store, = (web.home / "git").glob("*.git")
    (tmp_path / "link").symlink_to(store)
    for place in (store, web.home, tmp_path / "link", f"{tmp_path}/link/../../home/git"):
        refused = admin.post("/admin/sources", location=str(place))
        assert refused.status_code == 400 and "keeps for itself" in refused.text or \
            "There is no folder" in refused.text, place
        assert "job/hello" not in refused.text.partition('id="live"')[0]


def test_removing_says_what_would_not_run_any_more(web, admin, team, tmp_path):
    user = HELLO.replace("data: points", "data: points").replace(
        "prerequisites:\n", "prerequisites:\n  - data/points\n").replace("name: hello", "name: own")
    write_repository(tmp_path / "other", {"job/own.yaml": user})
    admin.post("/admin/sources", location=str(tmp_path / "other"), agreed="1")
    web.sync()
    page = admin.get("/admin/sources").text
    assert "other:job/own" in page.partition('action="/admin/sources/examples/remove"')[2][:900]
    assert admin.post("/admin/sources/examples/remove").status_code == 303
    assert [each.name for each in web.services.sources.all()] == ["other"]


def test_the_example_source_is_offered_until_it_is_there(web, admin):
    assert "Add the example source" in admin.get("/admin/sources").text
    assert admin.post("/admin/sources/example").status_code == 303
    assert "Add the example source" not in admin.get("/admin/sources").text
    assert "bundled" in {each.name for each in web.services.sources.all()}
