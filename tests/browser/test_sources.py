"""Sources from GitHub in a browser: adding one, its page while and after a sync, its states."""
import pytest
import sqlalchemy as sa

from tests.browser.conftest import PHONE, Site
from tests.browser.test_layout import CONTRAST, SMALL_TARGETS
from tests.fakes.github_web import OnGitHub
from tests.fakes.web_home import HELLO

PARTS = {"job/greet.yaml": HELLO.replace("name: hello", "name: greet"),
         "job/broken.yaml": "type: job\nname: broken\ntasks: 5\n",
         "data/" + "long-" * 20 + "x.yaml": "type: data\nuri: 5\n"}


class GitHubSite(OnGitHub, Site):
    pass


@pytest.fixture
def site(github, home_template, tmp_path, monkeypatch):
    github.world.create(github.world.add_user("octo"), "parts", PARTS)
    monkeypatch.setenv("PAISHARE_GITHUB_URL", github.url)
    site = GitHubSite(home_template, tmp_path)
    yield site
    site.close()


def add(page):
    page.goto("/sources")
    page.get_by_role("textbox", name="Repository").fill("octo/parts")
    page.get_by_role("button", name="Add repository").click()
    page.get_by_role("heading", name="octo/parts").wait_for()


def test_a_repository_is_added_and_the_page_shows_by_itself_what_the_sync_found(site, page):
    add(page)
    page.get_by_text("It is to be indexed").wait_for()
    site.set("octo/parts", progress={"stage": "files", "done": 40, "total": 120})
    page.get_by_text("Fetching files: 40 of 120").wait_for()
    site.sync()
    page.get_by_role("heading", name="2 invalid files").wait_for()
    page.get_by_text("· up to date").wait_for()
    link = page.get_by_role("link", name="Line 3")
    assert link.get_attribute("href").endswith("/job/broken.yaml?plain=1#L3")


def test_a_mistake_in_the_form_is_told_beside_what_was_typed(site, page):
    page.goto("/sources")
    page.get_by_role("textbox", name="Repository").fill("octo/nothing")
    page.get_by_text("Branch, folders, versions from tags").click()
    page.locator("#branch").fill("dev")
    page.get_by_role("button", name="Add repository").click()
    page.get_by_role("alert").get_by_text("GitHub shows no repository octo/nothing").wait_for()
    assert page.get_by_role("textbox", name="Repository").input_value() == "octo/nothing"
    assert page.locator("#branch").input_value() == "dev"
    page.watch.expect("404")


def test_the_owner_decides_with_one_button_what_becomes_of_a_held_commit(site, page):
    add(page)
    site.sync()
    site.set("octo/parts", held_head="e" * 40, held_count=30)
    page.reload()
    page.get_by_role("button", name="Keep what is here").click()
    page.get_by_text("Its owner decided to keep them").wait_for()
    page.get_by_role("button", name="Take it over").click()
    page.get_by_text("Its owner agreed").wait_for()


def test_a_source_is_removed_after_a_question(site, page):
    add(page)
    page.get_by_text("Remove…").click()
    page.get_by_role("button", name="Yes, remove it").click()
    page.get_by_text("out of the catalog").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_of_a_source_fits_a_phone_and_can_be_read(site, open_page, scheme):
    page = open_page("ann", viewport=PHONE, color_scheme=scheme)
    add(page)
    site.sync()
    for values in ({}, {"upstream_state": "gone", "held_head": "e" * 40, "held_count": 3},
                   {"upstream_state": "ok", "upstream_head": "d" * 40, "is_private": False,
                    "upstream_at": sa.func.now(), "sync_error": "GitHub " * 40}):
        site.set("octo/parts", sync_requested_at=None, **values)
        for path in ("/sources", "/sources/octo/parts", "/c/job/greet"):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            assert page.evaluate(CONTRAST) == [], path
            assert page.evaluate(SMALL_TARGETS) == [], path
