"""What is kept of failed attempts: which tasks, for how long, and what goes first."""
from types import SimpleNamespace

import pytest

from runner.config import Settings
from runner.engine import Gang
from runner.errors import EngineError
from runner.job_store import JobStore
from runner.kept import Kept
from runner.scheduler import Placement, TaskPlacement
from runner.spec import Image, JobSpec, TaskRoleSpec

DAY_S = 86400.0


class Scene:
    """Real files and a real store; an engine that notes what it was asked to clear."""

    def __init__(self, folder, **settings):
        self.cleared, self.now_s = [], 1000.0
        self.store = JobStore(folder / "runner.db")
        self.settings = Settings(home=folder, socket=folder / "s", **settings)
        self.kept = self.again()

    def again(self):
        engine = SimpleNamespace(clear=lambda gang: self.cleared.append((gang.key, gang.slots)))
        return Kept(self.settings, self.store, engine, clock=lambda: self.now_s)

    def ended(self, codes, *, is_debug=True):
        """A job of which each task has ended with one of these codes."""
        role = TaskRoleSpec(name="main", image=Image(uri="x"), commands=("true",),
                            instances=len(codes))
        spec = JobSpec(name="j", user="ann", task_roles=(role,), is_debug=is_debug)
        job, _ = self.store.enqueue(spec)
        placement = Placement(host_network=True, tasks=tuple(
            TaskPlacement(role="main", index=index, ip="127.0.0.1", gpus=(), ports={})
            for index in range(len(codes))))
        number = self.store.claim(job.id, placement.as_json())
        for index, code in enumerate(codes):
            self.store.update_task(job.id, number, "main", index, exit_code=code,
                                   state="SUCCEEDED" if code == 0 else "FAILED")
        return Gang(key=(job.id, number), spec=spec, placement=placement)


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path, min_free_mb=0)
    yield made
    made.store.close()


def test_only_tasks_that_failed_with_a_code_of_a_job_that_asks_are_kept(scene):
    gang, plain = scene.ended([0, 3, None]), scene.ended([3], is_debug=False)
    scene.kept.clear(gang)
    scene.kept.clear(plain)
    assert scene.cleared == [(gang.key, (("main", 0), ("main", 2))), (plain.key, (("main", 0),))]
    assert scene.kept.of(gang.key) == {"until": "1970-01-02T00:16:40Z", "tasks": [
        {"role": "main", "index": 1, "container": f"paishare-{gang.key[0]}-1-0-1"}]}
    assert scene.kept.keys() == {gang.key} and scene.kept.of(plain.key) is None


def test_its_time_is_up_after_a_restart_too(scene):
    gang = scene.ended([3])
    scene.kept.clear(gang)
    scene.now_s += DAY_S - 1
    scene.again().expire()
    assert scene.kept.keys() == {gang.key}
    scene.now_s += 1
    scene.again().expire()
    assert scene.kept.keys() == set() and scene.cleared[-1] == (gang.key, (("main", 0),))


def test_where_docker_is_away_it_stays_until_the_next_look(scene):
    gang = scene.ended([3])
    scene.kept.clear(gang)
    scene.now_s += DAY_S

    def away(_gang):
        raise EngineError("Docker does not answer.")
    Kept(scene.settings, scene.store, SimpleNamespace(clear=away),
         clock=lambda: scene.now_s).expire()
    assert scene.kept.keys() == {gang.key}


def test_a_full_disk_takes_it_earlier(tmp_path):
    full = Scene(tmp_path, min_free_mb=1 << 40)
    full.kept.clear(full.ended([3]))
    full.kept.expire()
    assert full.kept.keys() == set()
    full.store.close()


def test_releasing_what_is_not_kept_is_no_error(scene):
    gang = scene.ended([3])
    assert scene.kept.release(gang.key[0]) == 0
    scene.kept.clear(gang)
    assert [scene.kept.release(gang.key[0]) for _ in range(2)] == [1, 0]
