"""A job that takes something from a private repository is its submitter's, whoever else asks."""
from datetime import UTC, datetime

import pytest

from registry.db import github_tokens, repo_access, sources
from registry.sources import Sources

ROUTES = ("", "/log", "/log/raw", "/log/search", "/metrics", "/receipt", "/artifacts",
          "/artifacts/1/main/0/x.txt")


@pytest.fixture
def job(web):
    """Its id; the only source is a private repository now, which ann's token reads."""
    now = datetime.now(UTC).replace(tzinfo=None)
    ann = web.services.accounts.user_named("ann").id
    with web.engine.begin() as connection:
        connection.execute(sources.update().values(
            kind="github", location="acme/hidden", repo_id=5, is_private=True))
        connection.execute(github_tokens.insert().values(
            user_id=ann, sealed=b"", key_id="x", login="ann", github_id=1, kind="classic",
            last_four="abcd", verified_at=now))
        connection.execute(repo_access.insert().values(
            user_id=ann, repo_id=5, level="read", checked_at=now))
    return web.program("ann").post("/jobs", {"reference": "job/hello"}).json["id"]


def test_the_submitter_sees_all_of_it(web, job):
    ann = web.program("ann")
    assert "Says **hello**" in ann.get(f"/jobs/{job}").json["spec"]["yaml"]
    assert [each["name"] for each in ann.get("/jobs").json["jobs"]] == ["hello"]


def test_an_admin_sees_that_it_is_there_and_stops_it(web, job):
    admin = web.program("admin")
    for route in ROUTES:
        answer = admin.get(f"/jobs/{job}{route}", **({"text": "a"} if "search" in route else {}))
        assert answer.status_code == 404 and "hello" not in answer.text, route
    assert "shown to ann alone" in admin.get(f"/jobs/{job}").json["message"]
    listed, = admin.get("/jobs", all="true").json["jobs"]
    assert (listed["name"], listed["user"], listed["id"]) == ("(private)", "ann", job)
    page = web.browser("admin").get("/jobs?all=1").text
    assert job in page and "hello" not in page
    other = web.app.test_client().get("/api/v1/jobs", headers=admin.headers)
    assert other.status_code == 200 and "hello" not in other.text
    stopped = admin.post(f"/jobs/{job}/stop")
    assert stopped.status_code == 202 and "hello" not in stopped.text


def test_it_stays_closed_once_its_source_is_removed(web, job):
    Sources(web.engine).remove("examples")
    assert web.program("admin").get(f"/jobs/{job}").status_code == 404
    assert web.program("ann").get(f"/jobs/{job}").status_code == 200


def test_it_opens_where_the_repository_is_public_by_now(web, job):
    with web.engine.begin() as connection:
        connection.execute(sources.update().values(is_private=False))
    assert web.program("admin").get(f"/jobs/{job}").json["name"] == "hello"


def test_a_job_of_public_components_is_open_to_an_admin_as_ever(web):
    made = web.program("ann").post("/jobs", {"reference": "job/hello"}).json["id"]
    assert web.program("admin").get(f"/jobs/{made}").json["name"] == "hello"
