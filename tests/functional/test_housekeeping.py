"""Room on the disk: what goes and what stays, where the disk is always too full."""
import shutil
import time

import docker
import pytest

from runner.config import Settings
from runner.docker_driver import DockerDriver
from runner.housekeeping import Housekeeper
from runner.job_store import JobStore
from runner.spec import job_spec_from_json
from runner.staging import Stager
from tests.functional.runner_process import IMAGE, spec


@pytest.fixture
def house(tmp_path):
    """A housekeeper that wants more room than any disk has."""
    everything = shutil.disk_usage("/").total * 1000 >> 20
    settings = Settings(home=tmp_path, socket=tmp_path / "s", min_free_mb=everything)
    store = JobStore(tmp_path / "runner.db")
    stager = Stager(tmp_path / "cache", tmp_path / "storage", [])
    yield Housekeeper(settings, store, DockerDriver("tests"), stager), store
    store.close()


@pytest.fixture
def pulled(busybox_image):
    """Two images that nobody else has, the first used before the second."""
    client = docker.from_env()
    made = []
    for name in ("one", "two"):
        container = client.containers.create(IMAGE, command=["true"])
        made.append(container.commit(f"localhost/paishare/{name}", tag="housekeeping",
                                     message=str(time.time_ns())).id)
        container.remove()
    yield made, client
    for id_ in made:
        if client.images.list(filters={"reference": "localhost/paishare/*:housekeeping"}):
            client.api.remove_image(id_, force=True) if _is_here(client, id_) else None
    client.close()


def _is_here(client, id_):
    return any(image.id == id_ for image in client.images.list())


def test_only_images_that_the_runner_pulled_and_no_job_needs_go(house, pulled):
    keeper, store = house
    (first, second), client = pulled
    others = client.images.get(IMAGE).id
    keeper.note_image(first, is_pulled=True)
    keeper.note_image(second, is_pulled=True)
    keeper.note_image(others, is_pulled=False)
    waiting = spec("true")
    waiting["task_roles"][0]["image"] = {"uri": IMAGE, "digest": second}
    store.enqueue(job_spec_from_json(waiting))
    keeper.tidy()
    assert not _is_here(client, first)
    assert _is_here(client, second) and _is_here(client, others)


def test_an_image_that_a_container_uses_stays(house, pulled):
    keeper, _ = house
    (first, _), client = pulled
    keeper.note_image(first, is_pulled=True)
    container = client.containers.create(first, command=["true"])
    keeper.tidy()
    assert _is_here(client, first)
    container.remove()
    keeper.tidy()
    assert not _is_here(client, first)


def test_a_disk_that_is_too_full_for_jobs_is_named_with_what_to_do(house, tmp_path):
    keeper, _ = house
    said = keeper.shortage()
    assert said.startswith(f"The disk of the runner is too full for jobs: at {tmp_path}, ")
    assert said.endswith("Make room there; jobs start by themselves then.")
