"""OpenPAI's API of jobs, tokens, users and virtual clusters, as its clients use it."""
import pytest

from tests.fakes.web_home import PASSWORD
from tests.registry.test_conversion import PROTOCOL_2

JOB = {"jobName": "hello", "image": "localhost/x:1", "taskRoles": [
    {"name": "main", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0,
     "command": "echo hello", "portList": [{"label": "web", "beginAt": 0, "portNumber": 2}]}]}


class Client:
    def __init__(self, web, user=None, prefix=""):
        self._client = web.app.test_client(use_cookies=False)
        self._prefix = prefix
        self.headers = {}
        if user:
            answer = self.post("/api/v1/token", data={"username": user, "password": PASSWORD})
            assert answer.json["user"] == user
            self.headers = {"Authorization": f"Bearer {answer.json['token']}"}

    def call(self, method, path, **rest):
        headers = {**self.headers, **rest.pop("headers", {})}
        return self._client.open(f"{self._prefix}{path}", method=method, headers=headers, **rest)

    def get(self, path, **rest):
        return self.call("GET", path, **rest)

    def post(self, path, **rest):
        return self.call("POST", path, **rest)

    def put(self, path, **rest):
        return self.call("PUT", path, **rest)


@pytest.fixture(params=["", "/rest-server"])
def ann(web, request):
    return Client(web, "ann", request.param)


def test_a_wrong_password_and_a_missing_one_are_told_in_their_words(web):
    visitor = Client(web)
    answer = visitor.post("/api/v1/token", json={"username": "ann", "password": "wrong"})
    assert (answer.status_code, answer.json["code"]) == (400, "IncorrectPasswordError")
    answer = visitor.post("/api/v1/token", json={"username": "ann"})
    assert answer.json == {"code": "InvalidParametersError",
                           "message": 'child "password" fails because ["password" is required]'}
    assert visitor.get("/api/v1/jobs").json["code"] == "UnauthorizedUserError"


def test_a_v1_job_is_submitted_listed_shown_and_stopped(web, ann):
    answer = ann.post("/api/v1/user/ann/jobs", json=JOB)
    assert answer.status_code == 201 and answer.headers["Location"].endswith(
        "/api/v1/user/ann/jobs/hello")
    web.runner.start("000000000001")
    row, = ann.get("/api/v1/jobs").json
    assert (row["name"], row["username"], row["state"], row["subState"]) == (
        "hello", "ann", "RUNNING", "APPLICATION_RUNNING")
    shown = ann.get("/api/v1/user/ann/jobs/hello").json
    assert shown["jobStatus"]["name"] == "ann~hello"
    task, = shown["taskRoles"]["main"]["taskStatuses"]
    assert (task["taskIndex"], task["taskState"], task["containerPorts"]) == (
        0, "RUNNING", {"web": "20000,20001"})
    stopped = ann.put("/api/v1/jobs/ann~hello/executionType", json={"value": "STOP"})
    assert stopped.status_code == 202
    assert web.runner.jobs["000000000001"]["stop_requested"]
    assert ann.get("/api/v1/jobs/ann~hello").json["jobStatus"]["executionType"] == "STOP"


def test_a_form_with_nested_names_is_the_same_job(web, ann):
    form = {"jobName": "hello", "image": "localhost/x:1", "taskRoles[0][name]": "main",
            "taskRoles[0][cpuNumber]": "2", "taskRoles[0][memoryMB]": "300",
            "taskRoles[0][command]": "echo hello"}
    assert ann.post("/api/v1/jobs", data=form).status_code == 201
    role, = web.runner.jobs["000000000001"]["spec"]["task_roles"]
    assert role["commands"] == ["echo hello"] and role["resources"]["cpu"] == 2


def test_the_config_comes_back_as_it_was_sent(ann):
    ann.post("/api/v1/jobs", json=JOB)
    assert ann.get("/api/v1/jobs/hello/config").json == JOB
    ann.post("/api/v2/jobs", data=PROTOCOL_2, headers={"Content-Type": "text/yaml"})
    answer = ann.get("/api/v2/jobs/ann~train/config", headers={"Accept": "text/yaml"})
    assert answer.mimetype == "text/yaml" and "taskRoles:" in answer.text


def test_a_name_is_taken_once_and_the_address_names_the_job(web, ann):
    assert ann.put("/api/v2/jobs/other", json={**JOB}).status_code == 201
    assert web.runner.jobs["000000000001"]["name"] == "other"
    answer = ann.put("/api/v2/jobs/other", json={**JOB})
    assert (answer.status_code, answer.json["code"]) == (409, "ConflictJobError")


def test_a_template_of_their_own_form_runs_too(web, ann):
    template = {"name": "t", "type": "job", "prerequisites": [
        {"name": "x", "type": "dockerimage", "uri": "localhost/x:1"}], "tasks": [
        {"role": "main", "dockerimage": "x", "instances": 1, "cpu": 1, "memoryMB": 100, "gpu": 0,
         "command": ["true"]}]}
    assert ann.post("/api/v2/jobs", json=template).status_code == 201


@pytest.mark.parametrize("change, message", [
    ({"storageGB": 5}, '"storageGB" is not allowed'),
    ({"jobName": "a~b"}, '"jobName" is required'),
    ({"taskRoles": []}, "does not contain 1"),
    ({"taskRoles": [{"name": "x", "command": "true", "cpuNumber": "two"}]}, "must be a number")])
def test_what_their_server_refused_is_refused(ann, change, message):
    answer = ann.post("/api/v1/jobs", json={**JOB, **change})
    assert answer.status_code == 400 and answer.json["code"] == "InvalidParametersError"
    assert message in answer.json["message"]


def test_jobs_of_others_are_as_if_there_were_none(web, ann):
    ann.post("/api/v1/jobs", json=JOB)
    bob = Client(web, "bob")
    for path in ("/api/v1/user/ann/jobs/hello", "/api/v1/jobs/ann~hello/config",
                 "/api/v1/user/ann/jobs/none"):
        answer = bob.get(path)
        assert (answer.status_code, answer.json["code"]) == (404, "NoJobError")
    assert bob.get("/api/v1/jobs").json == []
    assert bob.get("/api/v1/user/ann/jobs").json["code"] == "ForbiddenUserError"
    assert bob.post("/api/v1/user/ann/jobs", json=JOB).status_code == 403


def test_users_are_for_admins_and_oneself(web):
    ann, admin = Client(web, "ann"), Client(web, "admin")
    assert ann.get("/api/v1/user/ann").json["admin"] == "false"
    assert ann.get("/api/v1/user").status_code == ann.get("/api/v1/user/bob").status_code == 403
    made = admin.put("/api/v1/user", json={"username": "eve", "password": "long enough",
                                           "admin": False, "modify": False})
    assert made.status_code == 201 and made.json == {"message": "update successfully"}
    assert [user["username"] for user in admin.get("/api/v1/user").json] == [
        "admin", "ann", "bob", "eve"]
    again = admin.put("/api/v1/user", json={"username": "eve", "password": "long enough",
                                            "modify": False})
    assert (again.status_code, again.json["code"]) == (409, "ConflictUserError")
    assert ann.put("/api/v1/user", json={"username": "ann", "password": "long enough",
                                         "modify": True}).status_code == 403
    assert admin.get("/api/v1/user/nobody").json["code"] == "NoUserError"


def test_virtual_clusters_are_shown_and_set_by_the_operator_alone(web, ann):
    ann.post("/api/v1/jobs", json=JOB)
    assert ann.get("/api/v1/virtual-clusters/none").json["code"] == "NoVirtualClusterError"
    found = ann.get("/api/v1/virtual-clusters").json["default"]
    assert (found["status"], found["numJobs"], found["numPendingJobs"]) == ("RUNNING", 1, 1)
    assert found["resourcesUsed"] == {"memory": 0, "vCores": 3, "GPUs": 0}
    admin = Client(web, "admin")
    assert admin.put("/api/v1/virtual-clusters/x", json={"vcCapacity": 1}).status_code == 403
