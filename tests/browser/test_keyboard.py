"""The four ways through the app by keyboard alone: each focus is seen, none is a trap."""
import threading
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from registry.config import Secret
from registry.publish import Publisher
from tests.browser.conftest import Site
from tests.browser.keyboard import Keyboard
from tests.fakes.github_web import OnGitHub
from tests.registry.publishing import NEW, OLD, PATH

JOB = "000000000001"


@pytest.fixture
def keys(open_page):
    return Keyboard(open_page("ann", reduced_motion="reduce"))


def test_from_the_search_to_a_job_that_is_submitted(site, keys):
    page = keys.page
    page.goto("/")
    keys.press("/")
    keys.type("hello")
    use = page.get_by_role("link", name="Use hello")
    expect(page.locator("#results .cards > li")).to_have_count(1)
    keys.press("Escape")
    keys.reach(use)
    keys.press("Enter")
    page.wait_for_url("**/use/**")
    keys.reach(page.get_by_label("epochs"))
    keys.press("Control+a")
    keys.type("7")
    keys.reach(page.locator("#run"))
    keys.press("Enter")
    page.wait_for_url(f"**/jobs/{JOB}")
    assert site.runner.jobs[JOB]["spec"]["parameters"]["epochs"] == 7


def test_results_are_moved_through_by_keys_of_their_own(keys):
    keys.page.goto("/?q=hello")
    keys.press("j")
    keys.check()
    keys.press("u")
    keys.page.wait_for_url("**/use/**")


def test_the_log_of_a_job_is_followed_searched_and_the_job_stopped(site, keys):
    page, runner = keys.page, site.runner
    site.program("ann").post("/jobs", {"reference": "job/hello"})
    runner.start(JOB)
    page.goto("/jobs")
    keys.reach(page.locator(f"main a[href='/jobs/{JOB}']").first)
    keys.press("Enter")
    page.wait_for_url(f"**/jobs/{JOB}*")
    runner.write(JOB, "epoch 1\nepoch 2\n")
    page.locator("#log-text", has_text="epoch 2").wait_for()
    keys.press("f")
    expect(page.get_by_label("Follow")).not_to_be_checked()
    keys.press("/")
    expect(page.get_by_label("Search in the log")).to_be_focused()
    keys.type("epoch")
    expect(page.locator("#log-count")).to_contain_text("2")
    keys.press("Enter")
    expect(page.locator("#log-text .marked")).to_have_count(1)
    keys.reach(page.get_by_label("Follow"))
    keys.press("Space")
    expect(page.get_by_label("Follow")).to_be_checked()
    stop = page.locator("#stop > summary")
    keys.reach(stop, back=True)
    keys.press("Enter")
    keys.press("Tab")
    keys.press("Escape")
    expect(stop).to_be_focused()
    keys.press("Enter")
    keys.button("Yes, stop it")
    page.get_by_text("was asked to stop").first.wait_for()
    assert runner.jobs[JOB]["stop_requested"]


class GitHubSite(OnGitHub, Site):
    pass


@pytest.fixture
def on_github(github, monkeypatch):
    """Ann and Bob have accounts there, and Bob a repository; this server's GitHub is it."""
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    ann, bob = github.world.add_user("ann"), github.world.add_user("bob")
    github.world.create(bob, "parts", {PATH: OLD})
    return github.world.classic_token(ann, "public_repo").value


@pytest.fixture
def github_site(on_github, home_template, tmp_path):
    site = GitHubSite(home_template, tmp_path)
    yield site
    site.close()


class TestOnGitHub:
    @pytest.fixture
    def site(self, github_site):
        return github_site

    def test_github_is_connected_and_a_source_added(self, site, on_github, keys):
        page = keys.page
        page.goto("/settings/github")
        keys.reach(page.get_by_label("Personal access token"))
        keys.type(on_github)
        keys.button("Connect GitHub")
        page.get_by_role("heading", name="ann").wait_for()
        page.goto("/sources")
        keys.reach(page.get_by_role("textbox", name="Repository"))
        keys.type("bob/parts")
        keys.press("Enter")
        page.get_by_role("heading", name="bob/parts").wait_for()
        assert site.source("bob/parts")

    def test_a_component_is_written_and_proposed(self, site, github, on_github, keys):
        page, user = keys.page, site.services.accounts.user_named("ann")
        site.services.github.connect(user.id, Secret(on_github))
        assert site.browser("ann").post("/sources", location="bob/parts").status_code == 303
        page.goto("/submit")
        keys.reach(page.locator(".cm-content"))
        page.keyboard.insert_text(NEW)
        keys.press("Escape")
        keys.button("Publish…")
        keys.button("Preview")
        keys.button("Create pull request")
        expect(page.get_by_text("This goes on by itself")).to_be_visible()
        Publisher(site.services.publications, site.services.github, github.url,
                  pause=timedelta(0)).step(user.id, threading.Event())
        expect(page.get_by_text("The pull request is open.")).to_be_visible()
        (pull,) = github.world.pulls
        assert pull.title == "Update script/tidy 1.1.0"


def test_a_dialog_keeps_the_focus_and_gives_it_back(keys):
    page = keys.page
    page.goto("/use/job/hello")
    page.locator(".cm-content").wait_for()
    page.wait_for_load_state("networkidle")  # what will run comes late and moves what is below
    for opener, dialog in (("Keyboard shortcuts ?", "#keys"), ("Add data", "#market")):
        keys.button(opener)
        expect(page.locator(dialog)).to_be_visible()
        for _ in range(12):
            keys.press("Tab")
            assert page.evaluate("""dialog => document.activeElement === document.body
                || document.querySelector(dialog).contains(document.activeElement)""", dialog)
        keys.press("Escape")
        expect(page.locator(dialog)).to_be_hidden()
        expect(page.get_by_role("button", name=opener, exact=True)).to_be_focused()


def test_a_menu_opens_by_key_and_gives_the_focus_back(keys):
    page = keys.page
    page.goto("/")
    menu = page.locator("#appearance > summary")
    keys.reach(menu)
    keys.press("Enter")
    keys.press("Tab")
    expect(page.get_by_role("button", name="Light")).to_be_focused()
    keys.press("Escape")
    expect(menu).to_be_focused()
    expect(page.locator("#appearance")).not_to_have_attribute("open", "")


def test_every_page_is_walked_through_by_tab(site, open_page):
    keys = Keyboard(open_page("admin", reduced_motion="reduce"))
    site.program("admin").post("/jobs", {"reference": "job/hello"})
    site.runner.start(JOB)
    for path in ("/", "/c/job/hello", "/use/job/hello", f"/jobs/{JOB}", "/jobs", "/sources",
                 "/sources/examples", "/publish/new?type=data", "/settings/github",
                 "/compare?a=hello@1.0.0&b=hello", "/login"):
        keys.page.goto(path)
        keys.page.wait_for_load_state("networkidle")
        assert keys.walk() > 5, path
