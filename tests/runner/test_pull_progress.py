"""Docker's lines about a pull → layers, bytes, speed, and when the total is final."""
from runner.pull_progress import PullProgress


def line(layer, status, current=None, total=None):
    detail = {} if total is None else {"current": current, "total": total}
    return {"id": layer, "status": status, "progressDetail": detail}


def taken(*lines):
    progress = PullProgress(0.0)
    for number, each in enumerate(lines):
        progress.take(each, float(number))
    return progress


def test_the_total_is_final_when_every_layer_has_told_its_size():
    lines = [line("base", "Already exists"), line("a", "Pulling fs layer"),
             line("b", "Pulling fs layer"), line("a", "Downloading", 10, 100),
             line("b", "Waiting"), line("b", "Downloading", 5, 50)]
    final = [taken(*lines[:count]).as_json()["is_total_final"] for count in range(7)]
    assert final == [False] * 6 + [True]
    assert taken(*lines).so_far() == (15, 150) and taken(*lines[:5]).so_far() == (10, None)
    assert taken(*lines).in_words().startswith(": 1 of 3 layers, ")


def test_a_layer_is_counted_once_whatever_comes_after_its_download():
    progress = taken(line("a", "Pulling fs layer"), line("a", "Downloading", 40, 100),
                     line("a", "Download complete"), line("a", "Extracting", 7, 90),
                     line("a", "Pull complete"))
    assert progress.so_far() == (100, 100)
    assert progress.as_json()["layers"] == [
        {"id": "a", "state": "done", "current": 100, "total": 100}]


def test_other_lines_change_nothing():
    progress = taken({"status": "Pulling from team/x", "id": "1"}, {"status": "Digest: sha256:x"},
                     {}, line("a", "Retrying in 5 seconds"))
    assert progress.as_json()["layers"] == [] and progress.in_words() == ""


def test_what_is_repeated_is_no_progress():
    progress = taken(line("a", "Downloading", 40, 100))
    progress.take(line("a", "Downloading", 40, 100), 500.0)
    assert progress.quiet_s(501.0) == 501.0
    progress.take(line("a", "Downloading", 41, 100), 501.0)
    assert progress.quiet_s(502.0) == 1.0


def test_the_speed_is_that_of_the_last_seconds():
    progress = PullProgress(0.0)
    for second in range(1, 101):
        progress.take(line("a", "Downloading", second * (1 if second < 80 else 1000), 10 ** 6),
                      float(second))
    assert progress.as_json()["rate"] == 1000
