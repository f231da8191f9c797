"""The first visit: from the front page to a job in three clicks."""
import re

from playwright.sync_api import expect

from tests.fakes.web_home import PASSWORD


class Clicks:
    """Clicks on what is named; typing is no click."""

    def __init__(self, page):
        self.page, self.count = page, 0

    def on(self, role, name):
        self.page.get_by_role(role, name=name).first.click()
        self.count += 1


def test_a_visitor_is_led_to_a_running_job_in_three_clicks(site, open_page):
    page = open_page()
    page.goto("/")
    expect(page.get_by_role("region", name="Your first job in three clicks")).to_be_visible()
    clicks = Clicks(page)
    clicks.on("link", "Begin with hello")
    page.get_by_label("Name").fill("bob")
    page.get_by_label("Password").fill(PASSWORD)
    clicks.on("button", "Log in")
    page.wait_for_url("**/use/job/hello**")
    clicks.on("button", re.compile("^Submit$"))
    page.wait_for_url("**/jobs/*")
    assert clicks.count == 3
    (job,) = site.runner.jobs.values()
    assert job["user"] == "bob" and job["name"] == "hello"
    page.goto("/")
    expect(page.get_by_text("Your first job in three clicks")).to_have_count(0)
