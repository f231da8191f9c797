"""queue show, pause, resume and drain."""
import json

from registry.commands import queueing
from tests.fakes.scripted_server import Answer

PAUSED = "The queue is paused: disks. Running jobs go on."
CLUSTER = {"name": "vision", "members": ["ann", "bob"], "max_priority": 0, "time_limit_s": None,
           "quota": {"jobs": None, "cpus": 8, "memory_mb": None, "gpus": 2},
           "free": {"jobs": None, "cpus": 8, "memory_mb": None, "gpus": -1}}


def state(paused=None, running=0):
    return Answer({"paused": paused, "waiting": 2, "running": running})


def test_the_queue_is_shown_with_what_each_virtual_cluster_has_left(run, server):
    server.answers["GET /machine"] = [Answer({
        "queue": {"paused": None, "waiting": 2, "running": 1}, "virtual_clusters": [CLUSTER]})]
    code, out, _ = run("queue", "show")
    assert code == 0 and "Jobs start." in out
    assert out.splitlines()[-1].split("\t") == [
        "vision", "ann bob", "", "8 of 8 free", "", "0 of 2 free"]


def test_a_pause_tells_its_reason_and_a_resume_that_jobs_start(run, server):
    server.answers["POST /queue/pause"] = [state(PAUSED, running=1)]
    server.answers["POST /queue/resume"] = [state()]
    assert run("queue", "pause", "--reason", "disks")[:2] == (0, f"{PAUSED}\n")
    assert server.requests[0].body == {"reason": "disks"}
    assert run("queue", "resume")[:2] == (0, "Jobs start.\n")


def test_a_drain_waits_until_nothing_runs(run, server, monkeypatch):
    monkeypatch.setattr(queueing, "POLL_S", 0)
    server.answers["POST /queue/pause"] = [state(PAUSED, running=2)]
    server.answers["GET /queue"] = [state(PAUSED, 2), state(PAUSED, 1), state(PAUSED, 0)]
    code, out, err = run("queue", "drain", "--json")
    assert (code, json.loads(out)["running"]) == (0, 0)
    assert err.splitlines() == ["2 running jobs left", "1 running job left"]
