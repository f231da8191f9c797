"""OpenPAI's template API as its clients use it: shapes, statuses, and real files."""
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.web_home import HELLO, POINTS, write_repository
from tests.registry.test_dialects import JOB

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("PAISHARE_SHARED", ROOT.parent / "shared"))
REAL = sorted((SHARED / "data/openpai/marketplace").rglob("*.yaml"))
DATA = {"name": "digits", "type": "data", "version": "1.0.0", "contributor": "Bo",
        "description": "Ten digits.", "uri": "https://example.org/digits.npz"}


class Client:
    """A program with a token of `user`; None: without one."""

    def __init__(self, web, user=None, prefix="/api/v2"):
        accounts = web.services.accounts
        self._client = web.app.test_client(use_cookies=False)
        self._prefix = prefix
        self.headers = {}
        if user:
            token = accounts.create_token(accounts.user_named(user), "test")
            self.headers = {"Authorization": f"bearer {token}"}

    def get(self, path, **query):
        return self._client.get(f"{self._prefix}{path}", query_string=query or None,
                                headers=self.headers)

    def post(self, path="/template", **how):
        return self._client.post(f"{self._prefix}{path}", headers=self.headers, **how)


@pytest.fixture(params=["/api/v2", "/rest-server/api/v2"])
def client(web, request):
    return Client(web, prefix=request.param)


@pytest.fixture
def ann(web):
    return Client(web, "ann")


def test_a_search_gives_pages_of_five(client):
    answer = client.get("/template", query="hello")
    assert answer.status_code == 200 and answer.headers["Access-Control-Allow-Origin"] == "*"
    page = answer.json
    assert {key: page[key] for key in page if key != "items"} == {
        "totalCount": 1, "pageNo": 1, "pageSize": 5}
    item, = page["items"]
    assert re.fullmatch("[0-9a-f]{40}", item.pop("version")) and item.pop("score") >= 0
    assert item == {"type": "job", "name": "hello", "contributor": "Ann",
                    "description": "Says **hello** to `points`.\n"}


def test_pages_follow_each_other_and_say_their_number_as_it_was_given(web, ann):
    for number in range(7):
        answer = ann.post(json={**DATA, "name": f"digits{number}"})
        assert answer.status_code == 201
    web.sync()
    pages = [ann.get("/template/data", pageno=str(number)).json for number in (1, 2, 3)]
    assert [(page["pageNo"], page["totalCount"], len(page["items"])) for page in pages] == [
        ("1", 8, 5), ("2", 8, 3), ("3", 8, 0)]
    names = [item["name"] for page in pages for item in page["items"]]
    assert sorted(names) == sorted(["points", *(f"digits{number}" for number in range(7))])
    assert pages[0] == ann.get("/template/data", pageno="1").json


@pytest.mark.parametrize("path, message", [
    ("/template", 'Failed to extract "query" parameter in the request.'),
    ("/template?query=", 'Failed to extract "query" parameter in the request.'),
    ("/template?query=x&type=storage", "Found illegal type value in the request."),
    ("/template/storage", "Found illegal type value in the request."),
    ("/template/storage/x", "Found illegal type value in the request."),
    ("/template?query=x&pageno=0", "Found illegal pageno value in the request."),
    ("/template/job?pageno=1e3", "Found illegal pageno value in the request.")])
def test_a_wrong_request_is_answered_in_their_words(client, path, message):
    answer = client.get(path)
    assert answer.status_code == 400
    assert answer.json == {"code": "InvalidParametersError", "message": message}


def test_what_is_not_there_is_said_in_their_shape(client):
    for path in ("/template/job/nothing", "/template/job/hello?version=9.9.9"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.json == {"code": "NoTemplateError",
                               "message": "Failed to find any matched template."}
    answer = client.get("/nonsense")
    assert answer.status_code == 404 and answer.json == {
        "code": "NoApiError", "message": "API /api/v2/nonsense is not found."}


def test_a_template_is_the_document_with_its_own_version(client):
    answer = client.get("/template/job/hello")
    assert answer.json == {"protocol_version": "v2", **yaml.safe_load(
        HELLO.replace("1.0.0\ncon", "1.1.0\ncon"))} | {"prerequisites": [
            {"name": "busybox", "type": "dockerimage", "version": "1.0.0", "uri": "busybox:1"},
            {"protocol_version": "v2", "type": "data", "name": "points", "version": "1.0.0",
             "contributor": "Ann", "description": "Three points.", "uri": "../files/points.csv"}]}


@pytest.mark.parametrize("wanted, found", [
    ("1.0.0", "1.0.0"), ("^1.0", "1.1.0"), ("master", "1.1.0"), ("latest", "1.1.0"),
    ("", "1.1.0"), ("~1.0.0", "1.0.0")])
def test_the_version_that_is_asked_for_is_given(client, wanted, found):
    assert client.get("/template/job/hello", version=wanted).json["version"] == found


def test_the_version_of_a_list_gives_just_that_template(web, ann):
    item, = ann.get("/template", query="hello").json["items"]
    answer = ann.get("/template/job/hello", version=item["version"])
    assert answer.headers["X-Template-Commit"] == item["version"]
    assert answer.json["version"] == "1.1.0"


def test_a_list_has_also_what_has_no_latest_version_yet(web, ann):
    commit = ann.post(json={**DATA, "version": "1.0.0-rc.1"}).json["version"]
    web.sync()
    item, = ann.get("/template", query="digits").json["items"]
    assert item["version"] == commit
    assert ann.get("/template/data/digits", version=commit).json["version"] == "1.0.0-rc.1"
    assert ann.get("/template/data/digits").status_code == 404


def test_what_went_since_the_index_was_made_is_left_out(web, ann):
    web.services.sources.remove("examples")
    assert ann.get("/template", query="hello").json["items"] == []


def test_a_name_that_several_sources_have_is_told_apart(web, tmp_path):
    write_repository(tmp_path / "more", {"data/points.yaml": POINTS.replace("Three", "Four")})
    web.services.sources.add_folder(str(tmp_path / "more"), name="more", owner_id=None)
    web.sync()
    client = Client(web)
    answer = client.get("/template/data/points")
    assert answer.status_code == 409 and answer.json["code"] == "ConflictTemplateError"
    assert client.get("/template/data/points", source="more").json["description"] == "Four points."


# --- publish -------------------------------------------------------------------------------------

def test_publishing_creates_then_updates_and_never_overwrites(web, ann):
    created = ann.post(json=DATA)
    assert created.status_code == 201
    assert {**created.json, "version": ""} == {
        "type": "data", "name": "digits", "version": "", "contributor": "ann"}
    updated = ann.post(json={**DATA, "version": "1.1.0"})
    assert updated.status_code == 200 and updated.json["version"] != created.json["version"]
    refused = ann.post(json={**DATA, "description": "Other."})
    assert refused.status_code == 409 and refused.json["code"] == "ConflictTemplateError"
    assert "Write a higher `version:`" in refused.json["message"]
    web.sync()
    assert ann.get("/template/data/digits").json == {
        "protocol_version": "v2", **DATA, "version": "1.1.0"}
    assert ann.get("/template/data/digits",
                   version=created.json["version"]).json["version"] == "1.0.0"


def test_a_name_of_another_source_is_not_taken(ann):
    answer = ann.post(json={**DATA, "name": "points"})
    assert answer.status_code == 409 and "in the source examples already" in answer.json["message"]


def test_publishing_needs_a_login(web):
    answer = Client(web).post(json=DATA)
    assert answer.status_code == 401 and answer.json["code"] == "UnauthorizedUserError"


@pytest.mark.parametrize("how, message", [
    ({"json": []}, "Failed to parse template content"), ({}, "Failed to parse template content"),
    ({"data": "{", "content_type": "application/json"}, "Failed to parse template content"),
    ({"json": {**DATA, "type": "x"}}, "must be one of"),
    ({"json": {key: value for key, value in DATA.items() if key != "version"}}, "version"),
    ({"json": {**DATA, "name": "../x"}}, "name"),
    ({"data": "a: [", "content_type": "text/yaml"}, "")])
def test_what_is_no_template_is_refused_in_their_shape(ann, how, message):
    answer = ann.post(**how)
    assert answer.status_code == 400 and answer.json["code"] == "InvalidParametersError"
    assert message in answer.json["message"] and set(answer.json) == {"code", "message"}


def test_a_job_as_the_portal_sends_it_as_json_and_as_a_form(web, ann):
    fields = {"name": "from_form", "type": "job", "contributor": "ann", "retryCount": "0",
              "version": "1.0.0",
              "tasks[0][role]": "main", "tasks[0][dockerimage]": "busybox",
              "tasks[0][instances]": "1", "tasks[0][cpu]": "1", "tasks[0][memoryMB]": "100",
              "tasks[0][gpu]": "0", "tasks[0][command][0]": "echo",
              "prerequisites[0][name]": "busybox", "prerequisites[0][type]": "dockerimage",
              "prerequisites[0][uri]": "busybox:1", "parameters[0][name]": "lr",
              "parameters[0][value]": "0.1"}
    answers = [ann.post(json=JOB), ann.post(data=fields)]
    assert [answer.status_code for answer in answers] == [201, 201], answers[1].json
    web.sync()
    found = ann.get("/template/job/from_form").json
    assert found["parameters"] == {"lr": "0.1"} and found["retryCount"] == 0
    assert found["tasks"][0]["resource"]["resourcePerInstance"]["cpu"] == 1


def test_yaml_is_published_byte_by_byte(web, ann):
    text = "# mine\n" + HELLO.replace("name: hello", "name: greeting")
    assert ann.post(data=text, content_type="text/yaml").status_code == 201
    web.sync()
    assert web.services.catalog.get("job/greeting").text == text


def test_a_browser_of_another_page_may_ask_first(web):
    answer = web.app.test_client().options("/api/v2/template")
    assert answer.status_code == 200
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]


@pytest.mark.skipif(not REAL, reason=f"the real files are not in {SHARED}")
def test_the_real_templates_come_back_as_they_are(web, ann):
    assert len(REAL) == 24
    for path in REAL:
        answer = ann.post(data=path.read_bytes(), content_type="text/yaml")
        assert answer.status_code == 201, (path, answer.json)
    web.sync()
    for path in REAL:
        document = yaml.load(path.read_text(), yaml.BaseLoader)
        found = ann.get(f"/template/{path.parent.name}/{document['name']}").json
        assert found["version"] == document["version"]
        assert found.get("uri") == document.get("uri")
        assert found["contributor"] == document["contributor"]
        if path.parent.name == "job":
            assert [item["name"] for item in found["prerequisites"]] == [
                item["name"] for item in document["prerequisites"]]
    assert ann.get("/template/job").json["totalCount"] == 11
    assert ann.get("/template", query="cifar10").json["totalCount"] >= 2


@pytest.mark.skipif(not REAL, reason=f"the real files are not in {SHARED}")
def test_the_real_templates_can_be_sent_as_json_too(web, ann):
    for path in REAL:
        body = yaml.safe_load(path.read_text())
        assert ann.post(json=body).status_code == 201, path


TEXTS = st.text(max_size=12) | st.sampled_from(["hello", "job", "1.0.0", "^1", "a\0b", "%", "..",
                                               '"', "(", "gpu:<", "\ud800", "0" * 40])


@settings(deadline=None, max_examples=150, suppress_health_check=[
    HealthCheck.function_scoped_fixture])
@given(kind=TEXTS, name=TEXTS, query=TEXTS, version=TEXTS, pageno=TEXTS)
def test_whatever_is_asked_the_server_answers_in_its_shape(web, kind, name, query, version, pageno):
    client = Client(web)
    for path in ("/template", f"/template/{quote(kind, safe='', errors='replace')}",
                 f"/template/job/{quote(name, safe='', errors='replace')}"):
        answer = client.get(path, query=query.encode("utf-8", "replace"),
                            type=kind.encode("utf-8", "replace"),
                            version=version.encode("utf-8", "replace"),
                            pageno=pageno.encode("utf-8", "replace"))
        assert answer.status_code < 500
        if answer.status_code >= 400:
            assert set(answer.json) == {"code", "message"} and answer.json["message"]
