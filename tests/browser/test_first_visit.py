"""The first visit, and how many clicks it takes from a template or a job to one that runs."""
import re

import pytest
from playwright.sync_api import expect

from tests.fakes.web_home import PASSWORD
from tests.functional.product import Product

LONG_MS = 90_000


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


@pytest.fixture(scope="module")
def product(tmp_path_factory, digits_image):
    product = Product(tmp_path_factory.mktemp("first") / "home")
    try:
        product.start()
        product.wait_for_component("job/digits_classifier")
        yield product
    finally:
        product.close()


def test_clicks_to_a_running_job_on_a_whole_server(product, browser):
    page = browser.new_context(base_url=product.url).new_page()
    page.goto("/")
    first = Clicks(page)
    first.on("link", "Begin with digits_classifier")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(product.password)
    first.on("button", "Log in")
    first.on("button", re.compile("^Submit$"))
    runs(page)
    assert first.count == 3
    page.goto("/c/job/digits_classifier")
    use = Clicks(page)
    use.on("link", "Use digits_classifier")
    use.on("button", re.compile("^Submit$"))
    runs(page)
    assert use.count <= 2
    clone = Clicks(page)
    clone.on("link", re.compile("Submit again|Clone"))
    page.get_by_label("epochs").fill("2")
    clone.on("button", re.compile("^Submit$"))
    runs(page)
    assert clone.count <= 3
    page.context.close()


def runs(page):
    page.wait_for_url(re.compile("/jobs/[0-9a-f]+$"))
    expect(page.get_by_role("main").get_by_text(re.compile(r"^\W*(Running|Succeeded)$")).first
           ).to_be_visible(timeout=LONG_MS)
