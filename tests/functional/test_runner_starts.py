"""Containers that do not start as they should, and what the runner says and leaves then."""
import io
import os
import tarfile

import docker
import pytest

from runner import launch, node_agent
from tests.functional.engines import Heard, LocalUnderTest, job, reserved, role
from tests.functional.runner_process import IMAGE, spec, task_role


@pytest.fixture(scope="module")
def client():
    made = docker.from_env()
    yield made
    made.close()


@pytest.fixture
def without_user(client, busybox_image):
    made = client.containers.create(IMAGE, ["true"])
    made.commit("localhost/paishare/no-user", "test", changes="USER nobody-there")
    made.remove()
    yield "localhost/paishare/no-user:test"
    client.images.remove("localhost/paishare/no-user:test")


@pytest.fixture
def without_shell(client):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    client.api.import_image_from_data(
        packed.getvalue(), repository="localhost/paishare/no-shell", tag="test")
    yield "localhost/paishare/no-shell:test"
    client.images.remove("localhost/paishare/no-shell:test")


def test_a_job_of_which_one_task_cannot_start_ends_whole_and_is_not_tried_again(
        shared_runner, without_user):
    job_ = shared_runner.run({"name": "n", "user": "ann", "retry_count": 3, "task_roles": [
        task_role("good", "sleep 600"), task_role("bad", "true", image={"uri": without_user})]})
    attempt, = job_["attempts"]
    assert (job_["state"], attempt["cause"]) == ("FAILED", "image")
    assert "The job could not be started" in job_["reason"] and "nobody-there" in job_["reason"]
    assert [task["state"] for task in attempt["tasks"]] == ["STOPPED", "STOPPED"]
    assert attempt["tasks"][1]["exit_text"] == "never started"
    assert shared_runner.containers() == []
    assert shared_runner.get("/machine")["free"]["cpus"] == shared_runner.get("/machine")["cpus"]


def test_an_image_without_a_shell_is_told_in_the_log_and_by_the_exit_code(
        shared_runner, without_shell):
    job_ = shared_runner.run(spec("true", image={"uri": without_shell}))
    assert "exit code 127: a command was not found in the image" in job_["reason"]
    assert "exec /bin/sh failed: No such file or directory" in shared_runner.log(job_["id"])


def test_what_a_container_wrote_as_root_becomes_the_runners_own(
        tmp_path, busybox_image, monkeypatch):
    if os.getuid() != 0:
        pytest.skip("only root can pretend to be another user")
    under_test = LocalUnderTest(tmp_path / "home")
    gang, heard = reserved(under_test.engine, ("owned", 1), job(role(
        "main", "mkdir /paishare/output/deep", "echo kept > /paishare/output/deep/file"))), Heard()
    under_test.engine.start(gang, gang.slots, heard)
    heard.exits(1)
    for module in (launch, node_agent):
        monkeypatch.setattr(module, "os", SimpleOs())
    under_test.engine.clear(gang)
    written = under_test.folders.output("owned", 1, "main", 0) / "deep/file"
    assert (written.stat().st_uid, written.stat().st_gid) == (1234, 1235)
    assert under_test.docker.containers.list(all=True, filters={
        "label": "paishare.job=owned"}) == []
    under_test.close()


class SimpleOs:
    """This process as one that is not root's."""

    getuid, getgid = staticmethod(lambda: 1234), staticmethod(lambda: 1235)
    cpu_count = staticmethod(os.cpu_count)
