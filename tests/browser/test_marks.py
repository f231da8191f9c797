"""An owner yanks and deprecates from the page of a component, without JavaScript and on a phone."""
import pytest

from tests.browser.conftest import PHONE
from tests.browser.test_layout import CONTRAST, SMALL_TARGETS, UNNAMED


def test_a_version_is_yanked_and_restored_without_javascript(open_page):
    page = open_page("ann", java_script_enabled=False)
    page.goto("/c/job/hello@1.1.0")
    page.get_by_text("Yank…").click()
    page.get_by_label("Reason, which everyone reads").first.fill("It prints too much.")
    page.get_by_role("button", name="Yank 1.1.0").click()
    page.get_by_text("job/hello@1.1.0 is yanked.").wait_for()
    assert "This version is yanked" in page.get_by_role("note").inner_text()
    page.goto("/c/job/hello")
    assert "version: 1.0.0" in page.locator("#yaml-text").inner_text()
    page.goto("/c/job/hello@1.1.0")
    page.get_by_role("button", name="Take the yank back").click()
    page.get_by_text("is no longer yanked").wait_for()
    assert page.get_by_role("note").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_banners_and_forms_fit_a_phone_and_can_be_read(open_page, site, scheme):
    owner = site.program("ann")
    for kind, reference in (("yanked", "hello@1.1.0"), ("deprecated", "hello")):
        assert owner.post("/marks", {"kind": kind, "reference": reference, "successor": "",
                                     "reason": "See `lr`: " + "x" * 200}).status_code == 201
    page = open_page("admin", viewport=PHONE, color_scheme=scheme)
    for path in ("/c/job/hello@1.1.0", "/c/job/hello", "/c/data/points", "/use/job/hello@1.1.0"):
        page.goto(path)
        if path.startswith("/use"):  # looked at when its script has drawn the form
            page.locator(".cm-content").wait_for()
        for each in page.locator("aside details summary").all():
            each.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
        assert page.evaluate(CONTRAST) == [] and page.evaluate(UNNAMED) == [], path
        assert page.evaluate(SMALL_TARGETS) == [], path
