"""What holds for every page: headers, errors, cookies, and that a login is asked for."""
import errno
import re

import pytest

PAGES = ["/", "/?q=hello&type=job", "/c/job/hello", "/c/job/hello@1.0.0", "/c/data/points",
         "/use/job/hello", "/submit", "/jobs", "/sources", "/settings/profile", "/settings/github",
         "/settings/tokens", "/settings/registries", "/settings/appearance",
         "/settings/notifications", "/api/docs", "/machine"]
LOGIN_NEEDED = ["/use/job/hello?param.epochs=5&param.note=a%20b", "/submit", "/jobs", "/sources",
                "/settings/profile", "/settings/tokens", "/jobs/1"]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_opens_and_has_one_heading(web, path):
    answer = web.browser("ann").get(path)
    assert answer.status_code == 200
    assert len(re.findall("<h1", answer.text)) == 1 and "<main" in answer.text


@pytest.mark.parametrize("path", [*PAGES, "/nothing", "/static/icon.svg", "/api/v3/health"])
def test_every_answer_carries_what_keeps_a_browser_safe(web, path):
    headers = web.browser("ann").get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch("[0-9a-f]{16}", headers["X-Request-Id"])


@pytest.mark.parametrize("path", PAGES)
def test_no_page_needs_what_the_policy_forbids(web, path):
    text = web.browser("ann").get(path).text
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=", text)
    assert not re.search(r'<(?!a )[^>]*(?:src|href)="(?:https?:)?//', text)


@pytest.mark.parametrize("path", LOGIN_NEEDED)
def test_a_visitor_is_sent_to_the_login_and_comes_back_to_the_very_page(web, path):
    browser = web.browser()
    answer = browser.get(path)
    assert answer.status_code == 302 and answer.location.startswith("/login?next=")
    page = browser.get(answer.location)
    target = re.search('name="next" value="([^"]*)"', page.text)[1].replace("&amp;", "&")
    answer = browser.post("/login", username="ann", password="correct horse", next=target)
    assert (answer.status_code, answer.location) == (303, path)


@pytest.mark.parametrize("path, status", [
    ("/nothing", 404), ("/c/job/nothing", 404), ("/c/job/hello@9", 404), ("/jobs/nothing", 404),
    ("/c/job/hello?source=nothing", 404), ("/logout", 405), ("/c/%00/x", 400),
    ("/use/data/points", 400)])
def test_what_goes_wrong_is_told_on_a_page(web, path, status):
    answer = web.browser("ann").get(path)
    assert answer.status_code == status
    assert "Traceback" not in answer.text and f"Status {status}" in answer.text


def test_an_unknown_component_names_the_nearest(web):
    answer = web.browser().get("/c/job/helo")
    assert answer.status_code == 404 and 'href="/c/job/hello"' in answer.text


def test_the_api_tells_errors_as_json(web):
    answer = web.browser().get("/api/v3/nothing")
    assert answer.status_code == 404
    assert answer.json == {
        "code": "NotFound", "errors": [], "nearest": [],
        "message": "There is no such page. Check the address, or search the marketplace."}


def test_an_unexpected_error_shows_a_number_and_nothing_of_the_inside(web, monkeypatch, caplog):
    def fail(*_, **__):
        raise ValueError("a secret of the inside")
    monkeypatch.setattr(web.services.search, "search", fail)
    answer = web.browser().get("/")
    assert answer.status_code == 500 and "secret" not in answer.text
    number = answer.headers["X-Request-Id"]
    assert number in answer.text and number in caplog.text and "secret" in caplog.text


def test_a_full_disk_is_said_as_such(web, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(web.services.search, "search", fail)
    assert "The disk of this server is full" in web.browser().get("/").text


def test_with_the_runner_down_pages_work_and_say_so(web):
    browser = web.browser("ann")
    web.runner.close()
    for path in ("/", "/c/job/hello", "/sources", "/settings/profile"):
        assert browser.get(path).status_code == 200
    page = browser.get("/use/job/hello")
    assert page.status_code == 200 and "The runner does not answer" in page.text
    jobs = browser.get("/jobs")
    assert jobs.status_code == 503 and "What runs goes on" in jobs.text


def test_a_body_that_is_too_large_is_refused(web):
    answer = web.browser("ann").post("/submit", yaml="x" * 2_100_000)
    assert answer.status_code == 413 and "too large" in answer.text


def test_a_file_of_the_static_folder_only(web):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"):
        assert web.browser().get(path, follow_redirects=True).status_code == 404


def test_a_search_says_when_there_is_no_index(web):
    (web.home / "search" / "current").unlink()
    for path in ("/", "/?q=hello", "/?type=job"):
        assert "The search index is being made" in web.browser().get(path).text
