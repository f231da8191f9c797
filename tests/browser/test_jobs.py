"""The list of jobs as people use it: filters, rows that change in place, stopping, comparing."""
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.registry.test_views_submit import PLAIN

JOB = "000000000001"


@pytest.fixture
def ann(site):
    """Ann, who has two jobs, of which the second runs."""
    browser = site.browser("ann")
    for name in ("first", "second"):
        browser.post("/submit", yaml=PLAIN, name=name, action="submit")
    site.runner.start("000000000002")
    return browser


def test_a_job_is_stopped_from_the_list_with_two_clicks(site, ann, page):
    page.goto("/jobs?sort=oldest")
    clicks = [page.get_by_text("Stop… second"), page.get_by_role("button", name="Yes, stop it")]
    for each in clicks:
        each.locator("visible=true").click()
    page.get_by_text("Job second was asked to stop.").wait_for()
    assert site.runner.jobs["000000000002"]["stop_requested"] and len(clicks) == 2
    assert page.url.endswith("/jobs?sort=oldest")


def test_rows_change_in_place_and_new_jobs_wait_to_be_shown(site, ann, page):
    page.goto("/jobs")
    expect(page).to_have_title("(1 running) Jobs – PAIShare")
    page.evaluate("window.mark = 1")
    ann.post("/submit", yaml=PLAIN, name="third", action="submit")
    site.runner.end("000000000002", "SUCCEEDED", "Every task succeeded.")
    page.get_by_text("Every task succeeded.").wait_for()
    names = page.locator("#jobs-list td[data-label=Job] b")
    assert names.all_inner_texts() == ["second", "first"]
    expect(page).to_have_title("Jobs – PAIShare")
    page.get_by_role("button", name="1 new – show").click()
    expect(names).to_have_text(["third", "second", "first"])
    assert page.evaluate("window.mark") == 1


def test_a_question_that_is_open_stays_while_the_list_changes(site, ann, page):
    page.goto("/jobs")
    page.get_by_text("Stop… second").click()
    site.runner.start(JOB)
    page.locator(f"#job-{JOB}", has_text="Running").wait_for()
    expect(page.get_by_role("button", name="Yes, stop it")).to_be_visible()


def test_several_are_chosen_and_stopped_and_two_are_compared(site, ann, page):
    page.goto("/jobs")
    expect(page.get_by_role("button", name="Compare two")).to_be_disabled()
    page.get_by_label("Choose all jobs of this page").check()
    page.get_by_text("2 chosen").wait_for()
    page.get_by_role("button", name="Compare two").click()
    page.get_by_role("heading", name="Two jobs compared").wait_for()
    page.go_back()
    page.get_by_label("Choose all jobs of this page").check()
    page.get_by_role("button", name="Stop the chosen…").click()
    page.get_by_role("button", name="Yes, stop these jobs").click()
    page.get_by_text("2 jobs were asked to stop.").wait_for()
    assert all(job["stop_requested"] for job in site.runner.jobs.values())


def test_before_a_stop_is_told_which_of_the_chosen_have_ended(site, ann, page):
    site.runner.end("000000000001", "SUCCEEDED", "The task succeeded.")
    page.goto("/jobs")
    page.get_by_label("Choose all jobs of this page").check()
    page.get_by_role("button", name="Stop the chosen…").click()
    page.get_by_text("Its tasks end; its logs and artifacts stay. "
                     "One of the chosen jobs has ended already.").wait_for()
    page.get_by_role("button", name="Yes, stop this job").wait_for()


def test_on_a_phone_rows_are_cards(ann, open_page):
    page = open_page("ann", viewport=PHONE)
    page.goto("/jobs")
    assert page.locator("#jobs-list tr").nth(1).evaluate("each => getComputedStyle(each).display") \
        == "block"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_table_that_a_job_left_is_a_plot_and_a_table(site, ann, page):
    rows = "".join(f"{step},{1 / step},{step / 10}\n" for step in range(1, 11))
    site.runner.leave("000000000002", "metrics.csv", f"step,loss,accuracy\n{rows}".encode())
    page.goto("/jobs/000000000002")
    page.get_by_role("link", name="metrics.csv").click()
    page.get_by_text("loss by step: first 1, last 0.1, between 0.1 and 1").wait_for()
    page.get_by_label("Up").select_option("accuracy")
    page.get_by_text("accuracy by step: first 0.1, last 1, between 0.1 and 1").wait_for()
    assert page.url.endswith("?x=step&y=accuracy") and page.locator("#plot canvas").count() == 1
    assert page.locator("main table tr").count() == 11
    page.reload()
    page.get_by_text("accuracy by step").wait_for()
