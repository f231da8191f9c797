"""A server that keeps as many pages live as it can: one more is looked after all the same."""
import pytest
from playwright.sync_api import expect

from tests.functional.runner_process import wait_for
from tests.registry.test_views_submit import PLAIN

JOB = "000000000001"
MOST = 2


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """The server is made after this, with room for few."""
    monkeypatch.setattr("registry.app.MAX_SOCKETS", MOST)


def test_a_page_for_which_there_is_no_room_says_so_and_asks_by_itself(site, page, open_page):
    site.browser("ann").post("/submit", yaml=PLAIN, action="submit")
    site.runner.start(JOB)
    for each in (page, open_page("ann")):
        each.goto("/jobs")
    wait_for(lambda: site.services.sockets.count == MOST, "the server is full", 60)
    late = open_page("ann")
    late.goto(f"/jobs/{JOB}")
    late.get_by_text("As many pages as this server can keep live are open.").wait_for()
    site.runner.write(JOB, "epoch 1\n")
    late.locator("#log-text").get_by_text("epoch 1").wait_for()
    expect(late.locator("#log-state")).to_contain_text("is looked after more slowly")
    site.runner.end(JOB, "SUCCEEDED", "Every task succeeded.")
    late.locator("#live-state", has_text="Every task succeeded.").wait_for()
    assert site.services.sockets.count <= MOST
    expect(late.locator("#offline")).to_be_hidden()


def test_where_one_leaves_another_comes_in(site, page, open_page):
    for each in (page, open_page("ann")):
        each.goto("/jobs")
    wait_for(lambda: site.services.sockets.count == MOST, "the server is full", 60)
    page.goto("/")
    wait_for(lambda: site.services.sockets.count == MOST - 1, "one has left", 60)
    open_page("ann").goto("/jobs")
    wait_for(lambda: site.services.sockets.count == MOST, "another has come", 60)
