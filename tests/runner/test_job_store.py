import json
import sqlite3
from dataclasses import replace

import pytest

from runner import spec as states
from runner.errors import NotFoundError, RunnerError
from runner.job_query import JobQuery
from runner.job_store import JobStore, now
from runner.job_tables import MIGRATIONS, SCHEMA
from runner.scheduler import TaskPlacement, placement_from_json
from runner.sentence import Sentence
from runner.spec import Image, JobSpec, Resources, TaskRoleSpec


def spec(user="ann", name="train", instances=1):
    role = TaskRoleSpec(name="worker", image=Image(uri="busybox"), commands=("true",),
                        instances=instances)
    return JobSpec(name=name, user=user, task_roles=(role,))


def placed(tasks=1, ip=""):
    return {"tasks": [{"role": "worker", "index": index, "ip": ip} for index in range(tasks)]}


@pytest.fixture
def store(tmp_path):
    made = JobStore(tmp_path / "runner.db")
    yield made
    made.close()


def test_a_job_sent_twice_with_one_key_is_one_job(store):
    first, is_new = store.enqueue(spec(), "key")
    second, is_new_again = store.enqueue(spec(), "key")
    assert (first.id == second.id, is_new, is_new_again) == (True, True, False)


def test_a_stored_job_survives_the_process(store, tmp_path):
    job, _ = store.enqueue(spec(instances=3))
    again = JobStore(tmp_path / "runner.db")
    assert again.get(job.id).spec == spec(instances=3)
    again.close()


def test_an_unknown_job_is_not_found(store):
    with pytest.raises(NotFoundError, match="There is no job 'x'."):
        store.get("x")


def test_claiming_makes_an_attempt_with_every_task_once(store):
    job, _ = store.enqueue(spec(instances=2))
    assert store.claim(job.id, placed(2, ip="10.0.0.1")) == 1
    assert store.claim(job.id, placed(2, ip="10.0.0.1")) is None
    assert [(row["role"], row["idx"], row["state"], row["ip"]) for row in store.tasks(job.id, 1)] \
        == [("worker", 0, "WAITING", "10.0.0.1"), ("worker", 1, "WAITING", "10.0.0.1")]


def test_a_job_whose_stop_was_requested_is_not_claimed(store):
    job, _ = store.enqueue(spec())
    store.request_stop(job.id)
    assert store.claim(job.id, placed()) is None


def test_a_final_state_is_final(store):
    job, _ = store.enqueue(spec())
    store.transition(job.id, states.FAILED, "end", "no such machine")
    with pytest.raises(RunnerError, match="cannot go from FAILED to RUNNING"):
        store.transition(job.id, states.RUNNING, "run", "")
    assert store.request_stop(job.id).stop_requested is False


def test_the_first_decision_about_an_attempt_stays(store):
    job, _ = store.enqueue(spec())
    store.claim(job.id, placed())
    store.decide(job.id, 1, {"state": "FAILED"})
    store.decide(job.id, 1, {"state": "STOPPED"})
    assert store.attempt(job.id, 1)["decision"] == '{"state": "FAILED"}'


def test_a_retry_ends_the_attempt_and_waits_again_with_the_counts(store):
    job, _ = store.enqueue(spec())
    store.claim(job.id, placed())
    store.decide(job.id, 1, {"state": "FAILED"})
    store.transition(job.id, states.WAITING, "setup", "again", retries=1)
    assert (store.get(job.id).retries, store.attempt(job.id, 1)["state"]) == (1, "FAILED")
    assert store.claim(job.id, placed()) == 2


def test_lists_are_newest_first_by_user_and_state_and_paged(store):
    ids = [store.enqueue(spec(user))[0].id for user in ("ann", "bob", "ann", "ann")]
    store.transition(ids[0], states.STOPPED, "end", "")
    assert found(store, user="ann") == [ids[3], ids[2], ids[0]]
    last = store.get(ids[3])
    assert found(store, limit=1, user="ann", before=last.seq) == [ids[2]]
    assert found(store, states=("STOPPED",)) == [ids[0]]
    assert found(store, offset=1, limit=2) == [ids[2], ids[1]]
    counts = store.counts(JobQuery(user="ann", states=("STOPPED",)))
    assert (counts["WAITING"], counts["STOPPED"], counts["FAILED"]) == (2, 1, 0)


def found(store, *, offset=0, limit=-1, **wanted):
    return [job.id for job in store.find(JobQuery(**wanted), offset=offset, limit=limit)]


def test_jobs_are_found_by_a_part_of_the_name_as_it_is_written_and_by_their_number(store):
    names = ["cifar_10", "cifar-10", "mnist"]
    ids = {name: store.enqueue(replace(spec(), name=name))[0].id for name in names}
    assert found(store, text="FAR_1") == [ids["cifar_10"]]
    assert found(store, text="%") == []
    assert found(store, text=ids["mnist"][:8]) == [ids["mnist"]]
    assert found(store, sort="name") == [ids[name] for name in ("cifar-10", "cifar_10", "mnist")]


@pytest.mark.parametrize("template", [
    "hello", "job/hello", "parts:job/hello", "parts:job/hello@1.0.0", "hello@1.0.0"])
def test_jobs_are_found_by_the_template_that_they_came_from(store, template):
    for reference in ("job/hello@1.0.0", "job/othello@1.0.0", "job/hello_you@1.0.0"):
        store.enqueue(replace(spec(), origin={"source": "parts", "reference": reference}))
    job, = store.find(JobQuery(template=template))
    assert job.template == "parts:job/hello@1.0.0"


def test_what_others_run_of_private_sources_is_not_found_by_its_name(store):
    private, _ = store.enqueue(replace(spec("ann"), name="secret", origin={"private": "yes"}))
    assert found(store, text="secret", reader="bob") == []
    assert found(store, text="secret", reader="ann") == [private.id]
    assert found(store, reader="bob") == [private.id]


def test_a_note_is_an_event_only_when_it_says_something_new(store):
    job, _ = store.enqueue(spec())
    for _ in range(3):
        store.note(job.id, "queue", "Waits for 2 CPUs.")
    assert [(e["stage"], e["text"]) for e in store.events(job.id)] == [
        ("setup", "The job has arrived."), ("queue", "Waits for 2 CPUs.")]


def test_what_a_job_waits_for_is_told_once_however_its_numbers_change(store):
    job, _ = store.enqueue(spec())

    def waits(count, what="CPU"):
        store.note(job.id, "queue", Sentence(
            "Waits for {what}: {has}.", what=Sentence(what),
            has=Sentence("{count} free", count=count)), is_once=True)
    for count in (0, 1, 0, 2):
        waits(count)
    waits(0, "memory")
    waits(1)
    assert store.get(job.id).reason == "Waits for CPU: 1 free."
    assert [event["text"] for event in store.events(job.id)] == [
        "The job has arrived.", "Waits for CPU: 0 free.", "Waits for memory: 0 free."]


def test_that_a_job_is_tried_again_ends_one_attempt_and_what_comes_is_of_the_next(store):
    job, _ = store.enqueue(spec())
    store.claim(job.id, placed())
    store.transition(job.id, "WAITING", "setup", "It failed. Trying again.", retries=1)
    store.note(job.id, "image", "Image busybox is here.")
    store.claim(job.id, placed())
    assert [(event["stage"], event["attempt"]) for event in store.events(job.id)] == [
        ("setup", 0), ("run", 1), ("run", 1), ("image", 2), ("run", 2)]


def test_what_is_tried_again_before_it_ran_stays_with_the_stage_that_failed(store):
    job, _ = store.enqueue(spec())
    store.note(job.id, "image", "Pulls busybox.")
    store.transition(job.id, "WAITING", "setup", "It failed. Trying again.")
    assert [event["stage"] for event in store.events(job.id)] == ["setup", "image", "image"]


def test_a_database_of_another_release_is_refused_with_the_next_step(tmp_path):
    made = JobStore(tmp_path / "runner.db")
    made._db.execute("pragma user_version = 99")
    made.close()
    with pytest.raises(RunnerError, match="Start the release that wrote it"):
        JobStore(tmp_path / "runner.db")


def test_a_database_of_an_earlier_release_is_brought_up_to_date_with_its_jobs(tmp_path):
    path = tmp_path / "runner.db"
    old = sqlite3.connect(path)
    old.executescript(SCHEMA + "pragma user_version = 1;")
    kept = replace(spec(), origin={"source": "parts", "reference": "job/hello@1.0.0"})
    kept = replace(kept, task_roles=tuple(
        replace(role, instances=2, resources=Resources(gpu=3)) for role in kept.task_roles[:1]))
    old.execute("insert into jobs (id, user, name, virtual_cluster, state, stage, reason, spec,"
                " created_at) values ('1', 'ann', 'x', 'default', 'FAILED', 'end', '', ?, ?)",
                (json.dumps(kept.as_json()), now()))
    old.commit()
    old.close()
    store = JobStore(path)
    earlier = store.get("1")
    assert (earlier.template, earlier.gpus) == ("parts:job/hello@1.0.0", 6)
    job, _ = store.enqueue(spec())
    assert store.claim(job.id, placed(), share=0.5, limit_s=60) == 1
    row = store.attempt(job.id, 1)
    assert (row["share"], row["limit_s"]) == (0.5, 60)
    store.close()


def test_placements_of_an_earlier_release_get_the_addresses_of_their_machines(tmp_path):
    path = tmp_path / "runner.db"
    store = JobStore(path)
    job, _ = store.enqueue(spec(instances=2))
    store.claim(job.id, placed(2, ip="10.0.0.1"))
    store.close()
    old = sqlite3.connect(path)
    old.execute("update attempts set placement = ?", (json.dumps({"host_network": True, "tasks": [
        {"role": "worker", "index": index, "gpus": [], "ports": {"http": [20000 + index]}}
        for index in range(2)]}),))
    old.executescript(MIGRATIONS[1])
    old.close()
    store = JobStore(path)
    assert placement_from_json(store.attempt(job.id, 1)["placement"]).tasks == tuple(
        TaskPlacement(role="worker", index=index, ip="10.0.0.1", gpus=(),
                      ports={"http": (20000 + index,)}) for index in range(2))
    store.close()


def test_what_a_user_had_and_how_long_a_job_took_are_told(store):
    for state in ("SUCCEEDED", "FAILED"):
        job, _ = store.enqueue(spec())
        store.claim(job.id, placed(), share=0.25)
        store.transition(job.id, state, "end", "")
    assert [(row["user"], row["share"]) for row in store.ended_since("2000-01-01")] \
        == [("ann", 0.25)] * 2
    assert store.ended_since("2999-01-01") == []
    assert len(store.last_runs("ann", "train", 10)) == 1
    assert store.last_runs("bob", "train", 10) == []


def test_a_setting_is_kept_until_it_is_forgotten(store):
    assert store.setting("queue") is None
    store.change_setting("queue", "paused")
    store.change_setting("queue", "draining")
    assert store.setting("queue") == "draining"
    store.change_setting("queue", None)
    assert store.setting("queue") is None


def test_what_is_said_of_a_job_keeps_what_it_is_made_of_and_old_texts_stay_as_they_are(store):
    job, _ = store.enqueue(spec())
    text = Sentence("Image {uri} is here.", uri="busybox")
    store.note(job.id, "image", text)
    store.note(job.id, "image", text)
    store.note(job.id, "queue", "Said by an earlier release.")
    first, second, third = (event["text"] for event in store.events(job.id))
    assert second == "Image busybox is here." and second.values == {"uri": "busybox"}
    assert first.template == "The job has arrived." and not isinstance(third, Sentence)
    assert store.get(job.id).reason == "Said by an earlier release."
