"""How many terminals there may be, and when one ends that nobody looks at; shells are stand-ins."""
import pytest

from runner import terminals
from runner.errors import BusyError, EngineError, NotFoundError
from runner.job_store import JobStore
from runner.scheduler import Placement, TaskPlacement
from runner.terminals import LEASE_S, Terminals
from tests.functional.engines import job, role


class StandIn:
    """An engine that opens shells which are nothing, and such a shell."""

    def __init__(self):
        self.opened, self.closed = [], []

    def open_console(self, gang, slot, columns, rows):
        self.opened.append((gang.key, slot, columns, rows))
        return self

    def close(self):
        self.closed.append(True)
        raise EngineError("Docker does not answer.")


@pytest.fixture
def world(tmp_path):
    store, engine, now = JobStore(tmp_path / "runner.db"), StandIn(), [100.0]
    yield store, engine, now, Terminals(store, engine, clock=lambda: now[0])
    store.close()


@pytest.fixture
def running(world, monkeypatch):
    """The id of a job of which the first task runs and the second does not yet."""
    store, *_ = world
    monkeypatch.setattr("tests.functional.engines.digest_of", lambda image: None)
    made, _ = store.enqueue(job(role("main", instances=2)))
    placement = Placement(host_network=False, tasks=tuple(
        TaskPlacement(role="main", index=index, ip="", gpus=(), ports={}) for index in range(2)))
    store.claim(made.id, placement.as_json())
    store.update_task(made.id, 1, "main", 0, state="RUNNING")
    return made.id


def test_a_shell_is_opened_in_the_task_that_is_meant_in_the_size_that_is_wanted(world, running):
    _, engine, _, terminals_ = world
    id_ = terminals_.open(running, 1, ("main", 0), 99, 33)
    assert engine.opened == [((running, 1), ("main", 0), 99, 33)]
    assert terminals_.console(id_) is engine


def test_what_does_not_run_has_none(world, running):
    *_, terminals_ = world
    for slot, words in ((("main", 1), "does not run"), (("other", 0), "has no task other-0")):
        with pytest.raises(NotFoundError, match=words):
            terminals_.open(running, 1, slot, 80, 24)


def test_one_that_nobody_asks_for_any_more_is_closed_even_where_docker_is_away(world, running):
    _, engine, now, terminals_ = world
    left, used = (terminals_.open(running, 1, ("main", 0), 80, 24) for _ in range(2))
    now[0] += LEASE_S
    terminals_.console(used)
    now[0] += 1
    terminals_.expire()
    assert engine.closed == [True] and terminals_.console(used)
    with pytest.raises(NotFoundError, match="This terminal is closed"):
        terminals_.console(left)
    terminals_.close_all()
    assert engine.closed == [True, True]


def test_there_are_only_so_many_for_one_and_for_all(world, running, monkeypatch):
    *_, terminals_ = world
    first = terminals_.open(running, 1, ("main", 0), 80, 24)
    monkeypatch.setattr(terminals, "MAX_OF_USER", 1)
    with pytest.raises(BusyError, match="ann has 1 terminals open"):
        terminals_.open(running, 1, ("main", 0), 80, 24)
    terminals_.close(first)
    terminals_.open(running, 1, ("main", 0), 80, 24)
    monkeypatch.setattr(terminals, "MAX_OPEN", 1)
    monkeypatch.setattr(terminals, "MAX_OF_USER", 9)
    with pytest.raises(BusyError, match="1 terminals are open"):
        terminals_.open(running, 1, ("main", 0), 80, 24)
