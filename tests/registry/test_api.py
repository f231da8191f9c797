"""The HTTP API as a program uses it; each answer is held against the OpenAPI document."""
import re
import threading
from dataclasses import replace

import pytest

from registry import lock
from registry.github_worker import LOCK as GITHUB_LOCK
from registry.public_web import PublicWeb
from registry.views.api_docs import APIS
from registry.views.api_openapi import Access
from registry.views.services import EXTENSION
from tests.fakes.web_home import HELLO, PASSWORD, POINTS
from tests.registry.test_public_web import serving
from tests.registry.test_views_submit import PLAIN

JOB = "000000000001"


@pytest.fixture
def ann(web):
    return web.program("ann")


@pytest.fixture
def job(web, ann):
    assert ann.post("/jobs", {"yaml": PLAIN}).status_code == 201
    return web.runner.jobs[JOB]


USER_ROUTES = [operation for api in APIS for operation in api.operations
               if operation.access is Access.USER]


@pytest.mark.parametrize("route", USER_ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_nothing_is_looked_at_before_the_login(web, route):
    path = re.sub("<[^>]+>", "1", f"/api/v3{route.path}?nonsense=1")
    answer = web.app.test_client().open(path, method=route.method, json={"nonsense": 1})
    assert answer.status_code == 401 and answer.json["code"] == "Unauthorized"


# --- account -------------------------------------------------------------------------------------

def test_a_password_gives_a_token_that_works_until_it_is_revoked(web):
    visitor = web.program()
    answer = visitor.post("/token", {"username": "ann", "password": PASSWORD, "name": "laptop"})
    assert answer.status_code == 201 and answer.json["username"] == "ann"
    visitor.headers = {"Authorization": f"Bearer {answer.json['token']}"}
    assert visitor.get("/user").json == {"username": "ann", "is_admin": False}
    assert visitor.delete("/token").status_code == 204
    assert visitor.get("/user").status_code == 401


def test_a_wrong_password_gives_none_and_guessing_is_slowed_down(web):
    visitor = web.program()
    codes = [visitor.post("/token", {"username": "ann", "password": "no"}).status_code
             for _ in range(11)]
    assert codes == [401] * 10 + [429]


def test_pages_and_api_count_wrong_passwords_together(web):
    visitor, page = web.program(), web.browser()
    for _ in range(5):
        visitor.post("/token", {"username": "ann", "password": "no"})
        page.post("/login", username="ann", password="no")
    assert visitor.post("/token", {"username": "ann", "password": PASSWORD}).status_code == 429
    assert page.post("/login", username="ann", password=PASSWORD).status_code == 429


def test_a_password_is_changed_with_the_old_one(web, ann):
    answer = ann.put("/user/password", {"old_password": "no", "new_password": "another horse"})
    assert answer.status_code == 400 and answer.json["errors"][0]["path"] == "old_password"
    answer = ann.put("/user/password", {"old_password": PASSWORD, "new_password": "another horse"})
    assert answer.status_code == 204
    assert web.services.accounts.verify_password("ann", "another horse")


@pytest.mark.parametrize("header", [
    "Bearer wrong", "Bearer ", "Basic YTpi", "bearer", "Bearer \xe9"])
def test_a_wrong_token_is_refused_whatever_cookie_comes_with_it(web, header):
    answer = web.browser("ann").json("GET", "/api/v3/user", Authorization=header)
    assert answer.status_code == 401 and answer.json["code"] == "Unauthorized"


@pytest.mark.parametrize("method, path", [
    ("GET", "/user"), ("GET", "/jobs"), ("POST", "/jobs"), ("GET", "/sources"), ("GET", "/machine"),
    ("POST", "/resolve"), ("DELETE", "/sources/examples"), ("GET", "/jobs/1/log")])
def test_what_needs_a_login_says_how_to_log_in(web, method, path):
    body = {"yaml": PLAIN} if method == "POST" else None
    answer = web.program().call(method, path, json=body)
    assert answer.status_code == 401 and "paishare login" in answer.json["message"]


def test_a_page_may_write_with_its_cookie_only_with_the_forms_token(web):
    browser = web.browser("ann")
    assert browser.json("POST", "/api/v3/jobs", {"yaml": PLAIN}).status_code == 400
    assert web.runner.jobs == {}
    answer = browser.json("POST", "/api/v3/jobs", {"yaml": PLAIN},
                          **{"X-CSRFToken": browser.token()})
    assert answer.status_code == 201


# --- components ----------------------------------------------------------------------------------

def test_a_search_lists_hits_with_facets(web):
    found = web.program().get("/components", q="hello").json
    assert (found["total"], found["facets"]["type"]) == (1, [{"value": "job", "count": 1}])
    assert found["components"][0]["reference"] == "job/hello@1.1.0"


def test_a_search_is_filtered_by_types_and_paged(web):
    visitor = web.program()
    assert visitor.get("/components", type=["data", "script"]).json["total"] == 1
    page = visitor.get("/components", page=2, page_size=1).json
    assert (page["total"], page["page"], len(page["components"])) == (2, 2, 1)


@pytest.mark.parametrize("query, path", [
    ({"page": "0"}, "page"), ({"page_size": 101}, "page_size"), ({"type": "x"}, "type[0]"),
    ({"q": "x" * 1001}, "q"),
    ({"q": "a )"}, "q"), ({"sort": "x"}, "sort"), ({"nope": "1"}, "nope"), ({"page": "x"}, "page")])
def test_a_wrong_query_says_which_part(web, query, path):
    answer = web.program().get("/components", **query)
    assert answer.status_code == 400 and answer.json["errors"][0]["path"] == path


def test_a_query_that_cannot_be_read_is_answered_with_its_place(web):
    answer = web.program().get("/components", q='hello "two words')
    assert (answer.status_code, answer.json["code"]) == (400, "InvalidQuery")
    assert (answer.json["errors"][0]["line"], answer.json["errors"][0]["column"]) == (1, 7)


def test_a_hit_says_what_to_mark_in_it(web):
    hit, = web.program().get("/components", q="hello").json["components"]
    assert hit["highlights"] == {"name": [[0, 5]], "description": [[7, 12]]}


def test_names_are_completed_from_the_first_letters(web):
    visitor = web.program()
    assert visitor.get("/complete", q="he").json == {
        "completions": [{"type": "job", "name": "hello"}], "filters": []}
    assert visitor.get("/complete", q="type:data he").json["completions"] == []
    assert visitor.get("/complete", q='"he').json["completions"] == []


@pytest.mark.parametrize("text, queries", [
    ("hello ty", ["hello type:"]), ("type:d", ["type:data", "type:dockerimage"]),
    ("hello -type:j", ["hello -type:job"]), ("versions:", ["versions:all"]),
    ("by:a", ["by:Ann"]), ('hello by:"A', ["hello by:Ann"]), ("tag:", []), ("nope:x", []),
    ("t", []), ("http://h", []), ("type:job image:", ["type:job image:busybox:1"])])
def test_fields_and_their_values_are_completed(web, text, queries):
    found = web.program().get("/complete", q=text).json["filters"]
    assert [each["query"] for each in found] == queries


def test_a_component_is_shown_whole(web):
    found = web.program().get("/components/job/hello").json
    assert found["text"] == HELLO.replace("1.0.0\ncon", "1.1.0\ncon")
    assert found["document"]["parameters"]["lr"] == 0.1
    assert [each["version"] for each in found["versions"]] == ["1.1.0", "1.0.0"]
    assert found["prerequisites"] == [
        {"name": "busybox", "type": "dockerimage", "reference": None, "problem": None},
        {"name": "points", "type": "data", "reference": "data/points@1.0.0", "problem": None}]


def test_a_version_is_named_by_number_or_commit(web):
    visitor = web.program()
    old = visitor.get("/components/job/hello", version="1.0.0").json
    assert old["version"] == "1.0.0" and not old["is_latest"]
    assert visitor.get("/components/job/hello", version=old["commit"][:8]).json["id"] == old["id"]
    assert len(visitor.get("/components/job/hello/versions").json["versions"]) == 2


def test_an_unknown_component_names_the_nearest(web):
    answer = web.program().get("/components/job/helo")
    assert answer.status_code == 404 and answer.json["nearest"] == ["job/hello"]
    versions = web.program().get("/components/job/helo/versions")
    assert versions.status_code == 404 and versions.json["nearest"] == ["job/hello"]


def test_a_text_is_checked_without_a_login(web):
    visitor = web.program()
    good = visitor.post("/validate", {"yaml": HELLO}).json
    assert good["component"]["reference"] == "job/hello@1.0.0" and good["errors"] == []
    bad = visitor.post("/validate", {"yaml": HELLO.replace("cpu: 1", "cpu: 0")}).json
    assert bad["component"] is None
    assert bad["errors"][0]["path"] == "tasks[0].resource.resourcePerInstance.cpu"
    assert bad["errors"][0]["line"] == HELLO[:HELLO.index("cpu: 1")].count("\n") + 1


# --- jobs ----------------------------------------------------------------------------------------

def test_a_job_is_told_what_it_would_find_without_running(web, ann):
    web.runner.outlook["supplies"] = [{"kind": "image", "uri": "busybox:1", "missing": None}]
    found = ann.post("/outlook", {"reference": "job/hello"})
    assert found.status_code == 200 and found.json["free"]["cpus"] == 6
    assert found.json["supplies"][0]["uri"] == "busybox:1" and web.runner.jobs == {}
    web.runner.close()
    assert ann.post("/outlook", {"reference": "job/hello"}).status_code == 503


def test_a_job_comes_from_the_web_in_our_form(web, ann):
    with serving() as server:
        url = f"http://127.0.0.1:{server.server_port}"
        web.app.extensions[EXTENSION] = replace(web.services, web=PublicWeb([url]))
        assert ann.post("/fetch", {"address": f"{url}/job.yaml"}).json == {
            "form": None, "yaml": "type: job\n", "notes": []}
        made = ann.post("/fetch", {"address": f"{url}/v1.json"}).json
        assert "v1" in made["form"] and "echo v1" in made["yaml"]
        refused = ann.post("/fetch", {"address": f"{url}/none"})
    assert refused.status_code == 400 and "no such file for everybody" in refused.json["message"]
    assert "begin with https://" in ann.post(
        "/fetch", {"address": "http://169.254.169.254/"}).json["message"]


def test_a_job_is_resolved_without_running(web, ann):
    found = ann.post("/resolve", {"reference": "job/hello", "parameters": {"epochs": "9"}}).json
    assert found["spec"]["task_roles"][0]["commands"] == ["echo 9 0.1 true a text"]
    assert found["fit"]["fit"] == "now" and web.runner.jobs == {}
    web.runner.close()
    assert ann.post("/resolve", {"reference": "job/hello"}).json["fit"] is None


def test_a_job_of_the_marketplace_runs_under_a_name_of_ones_own(web, ann):
    job = ann.post("/jobs", {"reference": "job/hello@1.0.0", "name": "mine"}).json
    assert (job["name"], job["user"], job["state"]) == ("mine", "ann", "WAITING")
    assert job["url"] == f"http://localhost/jobs/{job['id']}"
    assert job["spec"]["origin"]["source"] == "examples"


def test_a_key_makes_one_job_for_one_user(web, ann):
    key = {"Idempotency-Key": "mine"}
    first = ann.post("/jobs", {"yaml": PLAIN}, **key).json["id"]
    assert ann.post("/jobs", {"yaml": PLAIN}, **key).json["id"] == first
    other = web.program("bob").post("/jobs", {"yaml": PLAIN}, **key)
    assert other.json["id"] != first and other.json["user"] == "bob"


@pytest.mark.parametrize("body, text", [
    ({}, "nothing to run"), ({"yaml": POINTS}, "Only jobs"), ({"reference": "data/points"}, "Only"),
    ({"yaml": PLAIN, "parameters": {"x": 1}}, "no parameter `x`"), ({"yaml": 5}, "yaml"),
    ({"yaml": PLAIN, "name": "a b"}, "cannot be the name"), ([], "body"), ({"nope": 1}, "nope")])
def test_a_job_that_cannot_be_is_refused_with_the_reason(web, ann, body, text):
    answer = ann.post("/jobs", body)
    assert answer.status_code == 400 and text in answer.text and web.runner.jobs == {}


@pytest.mark.parametrize("body, media", [
    (b"{", "application/json"), (b"yaml=x", "application/x-www-form-urlencoded"), (b"", None)])
def test_a_body_that_is_no_json_is_refused(ann, body, media):
    answer = ann._client.post("/api/v3/jobs", data=body, content_type=media, headers=ann.headers)
    assert answer.status_code in (400, 415) and answer.json["code"]


def test_jobs_are_listed_by_state_and_page(web, ann, job):
    ann.post("/jobs", {"yaml": PLAIN})
    page = ann.get("/jobs", limit=1).json
    assert [each["id"] for each in page["jobs"]] == ["000000000002"]
    assert ann.get("/jobs", before=page["next"]).json["jobs"][0]["id"] == JOB
    assert ann.get("/jobs", state="FAILED").json == {"jobs": [], "next": None}
    assert web.program("admin").get("/jobs", all="true").json["jobs"][0]["user"] == "ann"
    assert web.program("bob").get("/jobs", all="true").status_code == 403


def test_a_job_is_shown_and_stopped(web, ann, job):
    web.runner.start(JOB)
    assert ann.get(f"/jobs/{JOB}").json["attempts"][0]["tasks"][0]["ip"] == "127.0.0.1"
    assert ann.post(f"/jobs/{JOB}/stop").status_code == 202 and job["stop_requested"]


def test_a_log_is_read_from_the_first_task_where_none_is_named(web, ann, job):
    assert ann.get(f"/jobs/{JOB}/log").json["is_complete"] is False
    web.runner.start(JOB)
    web.runner.write(JOB, "one\n")
    page = ann.get(f"/jobs/{JOB}/log").json
    assert (page["role"], page["attempt"], page["records"][0]["text"]) == ("main", 1, "one\n")
    web.runner.write(JOB, "two\n", "stderr")
    more = ann.get(f"/jobs/{JOB}/log", offset=page["offset"], wait_s=1).json
    assert [each["text"] for each in more["records"]] == ["two\n"]
    assert ann.get(f"/jobs/{JOB}/log/raw", stream="stderr").text == "two\n"


def test_a_job_that_never_started_has_a_complete_log_of_nothing(web, ann, job):
    web.runner.end(JOB, "FAILED", "No machine here has a GPU.")
    assert ann.get(f"/jobs/{JOB}/log").json["is_complete"]
    assert ann.get(f"/jobs/{JOB}/log/raw").text == ""


@pytest.mark.parametrize("query", [
    {"role": "other"}, {"index": 1}, {"attempt": 5}, {"role": ".."}])
def test_a_task_that_is_not_there_names_those_that_are(web, ann, job, query):
    web.runner.start(JOB)
    answer = ann.get(f"/jobs/{JOB}/log", **query)
    assert answer.status_code == 404 and "main-0" in answer.json["message"]


def test_artifacts_are_listed_with_the_way_to_them(web, ann, job):
    web.runner.start(JOB)
    web.runner.leave(JOB, "a b/é#?.bin", b"\0\1")
    item = ann.get(f"/jobs/{JOB}/artifacts").json["artifacts"][0]
    assert (item["path"], item["size"]) == ("a b/é#?.bin", 2)
    assert ann.get(item["url"].removeprefix("/api/v3")).data == b"\0\1"


def test_with_the_runner_down_the_api_says_so(web, ann):
    web.runner.close()
    for answer in (ann.get("/jobs"), ann.post("/jobs", {"yaml": PLAIN}), ann.get("/machine")):
        assert answer.status_code == 503 and answer.json["code"] == "RunnerUnavailable"
    assert ann.get("/health").json["runner"] is False


# --- sources -------------------------------------------------------------------------------------

def test_sources_are_listed_with_their_state(ann):
    source = ann.get("/sources").json["sources"][0]
    assert (source["name"], source["owner"], source["components"], source["problems"]) == (
        "examples", "ann", 2, 1)
    assert source["synced_at"].endswith("Z") and source["sync_error"] is None
    status = ann.get("/sources/examples/status").json
    assert status | source == status
    assert (status["state"], status["warnings"], status["progress"]) == ("ok", 0, None)


def test_a_source_is_added_synced_and_removed_by_an_admin(web, tmp_path):
    admin = web.program("admin")
    (tmp_path / "plain" / "data").mkdir(parents=True)
    (tmp_path / "plain" / "data" / "x.yaml").write_text(POINTS.replace("points", "x"))
    made = admin.post("/sources", {"location": str(tmp_path / "plain"), "name": "mine"})
    assert made.status_code == 201 and made.json["name"] == "mine"
    web.sync()
    assert admin.get("/components/data/x").status_code == 200
    assert admin.post("/sources/mine/sync").status_code == 202
    assert admin.delete("/sources/mine").status_code == 204
    assert admin.delete("/sources/mine").status_code == 404


def test_who_sees_a_source_reads_its_problems_and_only_its_owner_or_an_admin_removes_it(web, ann):
    found = web.program("bob").get("/sources/examples/problems").json["problems"]
    assert found[0]["path"] == "job/broken.yaml" and found[0]["errors"][0]["line"] == 3
    assert web.program("bob").delete("/sources/examples").status_code == 403
    assert ann.post("/sources", {"location": "/tmp"}).status_code == 403


@pytest.mark.parametrize("location", ["relative", "/nothing/there", "\0"])
def test_a_place_that_cannot_be_a_source_is_refused(web, location):
    assert web.program("admin").post("/sources", {"location": location}).status_code == 400


def test_only_an_admin_pauses_the_queue_and_everybody_sees_it(web, ann):
    assert ann.post("/queue/pause", {"reason": "disks"}).status_code == 403
    admin = web.program("admin")
    assert admin.post("/queue/pause", {"reason": "disks"}).json["paused"] == "disks"
    assert ann.get("/queue").json == {"paused": "disks", "waiting": 0, "running": 0}
    assert ann.post("/queue/resume").status_code == 403
    assert admin.post("/queue/resume").json["paused"] is None


def test_health_and_machine_tell_what_there_is(web, ann):
    with lock.alone(web.home / GITHUB_LOCK, threading.Event()):  # as its process holds it
        health = web.program().get("/health").json
    assert (health["status"], health["web"], health["runner"], health["github"]) == (
        "ok", True, True, True)
    assert health["sync"]["last"].endswith("Z")
    assert ann.get("/machine").json["free"]["cpus"] == 6


def test_without_the_process_that_speaks_to_github_the_server_is_degraded(web):
    health = web.program().get("/health").json
    assert (health["status"], health["runner"], health["github"]) == ("degraded", True, False)
