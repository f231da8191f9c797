"""Marks: what changed since one, and what is said where that is not known any more."""
import threading

import pytest

from runner import changes
from runner.changes import Changes


@pytest.fixture
def told():
    return Changes()


def test_a_first_mark_says_that_anything_may_have_changed(told):
    told.changed("a")
    first = told.since("", 0)
    assert first.is_all and not first.jobs
    assert told.since(first.mark, 0).jobs == []


def test_each_mark_leads_to_what_changed_after_it_the_newest_first(told):
    mark = told.since("", 0).mark
    for job in ("a", "b", "a"):
        told.changed(job)
    told.grew("c")
    news = told.since(mark, 0)
    assert (news.jobs, news.logs, news.is_all) == (["a", "b"], ["c"], False)
    told.grew("a")
    later = told.since(news.mark, 0)
    assert (later.jobs, later.logs) == ([], ["a"])


def test_whoever_waits_is_told_when_something_happens_and_when_the_runner_ends(told):
    for act in (lambda: told.changed("a"), told.close):
        mark, found = told.since("", 0).mark, []
        waiting = threading.Thread(target=lambda: found.append(told.since(mark, 60)))
        waiting.start()
        act()
        waiting.join(60)
        assert len(found) == 1


@pytest.mark.parametrize("mark", ["another-1", "1", "x-y", "-", "another-99999999999999999999"])
def test_a_mark_of_another_runner_or_none_at_all_says_to_look_at_everything(told, mark):
    assert told.since(mark, 0).is_all


def test_a_mark_from_before_what_was_forgotten_says_so_too(told, monkeypatch):
    monkeypatch.setattr(changes, "KEPT", 3)
    old = told.since("", 0).mark
    told.changed("0")
    told.changed("1")
    new = told.since("", 0).mark
    told.changed("2")
    told.changed("3")
    assert told.since(old, 0).is_all
    assert told.since(new, 0).jobs == ["3", "2"]
