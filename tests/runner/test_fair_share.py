"""Who had little lately comes first."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.fair_share import FairShare

HOUR, DAY = 3600.0, 86400.0


def test_an_hour_of_the_whole_machine_counts_nearly_an_hour_and_half_of_it_half():
    shares = FairShare()
    shares.add("ann", 1.0, 0, HOUR)
    shares.add("bob", 0.5, 0, HOUR)
    assert shares.of("ann", HOUR) == pytest.approx(HOUR, rel=0.02)
    assert shares.of("bob", HOUR) == shares.of("ann", HOUR) / 2
    assert shares.of("eve", HOUR) == 0


def test_what_was_a_day_ago_counts_half():
    shares = FairShare()
    shares.add("ann", 1.0, 0, HOUR)
    assert shares.of("ann", HOUR + DAY) == pytest.approx(shares.of("ann", HOUR) / 2)


def test_a_job_that_still_runs_counts_up_to_now():
    shares = FairShare()
    shares.add("bob", 0.5, 0, HOUR)
    assert shares.of("ann", HOUR, held=[(0.5, 0)]) == shares.of("bob", HOUR)


def test_a_clock_that_steps_back_counts_nothing_and_takes_nothing_away():
    shares = FairShare()
    shares.add("ann", 1.0, 0, HOUR)
    before = shares.of("ann", HOUR)
    shares.add("ann", 1.0, HOUR, HOUR - 100)
    assert shares.of("ann", HOUR - 100) == before


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e6), st.floats(0, 1e6)), max_size=6))
def test_the_order_in_which_jobs_are_counted_does_not_matter(jobs):
    forward, backward = FairShare(), FairShare()
    for share, begin_s, lasted_s in jobs:
        forward.add("ann", share, begin_s, begin_s + lasted_s)
    for share, begin_s, lasted_s in reversed(jobs):
        backward.add("ann", share, begin_s, begin_s + lasted_s)
    assert forward.of("ann", 3e6) == pytest.approx(backward.of("ann", 3e6))
