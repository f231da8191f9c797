"""Jobs of OpenPAI's other forms: known by their looks, shown in ours, and run."""
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.component import load_yaml, parse
from registry.conversion import convert
from registry.errors import ComponentError, InvalidInputError
from runner.spec import Login
from tests.registry.test_views_marketplace import text_of

SHARED = Path(__file__).parents[3] / "shared/data/openpai"
THEIRS = [*sorted(SHARED.glob("jobs-v1/*.json")), *sorted(SHARED.glob("protocol-v2/*.yaml"))]
V1 = """{
  // a comment, and a comma too many
  "jobName": "hello world", "image": "localhost/x:1", "gpuType": "V100", "retryCount": 2,
  "codeDir": "https://example.org/code.git", "dataDir": "$PAI_DEFAULT_FS_URI/data",
  "jobEnvs": {"RATE": "0.1 $HOME", "isDebug": true},
  "taskRoles": [{
    "name": "main", "taskNumber": 2, "cpuNumber": 3, "memoryMB": 500, "shmMB": 70, "storageGB": 5,
    "gpuNumber": 1, "command": "echo \\"http://x\\" // 2", "minFailedTaskCount": null,
    "portList": [{"label": "http", "beginAt": 8080, "portNumber": 1}],
  }],
}"""
PROTOCOL_2 = """
protocolVersion: 2
name: train
type: job
version: 1.10
jobRetryCount: 1
parameters: {epochs: 3}
prerequisites:
  - {name: torch, type: dockerimage, uri: localhost/x:1, auth: {username: a}}
  - {name: digits, type: data, uri: [https://example.org/a, https://example.org/b]}
taskRoles:
  worker:
    instances: 2
    dockerImage: torch
    data: digits
    taskRetryCount: 4
    resourcePerInstance: {cpu: 1, memoryMB: 200, gpu: 0, ports: {web: 2}}
    extraContainerOptions: {shmMB: 128}
    completion: {minFailedInstances: -1, minSucceededInstances: 2}
    commands:
      - run <% $parameters.epochs %> <%$data.uri[1]%> <% $data.name %> <% $secrets.key %>
deployments:
  - {name: prod, taskRoles: {worker: {preCommands: [before]}}}
defaults: {deployment: prod, virtualCluster: vc1}
extras: {submitFrom: x}
"""


@pytest.mark.skipif(not THEIRS, reason="the OpenPAI files are not beside the project")
@pytest.mark.parametrize("path", THEIRS, ids=lambda path: path.name)
def test_every_job_of_openpai_becomes_a_valid_job_of_ours(path):
    made = convert(path.read_text("utf-8"))
    job = parse(made.yaml)
    assert job.type == "job" and all(task["command"] for task in job.tasks)
    assert not any("<%" in command for task in job.tasks for command in task["command"]
                   if path.stem != "couplet_dataset")


def test_a_v1_job_keeps_everything_that_means_something_here():
    made = convert(V1)
    job = load_yaml(made.yaml)
    task, = job["tasks"]
    assert (job["name"], job["gpuType"], job["retryCount"]) == ("hello_world", "V100", 2)
    assert job["prerequisites"][1] == {"protocol_version": "v2", "name": "code", "type": "script",
                                       "uri": ["https://example.org/code.git"]}
    assert task["command"] == ["export RATE='0.1 $HOME'", 'echo "http://x" // 2']
    assert task["resource"] == {
        "instances": 2, "resourcePerInstance": {"cpu": 3, "memoryMB": 500, "gpu": 1, "shmMB": 70},
        "portList": [{"label": "http", "beginAt": 8080, "portNumber": 1}]}
    assert (task["script"], task["minFailedTaskCount"]) == ("code", None)
    assert [note.path for note in made.notes] == [
        "dataDir", "taskRoles[0].storageGB"]
    assert job["isDebug"] is True


def test_a_job_of_protocol_2_keeps_everything_that_means_something_here():
    made = convert(PROTOCOL_2)
    job = load_yaml(made.yaml)
    task, = job["tasks"]
    assert (job["version"], job["virtualCluster"], job["retryCount"]) == ("1.10", "vc1", 1)
    assert task["command"] == [
        "before", "run $$epochs$$ https://example.org/b digits <% $secrets.key %>"]
    assert (task["minFailedTaskCount"], task["minSucceededTaskCount"]) == (None, 2)
    assert task["resource"]["resourcePerInstance"]["shmMB"] == 128
    assert task["resource"]["portList"] == [{"label": "web", "beginAt": 0, "portNumber": 2}]
    assert {note.path for note in made.notes} == {
        "prerequisites[0].auth", "taskRoles.worker.commands", "extras.submitFrom",
        "taskRoles.worker.taskRetryCount"}


PRIVATE = PROTOCOL_2.replace("auth: {username: a}", (
    'auth: {username: a, password: "<% $secrets.pull %>", registryuri: "https://R.example/v2/"}'))
PRIVATE += 'secrets: {pull: "Kanarienvogel/7", key: "Zeisig/8"}\n'


def test_a_login_of_protocol_2_travels_beside_the_job_and_stands_in_no_text():
    made = convert(PRIVATE)
    assert made.logins == (
        Login(server="r.example", username="a", secret="Kanarienvogel/7"),)
    assert "Kanarienvogel" not in made.yaml + made.masked + repr(made)
    assert "Zeisig" not in made.yaml + made.masked and load_yaml(made.masked)["secrets"] == {
        "pull": "******", "key": "******"}
    assert convert(PROTOCOL_2).logins == () and convert(V1).masked == ""


@pytest.mark.parametrize("address, field", [
    ("/api/v3/jobs", "json"), ("/api/v2/jobs", "data"), ("/rest-server/api/v2/jobs", "data")])
def test_a_login_of_protocol_2_goes_to_the_runner_and_is_shown_nowhere(web, address, field):
    headers = {**web.program("ann").headers}
    sent = {"json": {"yaml": PRIVATE}} if field == "json" else {
        "data": PRIVATE, "content_type": "text/yaml"}
    answer = web.app.test_client().post(address, headers=headers, **sent)
    assert answer.status_code == 201, answer.text
    (id_, logins), = web.runner.logins.items()
    assert logins == [{"server": "r.example", "username": "a", "secret": "Kanarienvogel/7"}]
    config = web.app.test_client().get("/api/v2/user/ann/jobs/train/config", headers=headers)
    shown = answer.text + str(web.runner.jobs) + config.text
    assert "Kanarienvogel" not in shown and "Zeisig" not in shown


def test_a_text_of_our_form_or_of_none_is_left_alone():
    for text in ("", "{a: 1}", "[1]", "name: x\ntype: data\nuri: [a]\n", "{", '{"a": 1}'):
        assert convert(text) is None


def test_what_is_wrong_is_said_at_its_place_in_its_own_form():
    with pytest.raises(InvalidInputError) as found:
        convert('{"jobName": "x",\n "taskRoles": [}')
    assert (found.value.problems[0].line, found.value.problems[0].column) == (2, 16)
    with pytest.raises(ComponentError, match="commands"):
        convert("protocolVersion: 2\nname: x\ntype: job\ntaskRoles: {a: {}}\n")


json_values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                           lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                               st.text(max_size=5), inner, max_size=3), max_leaves=8)


@settings(deadline=None)
@given(roles=st.lists(json_values | st.dictionaries(st.sampled_from(
    ["name", "taskNumber", "portList", "command"]), json_values)), more=st.dictionaries(
        st.sampled_from(["image", "codeDir", "jobEnvs", "extras", "retryCount"]), json_values))
def test_any_json_becomes_yaml_whose_mistakes_our_own_rules_name(roles, more):
    made = convert(json.dumps({"jobName": "x", "taskRoles": roles, **more}))
    try:
        assert parse(made.yaml).type == "job"
    except ComponentError as error:
        assert error.problems


@settings(deadline=None)
@given(found=st.dictionaries(st.sampled_from(
    ["completion", "extraContainerOptions", "instances", "data", "taskRetryCount"]), json_values),
    more=st.dictionaries(st.sampled_from(["deployments", "defaults", "secrets", "extras",
                                          "jobRetryCount", "prerequisites"]), json_values))
def test_whatever_passes_as_protocol_2_becomes_yaml(found, more):
    role = {"dockerImage": "x", "commands": ["true"], "resourcePerInstance": {"cpu": 1}, **found}
    text = json.dumps({"protocolVersion": 2, "name": "x", "type": "job", **more,
                       "taskRoles": {"main": role}})
    try:
        assert convert(text).yaml
    except ComponentError as error:
        assert error.problems


def test_the_submit_page_shows_a_pasted_job_in_our_form_before_it_runs(web):
    ann = web.browser("ann")
    answer = ann.post("/submit", yaml=V1, action="submit")
    page = text_of(answer)
    assert "v1 JSON. Below it stands in the form that runs here" in page and "dataDir" in page
    assert "type: script" in answer.text and not web.runner.jobs
    draft = web.browser("ann").post("/submit", yaml=convert(PROTOCOL_2).yaml, action="submit")
    assert draft.status_code == 303 and len(web.runner.jobs) == 1


def test_the_api_runs_a_job_of_another_form_and_tells_what_got_lost(web):
    program = web.program("ann")
    made = program.post("/jobs", {"yaml": PROTOCOL_2, "parameters": {"epochs": 9}})
    assert made.status_code == 201
    assert made.json["spec"]["task_roles"][0]["commands"][1].startswith("run 9 ")
    assert "`extras.submitFrom` steers nothing here." in [
        warning["message"] for warning in made.json["warnings"]]
    found = program.post("/convert", {"text": V1}).json
    assert found["form"] == "OpenPAI's v1 JSON" and len(found["notes"]) == 2
