from runner import clock

EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-01-01T01:00:00.500Z"


def test_within_one_boot_only_the_marks_count():
    assert clock.seconds("boot 10.000", "boot 12.500", written=(LATE, EARLY)) == 2.5


def test_over_a_reboot_the_times_as_written_count():
    assert clock.seconds("one 10.000", "other 2.500", written=(EARLY, LATE)) == 3600.5
    assert clock.seconds(None, "other 2.500", written=(EARLY, LATE)) == 3600.5


def test_a_clock_that_was_set_back_makes_nothing_last_less_than_no_time():
    assert clock.seconds(None, None, written=(LATE, EARLY)) == 0


def test_what_has_not_ended_has_lasted_for_no_known_time():
    assert clock.seconds("boot 10.000", None, written=(EARLY, None)) is None


def test_a_mark_is_before_a_later_one():
    assert 0 <= clock.seconds(clock.mark(), clock.mark(), written=(LATE, EARLY)) < 60
