"""What followers hear of the runner's changes, by a connection that they share."""
import pytest

from registry.runner_client import RunnerClient
from registry.tickets import LIFETIME_S, Ticket, Tickets
from registry.views.terminals import IDLE_S, WARN_S, Idle
from registry.watch import News, Watch
from tests.fakes.fake_runner import FakeRunner

WAIT_S = 60
SPEC = {"name": "x", "user": "ann", "origin": {}, "task_roles": [
    {"name": "main", "instances": 1, "resources": {"gpu": 0}, "ports": []}]}


@pytest.fixture
def runner(tmp_path):
    runner = FakeRunner(tmp_path)
    yield runner
    runner.close()


@pytest.fixture
def watch(runner):
    return Watch(RunnerClient(runner.url))


def heard(follower, is_true):
    """All news up to those after which that is true of them together."""
    found = News()
    while not is_true(found):
        news = follower.wait(WAIT_S)
        found = News(jobs=found.jobs | news.jobs, has_log=found.has_log or news.has_log,
                     is_all=found.is_all or news.is_all, is_away=news.is_away)
    return found


def settled(runner, follower, id_):
    """Until changes are told one by one: at first all that is said is that there may be some."""
    runner.changes.changed(id_)
    while id_ not in follower.wait(1).jobs:
        runner.changes.changed(id_)


def test_who_follows_one_job_hears_of_it_alone_and_who_follows_all_of_each(runner, watch):
    mine, other = (runner.enqueue(SPEC, None)[0]["id"] for _ in range(2))
    with watch.follow(mine) as one, watch.follow() as all_:
        assert one.wait(WAIT_S).is_all and all_.wait(WAIT_S).is_all
        settled(runner, one, mine)
        runner.start(other)
        runner.start(mine)
        runner.write(mine, "a line\n")
        found = heard(one, lambda news: news.jobs and news.has_log)
        assert set(found.jobs) == {mine} and found.jobs[mine]["state"] == "RUNNING"
        assert heard(all_, lambda news: other in news.jobs).jobs[other]["name"] == "x"


def test_a_runner_that_is_away_is_told_and_what_happened_meanwhile_is_looked_for(runner, watch):
    with watch.follow() as follower:
        heard(follower, lambda news: news.is_all)
        runner.close()
        heard(follower, lambda news: news.is_away)
        runner.__init__(runner.path.parent)
        heard(follower, lambda news: news.is_all and not news.is_away)


def test_who_comes_while_others_wait_hears_what_comes_after(runner, watch):
    with watch.follow() as first:
        settled(runner, first, runner.enqueue(SPEC, None)[0]["id"])
        with watch.follow() as second:
            assert second.wait(WAIT_S).is_all
            made = runner.enqueue(SPEC, None)[0]["id"]
            assert made in heard(second, lambda news: news.jobs).jobs


def test_a_ticket_serves_once_and_not_for_long():
    now = [0.0]
    tickets = Tickets(clock=lambda: now[0])
    ticket = Ticket(user_id=1, epoch=0, job_id="x", attempt=1, role="main", index=0)
    first, second = tickets.give(ticket), tickets.give(ticket)
    assert first != second
    assert tickets.take(first) == ticket
    assert tickets.take(first) is None
    now[0] = LIFETIME_S
    assert tickets.take(second) is None
    assert tickets.take("") is None


def test_who_does_not_type_is_warned_once_and_a_key_begins_the_time_anew():
    idle = Idle(used_s=0)
    assert idle.look(IDLE_S - WARN_S - 1) == ""
    assert idle.look(IDLE_S - WARN_S) == "warn"
    assert idle.look(IDLE_S - 1) == ""
    assert idle.use(IDLE_S - 1) and not idle.use(IDLE_S)
    assert idle.look(IDLE_S + IDLE_S - WARN_S) == "warn"
    assert idle.look(IDLE_S + IDLE_S) == "end"
