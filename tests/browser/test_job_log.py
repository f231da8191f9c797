"""The log of all tasks of a job: what the log of one task has, and who wrote each line."""
import pytest
from playwright.sync_api import expect

JOB = "000000000001"


def line(index, text, stream="stdout"):
    return {"attempt": 1, "role": "worker", "index": index, "stream": stream, "text": text,
            "time": f"2026-01-02T03:04:0{index}.000Z"}


@pytest.fixture
def log_page(site, page):
    """The page of the log of a job that runs and has written nothing."""
    page.goto("/use/job/hello")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(f"**/jobs/{JOB}")
    site.runner.start(JOB)
    site.runner.merged = {"lines": [], "cursor": "1.0.0", "is_complete": False}
    page.goto(f"/jobs/{JOB}/log")
    page.get_by_text("Nothing is written yet.").wait_for()
    return page


def write(site, *lines):
    site.runner.merged = {"lines": lines, "cursor": "1.40.0", "is_complete": True}
    site.runner.changes.grew(JOB)


def test_lines_of_all_tasks_come_by_themselves_until_the_job_has_ended(site, log_page):
    write(site, line(0, "\x1b[31m<b>one</b>\x1b[0m"), line(1, "10%\r20%"), line(0, "oh", "stderr"))
    log_page.get_by_text("This is the end of the log.").wait_for()
    rows = log_page.locator("#log-text .row-line")
    expect(rows.locator("time")).to_have_text(["03:04:00", "03:04:01", "03:04:00"])
    expect(rows.locator(".from")).to_have_text(["worker-0", "worker-1", "worker-0"])
    expect(rows.locator(".text")).to_have_text(["<b>one</b>", "20%", "oh"])
    expect(log_page.locator(".stderr .text")).to_have_text(["oh"])
    expect(log_page.locator(".fg-ansi-red")).to_have_text(["<b>one</b>"])


def test_a_colour_goes_on_in_the_next_line_of_the_same_task_alone(site, log_page):
    write(site, line(0, "\x1b[32mone"), line(1, "two"), line(0, "three"))
    expect(log_page.locator(".fg-ansi-green")).to_have_text(["one", "three"])


def test_it_is_searched_and_each_line_has_an_address(site, log_page):
    write(site, *(line(number % 3, f"step {number}") for number in range(500)))
    log_page.get_by_text("step 499").wait_for()
    log_page.keyboard.press("/")
    log_page.keyboard.type("step 42")
    expect(log_page.locator("#log-count")).to_have_text("11")
    log_page.keyboard.press("Enter")
    expect(log_page.locator("#log-text .marked .text")).to_have_text("step 42")
    expect(log_page.get_by_label("Follow")).not_to_be_checked()
    log_page.get_by_label("Times").uncheck()
    expect(log_page.locator("#log-text .marked time")).to_be_hidden()
    log_page.goto(f"/jobs/{JOB}/log#L100")
    log_page.reload()
    expect(log_page.locator("#log-text .marked .text")).to_have_text("step 99")
    expect(log_page.get_by_role("link", name="Download")).to_have_attribute("download", "hello.log")
