"""Logins on their way through a real runner: kept until the image is here, and nowhere else."""
import json

import psutil
import pytest

from tests.functional.registry_server import SECRETS, Registry
from tests.functional.runner_process import spec, wait_for
from tests.functional.test_secrets import assert_nowhere

BIG = 300_000  # bytes of a layer that no closed gate lets pass


@pytest.fixture(scope="module")
def private(tmp_path_factory, busybox_image):
    made = Registry(tmp_path_factory.mktemp("private") / "registry")
    yield made
    made.close()


def submit(runner, registry, uri, login=None, **changes):
    job = spec("true", image={"uri": uri}, **changes)
    return runner.post("/jobs", {"spec": job, "logins": [registry.login(login)] if login else []})


def left_behind(runner, job_id):
    """Everything of a job that somebody might read, now or from a copy."""
    for path in runner.home.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()
    yield "the log", (runner.home.parent / "runner.log").read_bytes()
    yield "the API", json.dumps(runner.job(job_id)).encode()
    for container in runner.containers():
        yield "docker inspect", json.dumps(container.attrs).encode()
    for process in psutil.process_iter(["cmdline"]):
        yield process, "\0".join(process.info["cmdline"] or []).encode()


def test_a_private_image_is_pulled_with_its_users_login_which_is_left_nowhere(runner, private):
    uri = private.push("team/private:1")
    job = spec("sleep 600", image={"uri": uri})
    id_ = runner.post("/jobs", {"spec": job, "logins": [private.login("ann")]})["id"]
    runner.wait(id_, "RUNNING")
    image = private.docker.images.get(uri).id
    assert runner.job(id_)["spec"]["task_roles"][0]["image"]["digest"] == image
    assert_nowhere(SECRETS["ann"], left_behind(runner, id_))
    environ = psutil.Process(runner.process.pid).environ()
    assert SECRETS["ann"] not in environ.values()
    runner.post(f"/jobs/{id_}/stop")
    runner.wait(id_)
    receipt = runner.get(f"/jobs/{id_}/attempts/1/receipt")
    assert receipt["spec"]["task_roles"][0]["image"]["digest"] == image
    assert_nowhere(SECRETS["ann"], left_behind(runner, id_))


def test_a_login_outlives_a_kill_and_is_its_owners_alone_until_the_image_is_here(runner, private):
    uri = private.push("team/killed:1", layer_bytes=BIG)
    private.gate.clear()
    id_ = submit(runner, private, uri, "ann")["id"]
    wait_for(lambda: runner.job(id_)["pulls"], "it is pulled", 60)
    file = runner.home / "logins" / f"{id_}.json"
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    runner.kill()
    private.gate.set()
    runner.start()
    assert runner.wait(id_)["state"] == "SUCCEEDED" and not file.exists()
    stranger = submit(runner, private, uri, user="mallory")["id"]
    refused = runner.wait(stranger)
    assert refused["state"] == "FAILED" and "came with another user's login" in refused["reason"]
    assert_nowhere(SECRETS["ann"], left_behind(runner, id_))


def test_stopping_a_job_while_its_image_is_pulled_ends_both_and_drops_the_login(runner, private):
    uri = private.push("team/stopped:1", layer_bytes=BIG)
    private.gate.clear()
    id_ = submit(runner, private, uri, "ann")["id"]
    wait_for(lambda: private.held, "it is pulled", 60)
    runner.post(f"/jobs/{id_}/stop")
    assert runner.wait(id_)["state"] == "STOPPED"
    private.open_for_new()
    assert not private.has_it(uri)
    wait_for(lambda: not list((runner.home / "logins").iterdir()), "the login is gone", 60)


def test_a_refused_login_ends_the_job_with_a_sentence_and_no_secret(runner, private):
    uri = private.push("team/refused:1")
    login = {**private.login("bob"), "secret": "Kanarienvogel-wrong"}
    id_ = runner.post("/jobs", {"spec": spec("true", image={"uri": uri}), "logins": [login]})["id"]
    job = runner.wait(id_)
    assert job["state"] == "FAILED" and "refuses it with the login bob" in job["reason"]
    assert_nowhere("Kanarienvogel-wrong", left_behind(runner, id_))


def test_what_is_no_login_is_refused_before_there_is_a_job(runner):
    for logins in ("x", [{}], [{"server": "a", "username": "b", "secret": 5}],
                   [{"server": "a", "username": "b", "secret": "Kanarienvogel", "more": "x"}]):
        answer = runner.post("/jobs", {"spec": spec("true"), "logins": logins})
        assert answer["code"] == "InvalidSpec" and "Kanarienvogel" not in str(answer)
    assert runner.get("/jobs")["jobs"] == []
