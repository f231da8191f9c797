"""The pages and routes of what a job's tasks wrote: their logs as one, and their files."""
import pytest

from tests.registry.test_views_marketplace import text_of
from tests.registry.test_views_submit import PLAIN

JOB = "000000000001"
LINE = {"attempt": 1, "role": "main", "index": 0, "stream": "stderr", "text": "\x1b[1m<b>hi",
        "time": "2026-01-02T03:04:05.678Z"}


@pytest.fixture
def ann(web):
    browser = web.browser("ann")
    assert browser.post("/submit", yaml=PLAIN, action="submit").location == f"/jobs/{JOB}"
    web.runner.start(JOB)
    return browser


def left(web, path, content):
    web.runner.files[(JOB, 1, "main", 0, path)] = content


def test_the_log_of_all_tasks_shows_time_and_task_of_each_line(web, ann):
    web.runner.merged = {"lines": [LINE], "cursor": "1.20.0", "is_complete": False}
    page = ann.get(f"/jobs/{JOB}/log").text
    assert '<span class="stderr">03:04:05.678 1/main-0 | &lt;b&gt;hi\n</span>' in page
    assert 'data-cursor=""' in page and f'data-url="/api/v3/jobs/{JOB}/log/merged"' in page
    assert f"/jobs/{JOB}/log?cursor=1.20.0" in page
    answer = ann.get(f"/api/v3/jobs/{JOB}/log/merged?limit=5")
    assert answer.json == {"lines": [LINE], "cursor": "1.20.0", "is_complete": False}
    assert ann.get(f"/api/v3/jobs/{JOB}/log/merged/raw").text == "1/main-0 | text\n"


def test_a_log_that_has_ended_asks_for_nothing_more(web, ann):
    web.runner.end(JOB, "SUCCEEDED", "All tasks succeeded.")
    page = ann.get(f"/jobs/{JOB}/log").text
    assert 'data-complete="1"' in page and "This is the end of the log." in page


def test_files_are_listed_with_their_sum_and_lead_to_a_page_each(web, ann):
    left(web, "deep/a.txt", b"12345")
    left(web, "b.bin", b"\0\1")
    page = text_of(ann.get(f"/jobs/{JOB}/files"))
    assert "2 files, 7 bytes" in page and "Download all as a zip" in page
    assert f'href="/jobs/{JOB}/files/1/main/0/deep/a.txt"' in ann.get(f"/jobs/{JOB}/files").text
    assert "2 files, 7 bytes" in text_of(ann.get(f"/jobs/{JOB}"))


def test_an_archive_is_saved_and_never_opened(web, ann):
    answer = ann.get(f"/api/v3/jobs/{JOB}/archive")
    assert answer.headers["Content-Disposition"] == f"attachment; filename={JOB}.zip"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_a_text_is_shown_as_text_whatever_it_holds(web, ann):
    left(web, "x.html", "<script>alert(1)</script>é".encode("gb18030"))
    page = ann.get(f"/jobs/{JOB}/files/1/main/0/x.html")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;é" in page.text and "gb18030" in page.text
    assert "<script>alert" not in page.text


def test_a_table_is_shown_as_one(web, ann):
    left(web, "loss.csv", b"epoch,loss\n1,0.5\n")
    page = ann.get(f"/jobs/{JOB}/files/1/main/0/loss.csv").text
    assert '<th scope="col">loss</th>' in page and "<td>0.5</td>" in page
    answer = ann.get(f"/api/v3/jobs/{JOB}/preview/1/main/0/loss.csv").json
    assert (answer["kind"], answer["rows"]) == ("table", [["epoch", "loss"], ["1", "0.5"]])
    assert answer["url"] == f"/api/v3/jobs/{JOB}/artifacts/1/main/0/loss.csv"


def test_only_pictures_that_cannot_run_anything_are_shown_as_pictures(web, ann):
    for name, kind in (("a.png", "image"), ("a.JPG", "image"), ("a.svg", "text"),
                       ("a.npz", "binary")):
        left(web, name, b"\0" if kind == "binary" else b"<svg onload='x'/>")
        assert ann.get(f"/api/v3/jobs/{JOB}/preview/1/main/0/{name}").json["kind"] == kind
        page = ann.get(f"/jobs/{JOB}/files/1/main/0/{name}").text
        url = f"/api/v3/jobs/{JOB}/artifacts/1/main/0/{name}"
        assert (f'src="{url}"' in page) == (kind == "image")
        answer = ann.get(url)
        is_shown = answer.headers["Content-Disposition"].startswith("inline")
        assert is_shown == (kind == "image")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_another_user_sees_none_of_it(web, ann):
    left(web, "x.txt", b"secret")
    bob, visitor = web.browser("bob"), web.browser()
    for path in ("log", "files", "files/1/main/0/x.txt"):
        assert bob.get(f"/jobs/{JOB}/{path}").status_code == 404
        assert visitor.get(f"/jobs/{JOB}/{path}").status_code in (302, 303)
    for path in ("log/merged", "log/merged/raw", "archive", "preview/1/main/0/x.txt"):
        assert bob.get(f"/api/v3/jobs/{JOB}/{path}").status_code == 404
        assert visitor.get(f"/api/v3/jobs/{JOB}/{path}").status_code == 401
