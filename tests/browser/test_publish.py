"""From a valid YAML to an open pull request, in a browser."""
import threading
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from registry.config import Secret
from registry.publish import Publisher
from registry.sources import NewRepository
from tests.browser.conftest import PHONE
from tests.browser.test_layout import CONTRAST, SMALL_TARGETS, UNNAMED
from tests.fakes.web_home import HELLO
from tests.registry.publishing import NEW, OLD, PATH


@pytest.fixture
def address(github, monkeypatch):
    """The stand-in is this server's GitHub."""
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)


@pytest.fixture
def site(github, address, site):
    """The site where Ann connected GitHub, and Bob's repository there is a source."""
    ann, bob = github.world.add_user("ann"), github.world.add_user("bob")
    upstream = github.world.create(bob, "parts", {PATH: OLD})
    user = site.services.accounts.user_named("ann")
    token = github.world.classic_token(ann, "public_repo")
    site.services.github.connect(user.id, Secret(token.value))
    site.services.sources.add_repository(
        NewRepository(repo_id=upstream.id, full_name="bob/parts", is_private=False), name=None,
        owner_id=user.id, sponsor_id=None)
    publisher = Publisher(site.services.publications, site.services.github, github.url,
                          pause=timedelta(0))
    site.work = lambda: publisher.step(user.id, threading.Event())
    return site


def fill(page, text):
    page.goto("/submit")
    page.locator(".cm-content").click()
    page.keyboard.insert_text(text)


def test_three_clicks_lead_from_a_valid_yaml_to_an_open_pull_request(github, site, page):
    fill(page, NEW)
    clicks = ["Publish…", "Preview", "Create pull request"]
    for name in clicks:
        page.get_by_role("button", name=name).filter(visible=True).last.click()
    expect(page.get_by_text("This goes on by itself")).to_be_visible()
    expect(page.get_by_text("Withdraw…")).to_be_visible()
    site.work()
    expect(page.get_by_text("The pull request is open.")).to_be_visible()  # with no reload
    expect(page.get_by_text("Withdraw…")).to_have_count(0)
    expect(page).to_have_title("script/tidy@1.1.0 – In review – PAIShare")
    (pull,) = github.world.pulls
    assert (len(clicks), pull.title) == (3, "Update script/tidy 1.1.0")


def test_three_clicks_lead_from_a_finished_job_to_an_open_pull_request(github, site, page):
    job = "000000000001"
    site.browser("ann").post("/submit", yaml=HELLO.replace("name: hello", "name: mine"),
                             action="submit")
    site.runner.start(job)
    page.goto(f"/jobs/{job}")
    site.runner.end(job, "SUCCEEDED", "Every task succeeded.")
    clicks = [page.get_by_role("link", name="Publish as template"),  # comes with no reload
              *(page.get_by_role("button", name=name)
                for name in ("Preview", "Create pull request"))]
    for each in clicks:
        each.filter(visible=True).last.click()
    expect(page.get_by_text("This goes on by itself")).to_be_visible()
    site.work()
    expect(page.get_by_text("The pull request is open.")).to_be_visible()
    (pull,) = github.world.pulls
    assert (len(clicks), pull.title) == (3, "Add job/mine 1.0.0")


def test_a_button_that_is_pressed_twice_opens_one_pull_request(github, site, page):
    fill(page, NEW)
    for name in ("Publish…", "Preview"):
        page.get_by_role("button", name=name).filter(visible=True).last.click()
    page.get_by_role("button", name="Create pull request").dblclick()
    expect(page.get_by_text("This goes on by itself")).to_be_visible()
    site.work()
    assert len(github.world.pulls) == 1


def test_a_component_is_described_by_fields_that_keep_the_rest_of_its_text(site, page):
    page.goto("/publish/new?type=script")
    page.locator(".cm-content").wait_for()
    name = page.get_by_label("Name", exact=True)
    expect(name).to_have_value("my_script")
    before = page.locator("#yaml").input_value()
    name.fill("tidy")
    page.get_by_label("Version", exact=True).fill("1.0")
    page.get_by_label("Tags", exact=True).fill("vision, 图像，small")
    text = page.locator("#yaml").input_value()
    assert 'name: tidy\nversion: "1.0"\n' in text and "  - 图像\n" in text
    assert before.splitlines()[3:7] == text.splitlines()[3:7]
    page.get_by_label("Tags", exact=True).fill("")
    assert "tags" not in page.locator("#yaml").input_value()
    page.get_by_label("YAML", exact=True).press("Control+a")
    page.keyboard.insert_text("name: other\ntags: [a, b]\n")
    expect(name).to_have_value("other")
    expect(page.get_by_label("Tags", exact=True)).to_have_value("a, b")


def test_what_is_wrong_in_the_text_is_shown_at_its_line(site, page):
    page.goto("/publish/new?type=script")
    page.locator(".cm-content").press("Control+a")
    page.keyboard.insert_text(NEW.replace("type: script", "type: skript"))
    expect(page.locator("#problems a").first).to_have_text("Line 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_publishing_fit_a_phone_and_can_be_read(site, open_page, scheme):
    page = open_page("ann", viewport=PHONE, color_scheme=scheme)
    fill(page, NEW.replace("Puts things", "Puts " + "things" * 40))
    for name in ("Publish…", "Preview", "Create pull request", None):
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
        assert [page.evaluate(script) for script in (CONTRAST, SMALL_TARGETS, UNNAMED)] == [
            [], [], []], name
        if name:
            page.get_by_role("button", name=name).filter(visible=True).last.click()
            page.wait_for_load_state()
    expect(page.get_by_text("This goes on by itself")).to_be_visible()
