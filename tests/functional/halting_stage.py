"""A runner that can be halted, on an engine of its own, with a job at each step of a job's life."""
import os

from tests.functional.runner_process import IMAGE, spec, wait_for

KEPT = {"storage": [{"kind": "storage", "uri": "kept", "target": "out"}]}
SMALL = {"resources": {"cpu": 1, "memory_mb": 100}}
LINES = 30
BEGIN = ("echo ran >> $PAI_OUTPUT_DIR/starts",
         f"for i in $(seq 1 {LINES}); do echo line $i; echo err $i >&2; done")
# Writes on and on, until the gate is open.
WRITE = ("i=0; until test -e out/open; do seq $((i + 1)) $((i += 100)); sleep 0.01; done",
         "echo $i > $PAI_OUTPUT_DIR/count")
WAIT = ("until test -e out/open; do sleep 0.01; done",)
PAIR = "half started"  # a job of two tasks
# The step of a job's life, and what the runner is about to do, or has just done, when it halts.
PLACES = {
    "to be prepared": "DockerDriver.image before",
    "prepared": "JobStore.pin after",
    "staged": "Stager.mount after",
    "to be created": "DockerDriver.create before",
    "created": "DockerDriver.create after",
    "to be started": "DockerDriver.start before",
    "started": "DockerDriver.start after",
    PAIR: "DockerDriver.start after",
    "decided": "JobStore.decide after",
    "to be removed": "DockerDriver.remove before",
    "removed": "DockerDriver.remove after",
    "to be ended": "JobStore.transition before",
    "to be claimed": "JobStore.claim before",  # last, for it holds up the queue
}


class Stage:
    """A runner that can be halted, on an engine of its own, and one job at each step of life."""

    def __init__(self, engine, runner, folder):
        self.engine, self.runner, self.folder = engine, runner, folder
        self.gate = runner.home / "storage/ann/kept/open"
        self.jobs = {}
        self.networks = self.network_names()
        self.foreign = engine.client.containers.create(
            IMAGE, "sleep 60", labels={"paishare.runner": "another"})

    def network_names(self):
        return sorted(network.name for network in self.engine.client.networks.list())

    def submit(self, step, *commands, **changes):
        self.jobs[step] = self.runner.submit(spec(*BEGIN, *commands, **KEPT, **SMALL, **changes))
        return self.jobs[step]

    def halt(self, step, place, act):
        """Do what brings the runner to that place, and wait until it is there."""
        (self.folder / "new").write_text(place)
        os.replace(self.folder / "new", self.folder / "place")
        act()
        wait_for((self.folder / "halted").exists, f"a job is {step}", 60)
        os.remove(self.folder / "halted")

    def task_of(self, job_id):
        return self.runner.job(job_id)["attempts"][-1]["tasks"][0]

    def set_up(self):
        for step, command in (("runs", WAIT), ("writes", WRITE)):
            job_id = self.submit(step, *command)
            wait_for(lambda: "line 30" in self.runner.log(job_id), f"a job {step}", 60)
        job_id = self.submit("to be stopped", *WAIT)
        wait_for(lambda: "line 30" in self.runner.log(job_id), "a job runs", 60)
        self.halt("to be stopped", "DockerDriver.stop before",
                  lambda: self.runner.post(f"/jobs/{job_id}/stop"))
        for step, place in PLACES.items():
            instances = 2 if step == PAIR else 1
            self.halt(step, place, lambda: self.submit(step, instances=instances))

    def go(self):
        (self.folder / "go").touch()

    def check(self, killed=()):
        """All have ended and left nothing but what they should; `killed` steps may have failed."""
        self.gate.touch()
        ended = {step: self.runner.wait(job_id) for step, job_id in self.jobs.items()}
        for step, job in ended.items():
            expected = "STOPPED" if step == "to be stopped" else "SUCCEEDED"
            assert job["state"] in {expected, "FAILED" if step in killed else expected}, (step, job)
            for attempt in job["attempts"]:
                for task in attempt["tasks"]:
                    is_last = job["state"] == "SUCCEEDED" and attempt is job["attempts"][-1]
                    self.check_task(step, job["id"], attempt["number"], task["index"], is_last)
            assert sorted(path.name for path in (self.runner.home / "jobs" / job["id"]).glob(
                "*/*/*") if path.name not in ("commands", "log", "metrics", "output")) == []
        assert self.runner.containers() == []
        self.foreign.reload()
        assert self.foreign.status == "created"
        assert self.network_names() == self.networks
        machine = self.runner.get("/machine")
        assert machine["free"]["cpus"] == machine["cpus"]
        return ended

    def check_task(self, step, job_id, attempt, index, is_whole):
        where = (step, attempt, index)
        folder = self.runner.home / f"jobs/{job_id}/{attempt}/main-{index}"
        starts = folder / "output/starts"
        assert (starts.read_text() if starts.exists() else "") in (
            {"ran\n"} if is_whole else {"ran\n", ""}), where
        for stream in ("stdout", "stderr"):
            log = self.runner.log(job_id, index=index, attempt=attempt, stream=stream)
            text = self.whole(folder, step, stream, log)
            assert log == text if is_whole or step == "to be stopped" else text.startswith(log), (
                where)

    def whole(self, folder, step, stream, log):
        """What the task wrote, or would have; as far as `log` goes, where it had no end."""
        lines = [f"{'line' if stream == 'stdout' else 'err'} {n}" for n in range(1, LINES + 1)]
        if (step, stream) == ("writes", "stdout"):
            count = folder / "output/count"
            last = int(count.read_text()) if count.exists() else log.count("\n")
            lines += map(str, range(1, last + 1))
        return "".join(f"{line}\n" for line in lines)
