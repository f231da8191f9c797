"""Users whom an admin deletes: what goes, what stays, and what nobody gets."""
import pytest
import sqlalchemy as sa

from registry import db
from registry.config import Secret
from registry.errors import ConflictError, NotFoundError
from tests.fakes.web_home import PASSWORD
from tests.registry.test_openpai_jobs import Client
from tests.registry.test_views_marketplace import text_of

ANN = 2  # the number that ann has in every home


@pytest.fixture
def admin(web):
    return web.browser("admin")


def rows(web, table):
    with web.engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).where(table.c.user_id == ANN))


def test_what_goes_and_what_stays_is_told_before_anything_is_deleted(web, admin):
    program = web.program("ann")
    program.post("/jobs", {"reference": "job/hello"})
    web.services.image_logins.keep(ANN, "registry.example", "ann", Secret("x"))
    page = admin.get("/admin/users/ann/delete")
    text = text_of(page)
    for told in ("the password and every session", "one API token", "no GitHub token",
                 "one login to an image registry", "every published version",
                 "one source, which admins look after from then on: examples",
                 "One of them waits or runs , and goes on.", "the name: nobody else"):
        assert told in text, told
    assert 'href="/jobs?owner=ann"' in page.text
    assert program.get("/user").status_code == 200
    assert 'href="/admin/users/ann/delete"' in admin.get("/admin/users").text


def test_who_is_deleted_keeps_no_way_in_and_leaves_what_was_published(web, admin):
    ann, program = web.browser("ann"), web.program("ann")
    program.post("/components", {"yaml": "type: dockerimage\nname: mine\nversion: 1.0.0\n"
                                         "contributor: Ann\ndescription: x\nuri: busybox\n"})
    job = program.post("/jobs", {"reference": "job/hello"}).json["id"]
    web.sync()
    web.services.image_logins.keep(ANN, "registry.example", "ann", Secret("x"))
    assert admin.post("/admin/users/ann/delete").location == "/admin/users"
    assert ann.get("/jobs").location.startswith("/login")
    assert program.get("/user").status_code == 401
    assert web.services.accounts.verify_password("ann", PASSWORD) is None
    for table in (db.api_tokens, db.github_tokens, db.image_logins, db.repo_access,
                  db.publications):
        assert rows(web, table) == 0
    assert "ann" not in [user.name for user in web.services.accounts.users()]
    bob = web.browser("bob")
    assert bob.get("/c/job/hello").status_code == bob.get("/c/dockerimage/mine").status_code == 200
    assert admin.get(f"/jobs/{job}").status_code == 200
    assert not web.runner.jobs[job]["stop_requested"]
    assert "ann (deleted)" in text_of(admin.get("/sources/examples"))
    assert "ann (deleted)" in text_of(admin.get("/admin/sources"))


def test_jobs_that_wait_or_run_are_stopped_when_that_is_asked_for(web, admin):
    program = web.program("ann")
    jobs = [program.post("/jobs", {"reference": "job/hello"}).json["id"] for _ in range(3)]
    other = web.program("bob").post("/jobs", {"reference": "job/hello"}).json["id"]
    admin.post("/admin/users/ann/delete", stop_jobs="1")
    assert "3 jobs were asked to stop." in admin.get("/admin/users").text
    assert all(web.runner.jobs[job]["stop_requested"] for job in jobs)
    assert not web.runner.jobs[other]["stop_requested"]


def test_who_is_deleted_is_deleted_also_while_the_runner_is_away(web, admin):
    web.runner.close()
    assert "nobody knows whether one of them runs" in text_of(
        admin.get("/admin/users/ann/delete"))
    admin.post("/admin/users/ann/delete", stop_jobs="1")
    assert "jobs of ann may run still" in text_of(admin.get("/admin/users"))
    with pytest.raises(NotFoundError):
        web.services.accounts.user_named("ann")


def test_nobody_else_ever_gets_the_name(web, admin):
    admin.post("/admin/users/ann/delete")
    refused = admin.post("/admin/users", name="ann")
    assert refused.status_code == 409 and "A user called ann was deleted" in text_of(refused)
    for path in ("ann/lock", "ann/unlock", "ann/password", "ann/delete"):
        assert admin.post(f"/admin/users/{path}").status_code == 404


def test_nobody_deletes_themselves_or_the_last_admin(web, admin):
    accounts = web.services.accounts
    assert "Ask another admin" in text_of(admin.get("/admin/users/admin/delete"))
    refused = admin.post("/admin/users/admin/delete")
    assert refused.status_code == 409 and "You cannot delete your own account" in text_of(refused)
    with pytest.raises(ConflictError, match="the only admin who may log in"):
        accounts.delete(accounts.user_named("admin"))
    assert accounts.verify_password("admin", PASSWORD)


def test_only_admins_delete_users(web):
    bob = web.browser("bob")
    assert bob.get("/admin/users/ann/delete").status_code == 403
    assert bob.post("/admin/users/ann/delete").status_code == 403
    assert web.services.accounts.user_named("ann")


def test_openpais_route_deletes_a_user_and_no_admin(web):
    admin, bob = Client(web, "admin"), Client(web, "bob")
    assert bob.call("DELETE", "/api/v1/user", json={"username": "ann"}).status_code == 403
    refused = admin.call("DELETE", "/api/v1/user", json={"username": "admin"})
    assert (refused.status_code, refused.json["code"]) == (403, "RemoveAdminError")
    done = admin.call("DELETE", "/api/v1/user", json={"username": "ann"})
    assert (done.status_code, done.json) == (200, {"message": "remove successfully"})
    again = admin.call("DELETE", "/api/v1/user", json={"username": "ann"})
    assert (again.status_code, again.json["code"]) == (404, "NoUserError")
