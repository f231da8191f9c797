"""How an attempt ends, why, and whether another one follows."""
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner import outcome
from runner.outcome import (
    Decision,
    TaskResult,
    backoff_s,
    decide,
    describe_exit,
    exit_cause,
    failed_start,
    should_retry,
)
from runner.spec import (
    FAILED,
    RUNNING,
    STOPPED,
    SUCCEEDED,
    WAITING,
    Image,
    JobSpec,
    Resources,
    TaskRoleSpec,
)


def job(*roles):
    return JobSpec(name="j", user="u", task_roles=tuple(
        TaskRoleSpec(name=name, image=Image(uri="x"), commands=("true",), instances=instances,
                     resources=Resources(memory_mb=1024), min_failed_task_count=failed,
                     min_succeeded_task_count=succeeded)
        for name, instances, failed, succeeded in roles))


def result(role, index, state, code=None, at=None, oom=False):
    codes = {SUCCEEDED: 0, FAILED: 1}
    return TaskResult(role=role, index=index, state=state, oom_killed=oom, finished_at=at,
                      exit_code=codes.get(state) if code is None else code)


SINGLE = job(("main", 1, 1, None))
TRAINING = job(("ps", 1, 1, None), ("worker", 2, 1, 2))


def test_a_job_goes_on_while_nothing_has_ended():
    assert decide(SINGLE, [result("main", 0, RUNNING)]) is None
    assert decide(TRAINING, [result("ps", 0, RUNNING), result("worker", 0, SUCCEEDED),
                             result("worker", 1, WAITING)]) is None


def test_a_single_task_that_succeeds_is_the_job():
    assert decide(SINGLE, [result("main", 0, SUCCEEDED)]) == Decision(
        state=SUCCEEDED, reason="The task succeeded.")


def test_a_single_task_that_fails_says_how():
    assert decide(SINGLE, [result("main", 0, FAILED, 3)]) == Decision(
        state=FAILED, cause="user", reason="The task failed: exit code 3.")


def test_the_first_failure_of_a_role_ends_the_job_and_is_named():
    tasks = [result("ps", 0, RUNNING), result("worker", 0, RUNNING),
             result("worker", 1, FAILED, 127)]
    assert decide(TRAINING, tasks) == Decision(state=FAILED, cause="user", reason=(
        "Task worker 1 failed: exit code 127: a command was not found in the image."))


def test_enough_successes_end_the_job_while_the_server_runs():
    tasks = [result("ps", 0, RUNNING), result("worker", 0, SUCCEEDED),
             result("worker", 1, SUCCEEDED)]
    assert decide(TRAINING, tasks) == Decision(state=SUCCEEDED, reason=(
        "2 tasks of role worker succeeded, which is enough for the job "
        "(minSucceededTaskCount: 2)."))


def test_the_second_failure_counts_where_two_are_asked_for():
    spec = job(("w", 3, 2, None))
    tasks = [result("w", 0, FAILED), result("w", 1, RUNNING), result("w", 2, FAILED)]
    assert decide(spec, tasks[:2]) is None
    assert decide(spec, tasks) == Decision(state=FAILED, cause="user", reason=(
        "Task w 2 failed: exit code 1. It is the failure number 2 in role w, where the job ends "
        "(minFailedTaskCount: 2)."))


def test_what_ended_first_decides_whatever_the_order_of_the_list():
    spec = job(("w", 2, 1, 1))
    failed = result("w", 0, FAILED, at="2026-01-01T00:00:02Z")
    succeeded = result("w", 1, SUCCEEDED, at="2026-01-01T00:00:01Z")
    assert decide(spec, [failed, succeeded]).state == SUCCEEDED
    assert decide(spec, [succeeded, failed]).state == SUCCEEDED


def test_without_a_limit_of_failures_a_job_succeeds_when_all_have_ended():
    spec = job(("w", 2, None, None))
    tasks = [result("w", 0, FAILED), result("w", 1, SUCCEEDED)]
    assert decide(spec, tasks) == Decision(state=SUCCEEDED, reason=(
        "All 2 tasks have ended. 1 of them failed (w 0), which minFailedTaskCount allows."))
    assert decide(job(("w", 1, None, None)), tasks[:1]) == Decision(
        state=SUCCEEDED, reason="The task has ended. It failed, which minFailedTaskCount allows.")


def test_tasks_that_were_stopped_count_neither_way():
    spec = job(("w", 2, 1, 1))
    assert decide(spec, [result("w", 0, STOPPED), result("w", 1, RUNNING)]) is None
    assert decide(spec, [result("w", 0, STOPPED), result("w", 1, STOPPED)]).state == STOPPED


def test_a_success_with_a_process_out_of_memory_carries_a_warning():
    decision = decide(SINGLE, [result("main", 0, SUCCEEDED, oom=True)])
    assert decision == Decision(state=SUCCEEDED, reason=(
        "The task succeeded. Warning: a process of task main 0 was killed for using more than its "
        "1024 MiB of memory; the result may be incomplete."))


def test_out_of_memory_is_a_cause_of_its_own():
    assert decide(SINGLE, [result("main", 0, FAILED, 137, oom=True)]) == Decision(
        state=FAILED, cause="memory", reason=(
            "The task failed: out of memory: the task used more than its 1024 MiB "
            "(exit code 137)."))


def test_a_lost_container_is_the_platforms_fault():
    lost = TaskResult(role="main", index=0, state=FAILED)
    assert decide(SINGLE, [lost]) == Decision(
        state=FAILED, cause="platform", reason="The task failed: its container was lost.")


def test_a_decision_survives_json():
    decision = decide(SINGLE, [result("main", 0, FAILED)])
    assert Decision(**json.loads(json.dumps(decision.as_json()))) == decision


@pytest.mark.parametrize("code, oom, text", [
    (0, False, "exit code 0"),
    (1, False, "exit code 1"),
    (126, False, "exit code 126: a command was found but may not be executed"),
    (127, False, "exit code 127: a command was not found in the image"),
    (128, False, "exit code 128"),
    (137, False, "exit code 137: killed (SIGKILL: by itself or from outside, but not for its own "
                 "memory limit)"),
    (139, False, "exit code 139: killed (SIGSEGV: it used memory that is not its own)"),
    (143, False, "exit code 143: killed (SIGTERM)"),
    (255, False, "exit code 255"),
    (137, True, "out of memory: the task used more than its 1024 MiB (exit code 137)"),
    (0, True, "exit code 0, but a process was killed for using more than the task's 1024 MiB"),
])
def test_exit_codes_in_words(code, oom, text):
    assert describe_exit(code, oom, memory_mb=1024) == text


@pytest.mark.parametrize("code, oom, cause", [
    (0, True, ""), (1, False, "user"), (137, False, "user"), (137, True, "memory"),
    (139, False, "crash"), (None, False, "platform")])
def test_causes_of_exits(code, oom, cause):
    assert exit_cause(code, oom) == cause


@pytest.mark.parametrize("text, is_platform, cause", [
    ("Starting: no such file /bin/sh.", False, "image"),
    ("Docker does not answer.", True, "platform"),
    ("Bind for 0.0.0.0:8080 failed: port is already allocated", True, "port")])
def test_a_start_that_failed(text, is_platform, cause):
    decision = failed_start(text, is_platform=is_platform)
    assert (decision.state, decision.cause) == (FAILED, cause)
    assert decision.reason == f"The job could not be started: {text.rstrip('.')}."


def wants(retry_count, cause, done=0, faults=0, state=FAILED):
    return should_retry(retry_count, done, Decision(state=state, cause=cause, reason=""), faults)


def test_a_failure_of_the_user_is_tried_again_as_often_as_asked():
    assert [wants(2, "user", done) for done in range(4)] == [True, True, False, False]
    assert not wants(0, "user")
    assert wants(-1, "user", 10_000)


def test_what_would_happen_again_is_not_tried_again():
    for cause in ("memory", "crash", "image", "staging", "stopped"):
        assert not wants(5, cause)
        assert not wants(-1, cause)


def test_a_service_starts_again_whatever_its_end_but_a_stop():
    assert wants(-2, "", 99, state=SUCCEEDED)
    assert wants(-2, "memory") and wants(-2, "crash") and wants(-2, "user")
    assert not wants(-2, "stopped", state=STOPPED)


def test_a_success_is_the_end():
    assert not wants(5, "", state=SUCCEEDED)
    assert not wants(-1, "", state=SUCCEEDED)


def test_faults_of_the_platform_are_free_five_times_in_a_row():
    for cause in outcome.PLATFORM_CAUSES:
        assert [wants(0, cause, faults=count) for count in (1, 5, 6)] == [True, True, False]


def test_waiting_doubles_up_to_a_minute():
    assert [backoff_s(tries) for tries in (0, 1, 2, 3, 7, 10**9)] == [0, 1, 2, 4, 60, 60]


ROLES = st.lists(st.tuples(st.integers(1, 3), st.none() | st.integers(1, 3),
                           st.none() | st.integers(1, 3)), min_size=1, max_size=3)


@settings(deadline=None)
@given(ROLES, st.data())
def test_a_decision_once_made_stays_and_comes_at_the_end_at_the_latest(roles, data):
    spec = job(*((f"r{i}", *role) for i, role in enumerate(roles)))
    slots = [(role.name, i) for role in spec.task_roles for i in range(role.instances)]
    order = data.draw(st.permutations(slots))
    ended, first = [], None
    for when, slot in enumerate(order):
        state = data.draw(st.sampled_from([SUCCEEDED, FAILED]))
        ended.append(result(*slot, state, at=f"{when:04}"))
        running = [result(*other, RUNNING) for other in order[when + 1:]]
        decision = decide(spec, data.draw(st.permutations(ended + running)))
        assert first is None or decision.state == first.state
        first = first or decision
    assert first is not None
