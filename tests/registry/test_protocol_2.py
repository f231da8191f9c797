"""Files of OpenPAI as they were published: all are indexed, also those of protocol 2."""
import shutil

import pytest

from registry.component import parse
from registry.errors import ComponentError
from tests.registry.test_component import SHARED, needs_shared

JOB = """\
protocolVersion: 2
name: Fast Couplets
type: job
version: 1.0
prerequisites:
  - {name: image, type: dockerimage, uri: "openpai/standard"}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 8192, gpu: 4, ports: {tensorboard: 1}}
    commands: [python train.py]
"""


def test_its_roles_are_read_as_tasks():
    component = parse(JOB)
    assert (component.type, component.name, component.version) == ("job", "Fast_Couplets", "1.0")
    task, = component.tasks
    assert (task["role"], task["dockerimage"], task["command"]) == (
        "worker", "image", ["python train.py"])
    assert task["resource"] == {
        "instances": 2, "resourcePerInstance": {"cpu": 1, "memoryMB": 8192, "gpu": 4},
        "portList": [{"label": "tensorboard", "beginAt": 0, "portNumber": 1}]}
    assert [item["name"] for item in component.prerequisites] == ["image"]
    assert [(each.line, each.path) for each in component.warnings] == [
        (1, "protocolVersion"), (2, "name"), (4, "version")]


@pytest.mark.parametrize("old, new, path", [
    ("protocolVersion: 2\n", "", "protocolVersion"), ("protocolVersion: 2", "protocolVersion: 3",
                                                      "protocolVersion"),
    ("type: job", "type: data", "type"), ("name: Fast Couplets\n", "", "name"),
    ("commands: [python train.py]", "commands: x", "taskRoles.worker.commands"),
    ("    dockerImage: image\n", "", "taskRoles.worker.dockerImage"),
    ("type: dockerimage", "type: image", "prerequisites[0]"),
    ("  worker:\n", "  worker: 3\n  other:\n", "taskRoles.worker")])
def test_what_is_wrong_is_told_at_its_place(old, new, path):
    with pytest.raises(ComponentError) as caught:
        parse(JOB.replace(old, new))
    errors = [each for each in caught.value.problems if each.severity == "error"]
    assert [each.path for each in errors] == [path] and errors[0].line


@needs_shared
def test_every_file_that_openpai_published_is_indexed_and_found(web, tmp_path):
    for folder, count in (("marketplace", 24), ("protocol-v2", 14)):
        shutil.copytree(SHARED / "data" / "openpai" / folder, tmp_path / folder)
        web.services.sources.add_folder(str(tmp_path / folder), name=folder, owner_id=None)
        web.sync()
        source = web.services.sources.get(folder)
        assert (source.components, source.problems) == (count, 0)
    warned = {file.path: file.problems for file in web.services.sources.warnings(2)}
    assert "version" in {each.path for each in warned["data/cifar10.yaml"]}
    assert len(web.services.sources.warnings(3)) == 14
    assert "horovod_pytorch" in web.browser("ann").get("/?q=horovod").text


@pytest.fixture
def job(web, tmp_path):
    (tmp_path / "more" / "job").mkdir(parents=True)
    (tmp_path / "more" / "job" / "Fast_Couplets.yaml").write_text(JOB)
    web.services.sources.add_folder(str(tmp_path / "more"), name="more", owner_id=None)
    web.sync()
    return web


def test_it_is_shown_and_using_it_shows_it_in_our_form_and_runs_it(job):
    browser = job.browser("ann")
    assert browser.get("/c/job/Fast_Couplets").status_code == 200
    page = browser.get("/use/job/Fast_Couplets", follow_redirects=True)
    assert page.status_code == 200 and "Below it stands in the form that runs here" in page.text
    answer = job.program("ann").post("/jobs", {"reference": "Fast_Couplets"})
    assert answer.status_code == 201
    assert answer.json["spec"]["task_roles"][0]["commands"] == ["python train.py"]
    assert "edited" not in answer.json["spec"]["origin"]
