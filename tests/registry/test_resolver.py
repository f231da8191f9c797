import hashlib
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from registry import db
from registry.catalog import Catalog
from registry.component import parse
from registry.errors import InvalidInputError
from registry.resolver import resolve
from registry.search import SearchIndex
from registry.sources import Sources
from registry.sync import Sync
from runner.spec import Input, PortRequest, Resources, job_spec_from_json

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("PAISHARE_SHARED", ROOT.parent / "shared"))
REAL = sorted((SHARED / "data/openpai/marketplace/job").rglob("*.yaml"))
needs_shared = pytest.mark.skipif(not REAL, reason=f"the real files are not in {SHARED}")

JOB = """\
name: numbers
type: job
version: 1.0.0
parameters:
  epochs: 10
  lr: 1e-3
  is_fast: false
  model: resnet20
  layers: [16, 8]
  net: {{depth: 2}}
  seed:
tasks:
  - role: worker
    {task}
    resource: {{instances: {instances}, resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: {gpu}}}}}
    command:
      - {command}
prerequisites:
  - {{name: debian, type: dockerimage, uri: "debian:12"}}
  - {{name: mnist, type: data, uri: {uri}}}
"""


def job(command="echo", task="data: mnist", uri="https://host.org/mnist.npz", gpu=0, instances=1):
    return JOB.format(command=command, task=task, uri=uri, gpu=gpu, instances=instances)


HISTORY = [  # one commit each
    {"lib/data/digits.yaml": "type: data\nname: digits\nversion: 1.0.0\nuri: ../files/a.csv\n",
     "lib/files/a.csv": "old"},
    {"lib/files/a.csv": "old, corrected"},
    {"lib/data/digits.yaml": "type: data\nname: digits\nversion: 2.0.0\n"
                             "uri: ../files/a.csv, https://h.org/b\n",
     "lib/files/a.csv": "new",
     "data/other.yaml": "type: data\nname: other\nversion: 1.0.0\nuri: https://h.org/x\n",
     "dockerimage/py.yml": "type: dockerimage\nname: py\nversion: 1.0.0\nuri: python:3.11\n",
     "script/train.yaml": "type: script\nname: train\nversion: 1.0.0\nuri: ../lib\n",
     "job/numbers.yaml": job(uri="../lib/files/a.csv")},
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """The catalog of a real repository, synced into a real database."""
    origin, home = tmp_path_factory.mktemp("origin"), tmp_path_factory.mktemp("home")
    git = ["git", "-C", str(origin), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    for files in HISTORY:
        for path, text in files.items():
            (origin / path).parent.mkdir(parents=True, exist_ok=True)
            (origin / path).write_text(text)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "x"], check=True)
    engine = db.create_engine(f"sqlite:///{home}/registry.db")
    db.upgrade(engine)
    catalog = Catalog(engine, home / "git")
    Sources(engine).add_folder(str(origin), name="shelf", owner_id=None)
    Sync(engine, catalog, SearchIndex(home / "search")).run_once()
    yield catalog
    engine.dispose()


@pytest.fixture
def resolved(catalog):
    def call(text, **options):
        spec = resolve(parse(text), catalog=catalog, user="alice", **options).spec
        assert job_spec_from_json(spec.as_json()) == spec
        return spec
    return call


@pytest.fixture
def role_of(resolved):
    return lambda text, **options: resolved(text, **options).task_roles[0]


@pytest.fixture
def problems_of(catalog):
    def call(text, **options):
        with pytest.raises(InvalidInputError) as caught:
            resolve(parse(text), catalog=catalog, user="alice", **options)
        return caught.value.problems
    return call


@pytest.mark.parametrize("command, expected", [
    ("train --epochs $$epochs$$ --lr $$lr$$", "train --epochs 10 --lr 0.001"),
    ("$$epochs$$", "10"), ("$$is_fast$$", "false"), ("$$layers$$", "[16, 8]"),
    ("$$net.depth$$", "2"), ("kill $$; echo $$PATH", "kill $$; echo $$PATH"),
    ("cat $$data$$/x in $$dockerimage$$ as $$role$$", "cat mnist/x in debian as worker"),
    ("$$resource.instances$$ $$resource.resourcePerInstance.memoryMB$$", "1 100")])
def test_references_in_commands_become_values(role_of, command, expected):
    assert role_of(job(command)).commands == (expected,)


def test_own_fields_win_over_task_parameters_and_these_over_job_parameters(role_of):
    task = "data: mnist\n    parameters: {data: x, model: $$model$$-small, epochs: $$epochs$$}"
    role = role_of(job("$$data$$ $$model$$ $$epochs$$ $$lr$$", task=task),
                   parameters={"epochs": "3"})
    assert role.commands == ("mnist resnet20-small 3 0.001",)


def test_numbers_may_come_from_parameters_and_keep_their_type(role_of):
    role = role_of(job(gpu="$$epochs$$", instances="$$net.depth$$"), parameters={"epochs": "2"})
    assert role.resources == Resources(gpu=2) and role.instances == 2


def test_a_number_from_a_parameter_is_held_against_the_rules(problems_of):
    problem, = problems_of(job(gpu="$$model$$"))
    assert (problem.path, problem.line) == ("tasks[0].resource.resourcePerInstance.gpu", 15)
    assert problem.message == (
        "`gpu` must be a whole number of GPUs, at least 0, but is the text `resnet20`. Write for "
        "example `gpu: 1`. The value stands for `$$model$$`.")


def test_a_value_that_looks_like_a_reference_is_no_number(problems_of):
    problem, = problems_of(job(gpu="$$model$$"), parameters={"model": "$$epochs$$"})
    assert "is the text `$$epochs$$`" in problem.message


def test_an_unknown_name_is_refused_at_its_place_with_what_is_known(problems_of):
    problem, = problems_of(job("train --epochs $$epoch$$"))
    assert (problem.path, problem.line, problem.column) == ("tasks[0].command[0]", 17, 24)
    assert problem.message == (
        "`$$epoch$$` is not known here. Did you mean `epochs`? Known names: role, data, resource, "
        "dockerimage, epochs, lr, is_fast, model, layers, net, seed. Where the process id of the "
        "shell is meant, write `${$}`.")


def test_every_problem_is_told_at_once(problems_of):
    problems = problems_of(job("echo $$a$$ $$b$$", gpu="$$model$$"), name="a b",
                           parameters={"epochs": "abc", "modle": 1})
    assert [(problem.path, problem.line) for problem in problems] == [
        ("parameters.modle", None), ("name", None), ("parameters.epochs", 5),
        ("tasks[0].resource.resourcePerInstance.gpu", 15), ("tasks[0].command[0]", 17),
        ("tasks[0].command[0]", 17)]


def test_defaults_and_the_way_back_to_the_source_are_in_the_spec(catalog, resolved):
    entry = catalog.get("job/numbers")
    spec = resolved(entry.text, entry=entry, name="numbers-2")
    assert (spec.name, spec.user, spec.virtual_cluster, spec.retry_count) == (
        "numbers-2", "alice", "default", 0)
    assert spec.origin == {"reference": "job/numbers@1.0.0", "source": "shelf",
                           "commit": entry.commit, "path": "job/numbers.yaml", "blob": entry.blob}
    assert spec.yaml == entry.text and spec.parameters["epochs"] == 10
    role = spec.task_roles[0]
    assert (role.min_failed_task_count, role.min_succeeded_task_count) == (1, None)
    assert role.resources == Resources(cpu=1, memory_mb=100, shm_mb=64, gpu=0)


def test_what_is_written_in_the_job_is_in_the_spec(resolved):
    task = "minFailedTaskCount: null\n    minSucceededTaskCount: 1"
    text = job(task=task).replace("gpu: 0}", "gpu: 0, shmMB: 32}, portList: [{label: http, "
                                  "beginAt: 8000, portNumber: 2}]") + "retryCount: -2\n"
    spec = resolved(text + "virtualCluster: $$model$$\n")
    assert (spec.retry_count, spec.virtual_cluster, spec.origin) == (-2, "resnet20", {})
    role = spec.task_roles[0]
    assert (role.min_failed_task_count, role.min_succeeded_task_count) == (None, 1)
    assert role.ports == (PortRequest(label="http", begin_at=8000, count=2),)
    assert role.resources.shm_mb == 32 and role.image.uri == "debian:12"


def test_what_the_queue_asks_is_in_the_spec(resolved):
    spec = resolved(job() + "priority: -5\ntimeLimitMinutes: 90\ngpuType: A100\n")
    assert (spec.priority, spec.time_limit_s, spec.gpu_type) == (-5, 5400, "A100")
    spec = resolved(job())
    assert (spec.priority, spec.time_limit_s, spec.gpu_type) == (0, None, "")


def test_an_inline_prerequisite_reads_files_beside_its_job(catalog, role_of):
    entry = catalog.get("job/numbers")
    item, = role_of(entry.text, entry=entry).data
    assert item == Input(
        kind="git", uri=catalog.store(entry.source_id).url, path="lib/files/a.csv",
        commit=entry.files_commit, target="mnist/a.csv", sha256=hashlib.sha256(b"new").hexdigest())


def test_a_pasted_text_has_no_files_beside_it(problems_of):
    problem, = problems_of(job(uri="../lib/files/a.csv"))
    assert (problem.path, problem.line) == ("prerequisites[1].uri", 20)
    assert "is relative, but this text is in no repository" in problem.message


def test_a_prerequisite_from_the_marketplace_has_its_own_files(role_of):
    role = role_of(job("ls $$data$$", task="data: digits\n    script: shelf:script/train@1.0.0"))
    assert [(item.path, item.target) for item in role.inputs] == [
        ("lib/files/a.csv", "digits/a.csv"), ("", "digits/b"), ("lib", "train/lib")]
    assert role.commands == ("ls digits",)


def test_an_old_version_has_the_files_of_its_time(role_of):
    new, old = (role_of(job(task=f"data: digits@{version}")).data[0]
                for version in ("2.0.0", "1.0.0"))
    assert new.sha256 == hashlib.sha256(b"new").hexdigest()
    assert old.sha256 == hashlib.sha256(b"old, corrected").hexdigest()


def test_a_listed_reference_says_the_version_of_a_name(role_of):
    text = job(task="data: digits")
    assert len(role_of(text).data) == 2
    assert len(role_of(text + "  - data/digits@1.0.0\n").data) == 1


def test_a_parameter_may_choose_the_data(role_of, problems_of):
    text = job(task="data: $$model$$").replace("name: mnist", "name: resnet20")
    assert role_of(text).data[0].target == "resnet20/mnist.npz"
    problem, = problems_of(text, parameters={"model": "vgg"})
    assert (problem.path, problem.line) == ("tasks[0].data", 14)


def test_an_output_is_a_storage_by_another_name(role_of):
    text = job("cp x $$output$$/models", task="output: my_model") + \
        "  - {name: my_model, type: output, uri: models}\n"
    role = role_of(text)
    assert [(item.kind, item.uri, item.target) for item in role.storage] == [
        ("storage", "models", "my_model/models")]
    assert role.commands == ("cp x my_model/models",)


def test_the_only_image_may_come_from_the_marketplace(role_of):
    inline = '{name: debian, type: dockerimage, uri: "debian:12"}'
    role = role_of(job("$$dockerimage$$").replace(inline, "py\n  - other"))
    assert role.image.uri == "python:3.11" and role.commands == ("py",)


@pytest.mark.parametrize("listed", ["px", "py\n  - dockerimage/py@1.0.0"])
def test_a_task_without_image_needs_exactly_one(problems_of, listed):
    inline = '{name: debian, type: dockerimage, uri: "debian:12"}'
    problem, = problems_of(job().replace(inline, listed))
    assert "names no `dockerimage`" in problem.message and problem.line == 13


def test_a_name_that_is_nowhere_is_refused_with_what_is_near(problems_of):
    problem, = problems_of(job(task="data: digit"))
    assert (problem.path, problem.line) == ("tasks[0].data", 14)
    assert problem.message == (
        "No data `digit` is among the prerequisites or in the marketplace. Did you mean "
        "`data/digits`? Correct the name, or write it out in `prerequisites`.")


def test_two_inputs_cannot_be_at_one_place(problems_of):
    problem, = problems_of(job(uri="[https://h.org/a.csv, https://other.org/a.csv]"))
    assert problem.path == "tasks[0]" and "would both be `mnist/a.csv`" in problem.message


def test_only_jobs_can_be_submitted(catalog):
    with pytest.raises(InvalidInputError, match="`data/other@1.0.0` is of type data. Only jobs "):
        resolve(parse(catalog.get("other").text), catalog=catalog, user="alice")


def test_two_tasks_with_the_same_fault_in_one_prerequisite_tell_it_once(problems_of):
    text = job(uri="ftp://x/y")
    task = text[text.index("  - role"):text.index("prerequisites")]
    assert len(problems_of(text.replace("prerequisites", task.replace("worker", "ps")
                                        + "prerequisites"))) == 1


@needs_shared
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_each_real_job_becomes_a_job_spec_without_references(resolved, path):
    spec = resolved(path.read_text("utf-8"))
    assert all("$$" not in command for role in spec.task_roles for command in role.commands)
    assert all(role.image.uri.startswith("openpai/") for role in spec.task_roles)


@needs_shared
def test_the_real_cifar10_job_gets_its_values_data_and_pinned_script(role_of):
    text = (REAL[0].parent / "tensorflow_cifar10.yaml").read_text("utf-8")
    worker = role_of(text, parameters={"model": "vgg16"})
    assert "--data_name=cifar10 " in worker.commands[2]
    assert worker.commands[2].endswith("--model=vgg16 --batch_size=32")
    assert worker.script[0].commit == "6a33b4a4b5bda950bb7e45faf13120115cbfdb2f"
    assert replace(worker.data[0], uri="") == Input(
        kind="file", uri="", target="cifar10/cifar-10-python.tar.gz")
