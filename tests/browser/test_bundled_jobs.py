"""The bundled jobs from a person's side: Use, Submit, watch, stop; in a real browser, for real."""
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import log_in, traced
from tests.browser.test_first_visit import Clicks
from tests.functional.product import Product

LONG_MS = 90_000


@pytest.fixture(scope="module")
def page(tmp_path_factory, digits_image, browser):
    product = Product(tmp_path_factory.mktemp("browser") / "home")
    try:
        product.start()
        product.wait_for_component("job/digits_classifier")
        opened = traced(browser.new_context(base_url=product.url)).new_page()
        log_in(opened, "admin", product.password)
        opened.password = product.password
        yield opened
        opened.context.close()
    finally:
        product.close()


def use(page, name):
    """Three clicks from the marketplace to a job: its card, Use, Submit."""
    page.goto("/?type=job")
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("link", name=f"Use {name}", exact=True).click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/jobs/*")


def state(page, word):
    expect(page.get_by_role("main").get_by_text(re.compile(rf"^\W*{word}$")).first
           ).to_be_visible(timeout=LONG_MS)


def test_the_classifier_is_watched_until_its_picture_appears(page):
    use(page, "digits_classifier")
    expect(page.get_by_text("epoch 1/50")).to_be_visible(timeout=LONG_MS)
    state(page, "Succeeded")
    expect(page.get_by_text(re.compile(r"test accuracy 0\.9[5-9]\d\d")).last).to_be_visible()
    picture = page.get_by_role("img", name=re.compile("confusion_matrix.png"))
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 100")


def test_the_distributed_job_shows_every_task(page):
    use(page, "distributed_digits")
    state(page, "Succeeded")
    for task in ("ps_server-0", "worker-0", "worker-1"):
        expect(page.get_by_text(task).first).to_be_visible()


def test_the_service_is_reached_by_its_link_and_stopped_by_a_button(page):
    use(page, "digits_service")
    link = page.get_by_role("link", name=re.compile(r"^\d{4,5}$"))
    expect(link).to_be_visible(timeout=LONG_MS)
    expect(page.get_by_text(re.compile("serving at http:")).last
           ).to_be_visible(timeout=LONG_MS)
    service = page.context.new_page()
    service.goto(link.get_attribute("href"))
    expect(service.get_by_role("heading").first).to_be_visible()
    service.close()
    page.get_by_text("Stop…", exact=True).click()
    page.get_by_role("button", name="Yes, stop it").click()
    state(page, "Stopped")


def test_a_link_fills_the_form_and_submits_nothing(page):
    page.goto("/jobs")
    before = page.get_by_role("row").count()
    page.goto("/use/job/digits_classifier@1.0.0?param.epochs=3")
    expect(page.get_by_label("epochs")).to_have_value("3")
    page.goto("/jobs")
    assert page.get_by_role("row").count() == before


def test_submit_again_starts_from_the_same_values(page):
    page.goto("/use/job/digits_classifier?param.epochs=2")
    page.get_by_role("button", name="Submit").click()
    state(page, "Succeeded")
    page.get_by_role("link", name="Submit again").click()
    expect(page.get_by_label("epochs")).to_have_value("2")
    page.get_by_role("button", name="Submit").click()
    state(page, "Succeeded")


def test_how_many_clicks_lead_to_a_running_job(page):
    visitor = traced(page.context.browser.new_context(
        base_url=re.match(r"https?://[^/]+", page.url)[0]))
    opened = visitor.new_page()
    opened.goto("/")
    first = Clicks(opened)
    first.on("link", "Begin with digits_classifier")
    opened.get_by_label("Name").fill("admin")
    opened.get_by_label("Password").fill(page.password)
    first.on("button", "Log in")
    first.on("button", re.compile("^Submit$"))
    runs(opened)
    assert first.count == 3
    stop(opened)
    opened.goto("/c/job/digits_classifier")
    use = Clicks(opened)
    use.on("link", "Use digits_classifier")
    use.on("button", re.compile("^Submit$"))
    runs(opened)
    assert use.count <= 2
    stop(opened)
    clone = Clicks(opened)
    clone.on("link", re.compile("Submit again|Clone"))
    opened.get_by_label("epochs").fill("2")
    clone.on("button", re.compile("^Submit$"))
    runs(opened)
    assert clone.count <= 3
    visitor.close()


def stop(page):
    """Its core is free for the next job, however long it would take on a busy machine."""
    assert page.evaluate("""async () => (await fetch(`/api/v3${location.pathname}/stop`, {
        method: "POST", headers: {
            "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content}})).ok""")
    state(page, "(Stopped|Succeeded)")


def runs(page):
    page.wait_for_url(re.compile("/jobs/[0-9a-f]+$"))
    expect(page.get_by_role("main").get_by_text(re.compile(r"^\W*(Running|Succeeded)$")).first
           ).to_be_visible(timeout=LONG_MS)
