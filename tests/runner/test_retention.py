from datetime import UTC, datetime, timedelta

import pytest

from runner.artifacts import JobFolders
from runner.job_store import JobStore
from runner.retention import Retention, Rules
from runner.spec import FAILED, job_spec_from_json
from runner.task_log import LogQuota, TaskLog, read_log
from tests.functional.runner_process import spec

MB = 1 << 20


class Home:
    """Jobs that left a log and a file of one MiB each."""

    def __init__(self, folder):
        self.folders, self.store = JobFolders(folder / "jobs"), JobStore(folder / "db")

    def job(self, *, is_ended=True):
        job_id = self.store.enqueue(job_spec_from_json(spec("true")))[0].id
        where = (job_id, 1, "main", 0)
        log = TaskLog(self.folders.log(*where), LogQuota(1 << 20, 0))
        log.append("stdout", b"text\n")
        log.close(is_complete=True)
        self.folders.output(*where).mkdir()
        (self.folders.output(*where) / "model").write_bytes(bytes(MB))
        (self.folders.root / job_id / "1" / "receipt.json").write_text("{}")
        if is_ended:
            self.store.transition(job_id, FAILED, "end", "It is good.")
        return job_id

    def apply(self, *, days_later=0.0, **rules):
        return Retention(Rules(**rules), self.folders, self.store).apply(
            datetime.now(UTC) + timedelta(days=days_later))

    def log(self, job_id):
        records, _, is_complete = read_log(self.folders.log(job_id, 1, "main", 0), 0, 1000)
        assert is_complete
        return records[0].data.decode()

    def left(self):
        return [job_id for job_id, _ in self.store.ended_jobs() if self.folders.artifacts(job_id)]


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path)
    yield made
    made.store.close()


def test_without_a_rule_everything_stays_for_ever(home):
    job = home.job()
    assert home.apply(days_later=10_000) == 0
    assert home.log(job) == "text\n" and home.left() == [job]


def test_what_is_older_than_its_days_goes_and_says_so_everywhere(home):
    job = home.job()
    assert home.apply(days=30, days_later=29) == 0
    assert home.apply(days=30, days_later=31) > MB
    assert home.left() == []
    notice = home.folders.notice(job)
    assert "were removed on" in notice and "after 30 days (RUNNER_KEEP_DAYS)" in notice
    assert home.log(job) == f"{notice}\n"
    assert home.store.events(job)[-1]["text"] == notice
    assert home.store.get(job).reason == "It is good."
    assert (home.folders.root / job / "1" / "receipt.json").exists()


def test_a_removal_happens_and_is_said_once(home):
    job = home.job()
    home.apply(days=30, days_later=31)
    notice, events = home.folders.notice(job), home.store.events(job)
    assert home.apply(days=30, days_later=99) == 0
    assert home.folders.notice(job) == notice and home.store.events(job) == events


def test_above_the_size_those_go_that_ended_first_and_no_more_than_needed(home):
    jobs = [home.job() for _ in range(4)]
    home.apply(size_mb=3)
    assert home.left() == jobs[2:]
    home.apply(size_mb=3)
    assert home.left() == jobs[2:]


def test_a_job_that_has_not_ended_loses_nothing(home):
    job = home.job(is_ended=False)
    assert home.apply(days=1, size_mb=1, days_later=1000) == 0
    assert home.folders.artifacts(job) and home.log(job) == "text\n"


def test_a_removal_that_a_kill_cut_short_is_finished_the_next_time(home):
    job = home.job()
    home.folders.leave_notice(job, "It was removed on a day.")
    home.apply(days=1, days_later=2)
    assert home.left() == [] and home.log(job) == "It was removed on a day.\n"
    assert home.store.events(job)[-1]["text"] == "It was removed on a day."
