"""The page of the machine, the pages of admins, and what an account prefers, in a real browser."""
from tests.fakes.web_home import FILES, write_repository

SPEC = {"name": "next-one", "user": "ann", "origin": "", "task_roles": [
    {"name": "main", "instances": 1, "ports": [], "resources": {"gpu": 0}}]}


def test_the_page_of_the_machine_changes_by_itself(site, page):
    page.goto("/machine")
    page.get_by_text("No job waits").wait_for()
    site.runner.enqueue(SPEC, None)
    page.get_by_role("link", name="next-one").wait_for()


def test_a_source_is_added_in_two_clicks_after_it_was_tried_out(site, open_page, tmp_path):
    page = open_page("admin")
    write_repository(tmp_path / "team", FILES)
    page.goto("/admin/sources")
    page.get_by_label("Repository or folder").fill(str(tmp_path / "team"))
    page.get_by_role("button", name="Try it out").click()
    page.locator("#trial").get_by_text("job/broken.yaml:3").wait_for()
    page.get_by_role("button", name="Add it").click()
    page.get_by_text("team is added.").wait_for()
    assert {each.name for each in site.services.sources.all()} == {"examples", "team"}


def test_shortcuts_that_are_switched_off_stay_off_in_another_browser(site, open_page, page):
    page.goto("/settings/appearance")
    page.get_by_label("Single-key shortcuts", exact=True).uncheck()
    page.get_by_role("button", name="Save").click()
    other = open_page("ann")
    other.goto("/")
    other.keyboard.press("?")
    assert not other.locator("#keys").is_visible()
    other.locator("#show-keys").click()
    with other.expect_response("**/appearance"):
        other.get_by_label("Single-key shortcuts are on").check()
    assert site.services.accounts.user_named("ann").preferences.has_keys
    other.keyboard.press("Escape")
    other.keyboard.press("?")
    other.locator("#keys").wait_for()


def test_a_search_gives_its_feed_and_the_address_of_it(open_page, site):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto("/?q=hello")
    page.get_by_role("button", name="Copy its Atom address").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == f"{site.url}/feed.atom?q=hello"
    assert page.get_by_role("link", name="Feed of this search").get_attribute("href") \
        == "/feed.atom?q=hello"
