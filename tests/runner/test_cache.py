"""The cache of inputs: one entry, one lock; nothing half-finished is ever seen."""
import os
import subprocess
import sys
import threading
import time

import pytest

from runner.cache import FRESH_S, PART_LIFETIME_S, Cache, FetchCancelled, Watch, remove

PATIENT = {"report": lambda *_: None, "is_cancelled": lambda: False}


def watch(**values):
    return Watch(**{**PATIENT, **values})


def test_a_finished_file_is_kept_read_only_under_its_checksum(tmp_path):
    cache, part = Cache(tmp_path), tmp_path / "parts/x"
    part.write_bytes(b"abc")
    cache.adopt(part, "ba78")
    assert cache.has_file("ba78") and not part.exists()
    assert cache.file("ba78").read_bytes() == b"abc"
    assert cache.file("ba78").stat().st_mode & 0o777 == 0o444


def test_the_same_content_twice_is_kept_once(tmp_path):
    cache = Cache(tmp_path)
    for name in "xy":
        (cache.parts / name).write_bytes(b"abc")
        cache.adopt(cache.parts / name, "ba78")
    assert [path.name for path in cache.data.iterdir()] == ["ba78"]
    assert not list(cache.parts.iterdir())


def test_a_note_that_was_never_finished_is_no_note(tmp_path):
    cache = Cache(tmp_path)
    assert cache.note("k") == {}
    cache.take_note("k", {"a": 1})
    assert cache.note("k") == {"a": 1}
    (tmp_path / "notes/k").write_text('{"a":')
    assert cache.note("k") == {}


def test_threads_take_turns_at_an_entry(tmp_path):
    cache, inside, most = Cache(tmp_path), [], []

    def work():
        with cache.lock("k", watch()):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_whoever_waits_says_so_and_can_be_cancelled(tmp_path):
    cache, reports, cancelled = Cache(tmp_path), [], []
    waiting = watch(report=lambda *values: (reports.append(values), cancelled.append(1)),
                    is_cancelled=lambda: bool(cancelled))
    with cache.lock("k", watch()), pytest.raises(FetchCancelled):
        with cache.lock("k", waiting):
            raise AssertionError("two at once")
    assert reports == [("Waiting for another job that fetches the same", 0, None)]


def test_a_lock_ends_with_the_process_that_held_it(tmp_path):
    cache = Cache(tmp_path)
    program = ("import sys, time; from pathlib import Path; from runner.cache import Cache, Watch\n"
               "watch = Watch(report=print, is_cancelled=lambda: False)\n"
               f"with Cache(Path({str(tmp_path)!r})).lock('k', watch):\n"
               "    print('held', flush=True); time.sleep(60)")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        tries = []
        impatient = watch(is_cancelled=lambda: tries.append(1) or True)
        with pytest.raises(FetchCancelled), cache.lock("k", impatient):
            raise AssertionError("two at once")
        holder.kill()
    with cache.lock("k", watch()):
        assert tries == [1]


def test_what_a_kill_left_is_removed_at_the_next_start(tmp_path):
    cache = Cache(tmp_path)
    (cache.new / "k.git/objects").mkdir(parents=True)
    for name in ("old", "old.json", "young"):
        (cache.parts / name).write_text("x")
    long_ago = time.time() - PART_LIFETIME_S - 1
    for name in ("old", "old.json"):
        os.utime(cache.parts / name, (long_ago, long_ago))
    Cache(tmp_path)
    assert not list(cache.new.iterdir())
    assert [path.name for path in cache.parts.iterdir()] == ["young"]


def test_what_is_in_work_is_not_removed_at_the_start_of_another(tmp_path):
    cache = Cache(tmp_path)
    with cache.lock("k", watch()):
        (cache.new / "k.git").mkdir()
        Cache(tmp_path)
        assert (cache.new / "k.git").exists()


def test_removing_a_link_leaves_what_it_points_to(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove(tmp_path / "link")
    remove(tmp_path / "nothing")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_progress_tells_how_fast_bytes_come_once_that_is_known(monkeypatch):
    clock, said = [100.0], []
    monkeypatch.setattr("runner.cache.time.monotonic", lambda: clock[0])
    watching = watch(report=lambda text, *_: said.append(text))
    for at_s, current in ((100, 0), (102, 8_000_000), (104, 16_000_000), (115, 16_000_000),
                          (120, 0), (121, 500_000)):
        clock[0] = at_s
        watching.progress("Fetching a", current, 20_000_000)
    assert said == ["Fetching a", "Fetching a, 4.0 MB/s", "Fetching a, 4.0 MB/s", "Fetching a",
                    "Fetching a", "Fetching a, 0.5 MB/s"]
    watching.progress("Fetching r (objects)", 3, 3, is_bytes=False)
    assert said[-1] == "Fetching r (objects)"


def test_progress_is_reported_now_and_then_and_at_the_end():
    reports = []
    watching = watch(report=lambda *values: reports.append(values))
    for current in (1, 2, 3):
        watching.progress("x", current, 3)
    assert [values[1:] for values in reports] == [(1, 3), (3, 3)]


@pytest.fixture
def filled(tmp_path):
    """Four files of 10 bytes, used in the order of their names, and a repository of 30."""
    cache = Cache(tmp_path)
    for name in "abcd":
        cache.file(name).write_bytes(b"0123456789")
    (cache.git / "k/objects").mkdir(parents=True)
    (cache.git / "k/objects/pack").write_bytes(b"0" * 30)
    for age, name in enumerate("dcbak", 1):
        cache.touch(name)
        moment = time.time() - age * FRESH_S
        os.utime(tmp_path / "used" / name, (moment, moment))
    return cache


def names(cache):
    return sorted(path.name for folder in (cache.data, cache.git) for path in folder.iterdir())


def test_what_was_used_longest_ago_goes_first_until_the_rest_fits(filled):
    assert filled.shrink(35, (), time.time()) == 40
    assert names(filled) == ["b", "c", "d"]
    assert filled.shrink(35, (), time.time()) == 0


def test_what_a_job_needs_and_what_was_just_used_stays(filled):
    filled.touch("d")
    assert filled.shrink(0, ("k", "b"), time.time()) == 20
    assert names(filled) == ["b", "d", "k"]


def test_what_somebody_works_on_stays(filled):
    with filled.lock("k", watch()):
        filled.shrink(0, (), time.time())
        assert "k" in names(filled)
    filled.shrink(0, (), time.time())
    assert names(filled) == []
