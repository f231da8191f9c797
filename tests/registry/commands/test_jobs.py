"""submit, jobs, job, logs and stop."""
import json
import os
import time
from pathlib import Path

import pytest

from registry.api_client import ApiClient
from registry.job_stream import JobStream, Progress
from registry.log_printer import LogPrinter
from tests.fakes.scripted_server import DROP, Answer
from tests.registry.commands.bodies import job, lines, outlook, page

JOB = Path(__file__).parents[3] / "marketplace" / "job" / "digits_classifier.yaml"


def test_submit_prints_the_number_and_where_the_job_is(run, server):
    server.answers["POST /jobs"] = [Answer(job("WAITING"), 201)]
    code, out, err = run("submit", "job/digits", "-p", "epochs=3", "-p", "text=a=b",
                         "--name", "mine")
    assert (code, out) == (0, "7\n") and "http://server/jobs/7" in err
    assert server.requests[0].body == {"reference": "job/digits", "name": "mine",
                                       "parameters": {"epochs": "3", "text": "a=b"}}


def test_submit_of_a_file_sends_its_text(run, server):
    server.answers["POST /jobs"] = [Answer(job(), 201)]
    run("submit", JOB)
    assert server.requests[0].body == {"yaml": JOB.read_text(), "parameters": {}}


def test_a_dry_run_tells_what_the_job_would_find_and_runs_nothing(run, server):
    server.answers["POST /outlook"] = [outlook()]
    code, out, err = run("submit", "job/digits", "-p", "epochs=3", "--dry-run")
    assert code == 0 and "is deprecated" in err
    told = dict(line.split(":", 1) for line in out.splitlines()[:5])
    assert {name: value.strip() for name, value in told.items()} == {
        "fit": "now: 6 of 8 CPUs are free.", "free": "6 CPU, 12000 MiB, 0 GPU",
        "of": "8 CPU, 16000 MiB, 1 GPU", "to bring": "1.5 MB + 1 of unknown size",
        "starts": "as soon as all of it is here"}
    assert out.splitlines()[-3:] == ["image\there\tbusybox:1", "file\t1.5 MB\thttps://h.org/x",
                                     "git\tunknown\thttps://h.org/y"]
    assert [request.path for request in server.requests] == ["/outlook"]


def test_a_dry_run_of_what_never_fits_ends_with_1(run, server):
    server.answers["POST /outlook"] = [outlook(fit="never", reason="It wants 99 CPUs.")]
    code, out, _ = run("submit", "job/digits", "--dry-run", "--json")
    assert code == 1 and json.loads(out)["reason"] == "It wants 99 CPUs."
    assert run("submit", "job/digits", "--dry-run", "--follow")[0] == 2


def test_a_submission_that_is_cut_off_is_sent_again_with_the_same_key(run, server):
    server.answers["POST /jobs"] = [DROP, Answer({}, 503), Answer(job(), 201)]
    assert run("submit", "job/digits")[0] == 0
    keys = {request.headers["Idempotency-Key"] for request in server.requests}
    assert len(server.requests) == 3 and len(keys) == 1


def test_two_submissions_have_two_keys(run, server):
    server.answers["POST /jobs"] = [Answer(job(), 201)]
    run("submit", "job/digits")
    run("submit", "job/digits")
    assert len({request.headers["Idempotency-Key"] for request in server.requests}) == 2


def test_other_posts_are_not_sent_again(run, server):
    server.answers["POST /token"] = [DROP]
    assert run("login", "--username", "ann", "--password-stdin")[0] == 5
    assert len(server.requests) == 1


def test_an_invalid_job_is_told_with_the_place_in_its_file(run, server):
    server.answers["POST /jobs"] = [Answer(
        {"code": "InvalidComponent", "message": "1 problem.", "errors": [
            {"path": "tasks[0].role", "line": 4, "column": 9, "message": "is missing",
             "severity": "error"}]}, 400)]
    code, _, err = run("submit", JOB)
    assert code == 1 and f"{JOB}:4:9: tasks[0].role: is missing" in err


def test_a_parameter_without_a_value_is_wrong_usage(run):
    code, _, err = run("submit", "job/digits", "-p", "epochs")
    assert code == 2 and "write it as name=value" in err


def test_a_file_that_is_not_there_is_said_before_anything_is_sent(run, server, tmp_path):
    code, _, err = run("submit", tmp_path / "no.yaml")
    assert code == 1 and "cannot be read" in err and not server.requests


def test_follow_prints_log_and_events_and_succeeds_with_the_job(run, server):
    server.answers |= {
        "POST /jobs": [Answer(job("WAITING"), 201)],
        "GET /jobs/7": [job("WAITING", attempts=0, events=[("queue", "waits for a core")]),
                        job("RUNNING"), job("SUCCEEDED")],
        "GET /jobs/7/log": [page("epoch 1\nepo", offset=5, is_complete=False),
                            page("ch 2\n", offset=9)]}
    code, out, err = run("submit", "job/digits", "--follow")
    assert (code, out) == (0, "epoch 1\nepoch 2\n")
    assert "[queue] waits for a core" in err and "Job 7 SUCCEEDED: All is well." in err
    assert [each.query["offset"] for each in server.asked("GET /jobs/7/log")] == ["0", "5"]


def test_the_end_is_told_after_the_last_line_of_the_log(server):
    server.answers |= {"GET /jobs/7": [job(events=[("run", "runs"), ("end", "ended")])],
                       "GET /jobs/7/log": [page("last\n")]}
    changes = list(JobStream(ApiClient(server.url), 7).follow())
    assert [change.text for change in changes] == ["runs", "last\n", "ended"]


def test_progress_is_told_while_it_lasts_and_never_on_stdout(run, server):
    pulling = {"text": "Pulling", "current": 1, "total": 2}
    server.answers |= {"GET /jobs/7": [job("WAITING", attempts=0, progress=pulling), job()],
                       "GET /jobs/7/log": [page("x\n")]}
    changes = list(JobStream(ApiClient(server.url), 7).follow())
    assert changes[0] == Progress(text="Pulling", current=1, total=2)
    assert run("logs", "-f", "7")[:2] == (0, "x\n")


@pytest.mark.parametrize("state", ["FAILED", "STOPPED"])
def test_follow_fails_with_the_job(run, server, state):
    server.answers |= {"GET /jobs/7": [job(state)], "GET /jobs/7/log": [page("boom\n")]}
    assert run("logs", "-f", "7")[:2] == (1, "boom\n")


def test_follow_goes_on_to_the_next_attempt(run, server):
    server.answers |= {"GET /jobs/7": [job("RUNNING"), job("RUNNING", attempts=2), job(attempts=2)],
                       "GET /jobs/7/log": [page("first\n"), page("second\n")]}
    assert run("logs", "-f", "7")[1] == "first\nsecond\n"
    assert [each.query["attempt"] for each in server.asked("GET /jobs/7/log")] == ["1", "2"]


def test_lines_of_several_tasks_carry_their_task_and_come_in_the_order_of_time(run, server):
    server.answers |= {
        "GET /jobs/7": [job("RUNNING", instances=2), job(instances=2)],
        "GET /jobs/7/log/merged": [
            lines((1, "x"), cursor="1.5", is_complete=False),
            lines(cursor="1.5", is_complete=False),
            lines((0, "hello"), (1, "y"), cursor="1.9")]}
    out = run("logs", "-f", "7")[1]
    assert out.splitlines() == ["main-1 | x", "main-0 | hello", "main-1 | y"]
    assert [each.query.get("cursor") for each in server.asked("GET /jobs/7/log/merged")] == [
        None, "1.5", "1.5"]


def test_all_attempts_of_several_tasks_are_read_one_after_the_other(run, server):
    server.answers |= {"GET /jobs/7": [job(instances=2, attempts=2)],
                       "GET /jobs/7/log/merged": [lines((0, "first")), lines((1, "second"))]}
    assert run("logs", "--all", "7")[1] == "main-0 | first\nmain-1 | second\n"
    assert [each.query["attempt"] for each in server.asked("GET /jobs/7/log/merged")] == ["1", "2"]


def test_times_stand_before_lines_and_not_before_their_pieces(run, server, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    server.answers |= {"GET /jobs/7": [job()], "GET /jobs/7/log": [page("epo", "ch 1\nep")]}
    assert run("logs", "--times", "7")[1] == (
        "2026-01-02 03:04:05.000 epoch 1\n2026-01-02 03:04:05.000 ep\n")


def test_logs_without_follow_print_what_is_there(run, server):
    server.answers |= {"GET /jobs/7": [job("RUNNING")],
                       "GET /jobs/7/log": [page("a\n", offset=2, is_complete=False),
                                           page("b\n", offset=4, is_complete=False),
                                           page(offset=4, is_complete=False)]}
    assert run("logs", "7")[:2] == (0, "a\nb\n")


def test_logs_of_one_task_attempt_and_stream(run, server):
    server.answers |= {"GET /jobs/7": [job(attempts=3, instances=2)],
                       "GET /jobs/7/log": [page("x\n")]}
    run("logs", "7", "--role", "main", "--index", 1, "--attempt", 2, "--stream", "stderr")
    query = server.requests[-1].query
    assert [query[key] for key in ("role", "index", "attempt", "stream")] == \
        ["main", "1", "2", "stderr"]


def test_logs_of_a_task_that_is_not_there_name_the_tasks(run, server):
    server.answers["GET /jobs/7"] = [job(instances=2)]
    code, _, err = run("logs", "7", "--role", "worker")
    assert code == 4 and "Did you mean main-0, main-1?" in err


def test_logs_as_json_are_one_object_a_line(run, server):
    server.answers |= {"GET /jobs/7": [job()], "GET /jobs/7/log": [page("a\n")]}
    assert json.loads(run("logs", "7", "--json")[1]) == {
        "attempt": 1, "role": "main", "index": 0, "stream": "stdout",
        "time": "2026-01-02T03:04:05Z", "text": "a\n"}


def test_a_task_that_never_started_has_no_log_to_wait_for(run, server):
    server.answers["GET /jobs/7"] = [job("STOPPED", is_started=False)]
    assert run("logs", "-f", "7")[:2] == (1, "")


def test_jobs_are_listed_and_filtered(run, server):
    server.answers["GET /jobs"] = [{"jobs": [job()], "next": None}]
    out = run("jobs", "--state", "succeeded", "--all")[1]
    assert out.splitlines()[1].split("\t")[:4] == ["7", "digits", "ann", "SUCCEEDED"]
    assert server.requests[0].query == {"state": "SUCCEEDED", "limit": "20", "all": "true"}


def test_a_job_is_shown_with_its_tasks_and_events(run, server):
    server.answers["GET /jobs/7"] = [job(events=[("run", "started")])]
    out = run("job", "7")[1]
    assert "All is well." in out and "main-0\tSUCCEEDED\t0\t10.0.0.2" in out
    assert out.endswith("\trun\tstarted\n")


def test_stop_asks_for_each(run, server):
    server.answers["POST /jobs/7/stop"] = [Answer(job("RUNNING"), 202)]
    assert run("stop", "7")[:2] == (0, "7\tRUNNING\n")


def test_a_file_that_is_not_there_is_one_short_line(run):
    code, _, err = run("submit", "absent.yaml")
    assert (code, err) == (1, "paishare: absent.yaml cannot be read: No such file or directory.\n")


def test_following_ends_when_the_reader_of_the_pipe_has_gone():
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as out:
        printer = LogPrinter(is_json=False, is_prefixed=False, out=out)
        printer.check()
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            printer.check()
