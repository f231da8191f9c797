import threading

import pytest

from runner.artifacts import JobFolders
from runner.errors import InvalidSpecError
from runner.job_store import JobStore
from runner.logs import Logs, MergedQuery, timed_text
from runner.spec import FAILED, SUCCEEDED, WAITING, job_spec_from_json
from runner.task_log import LogQuota, TaskLog
from tests.functional.runner_process import task_role

LONG_AGO = 1_000_000_000.0
SPEC = {"name": "n", "user": "ann", "task_roles": [
    task_role("ps", "true"), task_role("worker", "true", instances=2)]}
TASKS = [("ps", 0), ("worker", 0), ("worker", 1)]


class Home:
    """One job of three tasks, its logs, and who reads them."""

    def __init__(self, folder):
        self.folders, self.store = JobFolders(folder / "jobs"), JobStore(folder / "db")
        self.logs = Logs(self.folders, self.store)
        self.job_id = self.store.enqueue(job_spec_from_json(SPEC))[0].id
        self.attempt()

    def attempt(self):
        placement = {"tasks": [{"role": role, "index": index, "ip": "127.0.0.1", "gpus": [],
                                "ports": {}} for role, index in TASKS], "host_network": False}
        self.store.claim(self.job_id, placement)

    def write(self, attempt, role, index, *lines, is_complete=False):
        log = TaskLog(self.folders.log(self.job_id, attempt, role, index), LogQuota(1 << 30, 0))
        for time, stream, data in lines:
            log.append(stream, data, LONG_AGO + time)
        log.close(is_complete=is_complete)
        self.logs.grew()

    def page(self, wait_s=0, **query):
        return self.logs.read_merged(MergedQuery(job_id=self.job_id, **query), wait_s)

    def pages(self, **query):
        found, cursor = [], ""
        while not (page := self.page(cursor=cursor, **query)).is_complete:
            found += texts(page)
            cursor = page.cursor
        return found


def texts(page):
    return [(each.attempt, f"{each.role}-{each.index}", each.line.text.decode())
            for each in page.lines]


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path)
    made.write(1, "ps", 0, (1, "stdout", b"a\n"), (4, "stderr", b"d\n"), is_complete=True)
    made.write(1, "worker", 0, (2, "stdout", b"b\n"), is_complete=True)
    made.write(1, "worker", 1, (3, "stdout", b"c\n"), (5, "stdout", b"e"), is_complete=True)
    yield made
    made.store.close()


@pytest.mark.parametrize("limit", [1, 2, 1000])
def test_lines_of_all_tasks_and_attempts_come_in_their_order_page_by_page(home, limit):
    home.store.transition(home.job_id, WAITING, "setup", "again")
    home.attempt()
    home.write(2, "worker", 0, (6, "stdout", b"f\n"), is_complete=True)
    home.store.transition(home.job_id, SUCCEEDED, "end", "good")
    assert home.pages(limit=limit) == [
        (1, "ps-0", "a"), (1, "worker-0", "b"), (1, "worker-1", "c"), (1, "ps-0", "d"),
        (1, "worker-1", "e"), (2, "worker-0", "f")]
    assert home.pages(limit=limit, attempt=2) == [(2, "worker-0", "f")]


def test_one_role_or_one_stream_of_it_can_be_asked_for(home):
    home.store.transition(home.job_id, FAILED, "end", "bad")
    assert [text for *_, text in home.pages(role="worker")] == ["b", "c", "e"]
    assert [text for *_, text in home.pages(stream="stderr")] == ["d"]
    assert home.pages(role="none") == []


def test_a_reader_waits_for_the_next_line_and_for_the_end_of_the_job(home):
    cursor = home.page().cursor
    timer = threading.Timer(0.1, lambda: home.store.transition(
        home.job_id, SUCCEEDED, "end", "good"))
    timer.start()
    page = home.page(cursor=cursor, wait_s=60)
    assert page.is_complete and page.lines == []
    timer.join()


def test_a_reader_who_comes_before_the_first_line_gets_it_with_the_first_answer(tmp_path):
    home = Home(tmp_path)
    timer = threading.Timer(0.1, home.write, (1, "ps", 0, (1, "stdout", b"first\n")))
    timer.start()
    assert texts(home.page(wait_s=60)) == [(1, "ps-0", "first")]
    timer.join()
    home.store.close()


@pytest.mark.parametrize("cursor", ["x", "1.2", "1.0.0", "1.-1.0", "1" * 40, "1..", "é", "1.0.0.0"])
def test_a_cursor_that_no_page_gave_is_refused(home, cursor):
    with pytest.raises(InvalidSpecError, match="There is no cursor"):
        home.page(cursor=cursor)


def test_the_text_of_all_tasks_has_task_and_time_before_each_line(home):
    query = MergedQuery(job_id=home.job_id)
    assert b"".join(home.logs.text(query, has_times=False)).startswith(
        b"1/ps-0 | a\n1/worker-0 | b\n")
    assert b"".join(home.logs.text(query, has_times=True)).startswith(
        b"2001-09-09T01:46:41.000Z 1/ps-0 | a\n")


def test_the_text_of_one_task_has_the_time_before_each_line(home):
    path = home.folders.log(home.job_id, 1, "ps", 0)
    assert b"".join(timed_text(path)) == (
        b"2001-09-09T01:46:41.000Z a\n2001-09-09T01:46:44.000Z d\n")
    assert b"".join(timed_text(path, "stderr")) == b"2001-09-09T01:46:44.000Z d\n"


def test_many_tasks_and_long_lines_make_pages_of_bounded_size(home):
    home.write(1, "worker", 0, *[(9, "stdout", b"x" * 9000 + b"\n")] * 300)
    page = home.page(limit=5000, role="worker")
    assert 1 << 20 <= sum(len(each.line.text) for each in page.lines) < (1 << 20) + 9000
