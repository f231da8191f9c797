"""The runner's client against a server on a real socket."""
import pytest

from registry.config import Secret
from registry.errors import InvalidInputError, NotFoundError, RunnerUnavailableError
from registry.runner_client import RunnerClient
from runner.spec import Image, JobSpec, TaskRoleSpec
from tests.fakes.fake_runner import FakeRunner

SPEC = JobSpec(name="hello", user="ann", task_roles=(
    TaskRoleSpec(name="main", image=Image(uri="busybox"), commands=("echo hello",)),))


@pytest.fixture
def runner(tmp_path):
    runner = FakeRunner(tmp_path)
    yield runner
    runner.close()


@pytest.fixture
def client(runner):
    return RunnerClient(runner.url)


def test_a_job_goes_there_and_comes_back(client):
    job = client.submit(SPEC)
    assert (job["name"], job["user"], job["state"]) == ("hello", "ann", "WAITING")
    assert client.job(job["id"]) == job


def test_the_same_key_is_the_same_job(client):
    first = client.submit(SPEC, "key")
    assert client.submit(SPEC, "key")["id"] == first["id"]
    assert client.submit(SPEC, "other")["id"] != first["id"]


def test_jobs_are_listed_by_user_state_and_page(client):
    ids = [client.submit(SPEC)["id"] for _ in range(3)]
    page = client.jobs(user="ann", limit=2)
    assert [job["id"] for job in page["jobs"]] == ids[:0:-1]
    rest = client.jobs(user="ann", limit=2, before=page["next"])
    assert [job["id"] for job in rest["jobs"]] == ids[:1] and rest["next"] is None
    assert client.jobs(user="bob")["jobs"] == client.jobs(state="FAILED")["jobs"] == []


def test_a_log_is_read_on_from_where_it_was_left(client, runner):
    id_ = client.submit(SPEC)["id"]
    runner.start(id_)
    runner.write(id_, "one\n")
    page = client.log(id_, 1, "main", 0)
    runner.write(id_, "two\n", "stderr")
    more = client.log(id_, 1, "main", 0, offset=page["offset"])
    assert [each["text"] for each in more["records"]] == ["two\n"]
    assert b"".join(client.raw_log(id_, 1, "main", 0)) == b"one\ntwo\n"


def test_an_artifact_comes_whole_and_with_its_size(client, runner):
    id_ = client.submit(SPEC)["id"]
    runner.start(id_)
    runner.leave(id_, "a folder/é.bin", bytes(range(256)) * 1000)
    file = client.artifact(id_, 1, "main", 0, "a folder/é.bin")
    assert file.size == 256_000 and b"".join(file) == bytes(range(256)) * 1000
    assert client.artifacts(id_)["artifacts"][0]["path"] == "a folder/é.bin"


def test_a_file_that_nobody_reads_is_closed(client, runner):
    id_ = client.submit(SPEC)["id"]
    runner.leave(id_, "x", b"x")
    client.artifact(id_, 0, "main", 0, "x").close()


@pytest.mark.parametrize("path", ["../../../../other", "a/../../b", ".", "a//b", "", "/etc"])
def test_no_path_climbs_to_another_job(client, path):
    with pytest.raises(NotFoundError):
        client.artifact("1", 1, "main", 0, path)


@pytest.mark.parametrize("id_", ["..", ".", "", "../machine", "1?x=1", "1#"])
def test_a_jobs_number_is_one_part_of_the_path(client, id_):
    with pytest.raises(NotFoundError):
        client.job(id_)


def test_an_unknown_job_is_not_found(client):
    with pytest.raises(NotFoundError, match="There is no such thing"):
        client.job("nothing")


def test_a_runner_that_is_down_is_told_with_what_to_do(client, runner):
    runner.close()
    with pytest.raises(RunnerUnavailableError, match="What runs goes on") as caught:
        client.machine()
    assert "Start it with `paishare serve`" in caught.value.remedy
    assert not client.is_up()
    runner.__init__(runner.path.parent)
    assert client.is_up()


def test_a_wrong_token_is_told_apart_from_a_runner_that_is_down(client, runner):
    runner.token = "right"
    assert RunnerClient(runner.url, Secret("right")).machine()["cpus"] == 8
    with pytest.raises(RunnerUnavailableError) as caught:
        RunnerClient(runner.url, Secret("wrong")).machine()
    assert "PAISHARE_RUNNER_TOKEN" in caught.value.remedy


def test_what_the_runner_refuses_keeps_its_places(client, runner, monkeypatch):
    def refuse(handler, *_):
        handler._json({"code": "InvalidSpec", "message": "Two mistakes.", "errors": [
            {"path": "$.name", "message": "too long"}]}, 400)
    monkeypatch.setattr("tests.fakes.fake_runner._Handler._route", refuse)
    with pytest.raises(InvalidInputError, match="Two mistakes") as caught:
        client.submit(SPEC)
    assert [(each.path, each.message) for each in caught.value.problems] == [
        ("$.name", "too long")]


def test_a_fault_of_the_runner_is_told_as_such(client, monkeypatch):
    answer = {"code": "EngineFailed", "message": "Docker is gone.", "errors": []}
    monkeypatch.setattr("tests.fakes.fake_runner._Handler._route",
                        lambda handler, *_: handler._json(answer, 500))
    with pytest.raises(RunnerUnavailableError, match="Docker is gone"):
        client.machine()


def test_no_json_is_no_answer_of_a_runner(client, monkeypatch):
    monkeypatch.setattr("tests.fakes.fake_runner._Handler._route",
                        lambda handler, *_: handler._bytes(b"<html>"))
    with pytest.raises(RunnerUnavailableError, match="does not answer"):
        client.machine()
