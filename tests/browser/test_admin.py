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


def test_a_source_is_paused_with_one_button_and_goes_on_with_one(site, open_page):
    page = open_page("admin")
    page.goto("/admin/sources")
    page.get_by_role("button", name="Pause examples").click()
    page.get_by_text("examples is paused").wait_for()
    page.get_by_role("row", name="examples").get_by_text("Paused").wait_for()
    page.get_by_role("button", name="Resume examples").click()
    page.get_by_role("button", name="Index now examples").wait_for()
    assert site.services.sources.get("examples").paused_at is None


def test_what_is_unfolded_stays_so_while_the_list_changes_by_itself(site, open_page):
    page = open_page("admin")
    site.services.sources.request_sync("examples")  # so that the page looks often
    page.goto("/admin/sources")
    page.get_by_text("The 2 invalid files of examples").click()
    page.get_by_text("job/broken.yaml:3").wait_for()
    page.get_by_role("heading", name="Administration").click()  # else the focus is in the list
    site.services.sources.pause(site.services.sources.get("examples"), 1)
    page.get_by_role("button", name="Resume examples").wait_for()
    assert page.get_by_text("job/broken.yaml:3").is_visible()


def test_a_user_is_deleted_after_a_page_that_says_what_that_means(site, open_page):
    page = open_page("admin")
    page.goto("/admin/users")
    page.get_by_text("Change ann").click()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("heading", name="Delete ann?").wait_for()
    page.get_by_role("region", name="What stays").get_by_text("every published version").wait_for()
    page.get_by_role("button", name="Delete ann for good").click()
    page.get_by_role("status").get_by_text("ann is deleted.").wait_for()
    assert page.get_by_text("Change ann").count() == 0


def test_tables_rows_and_sections_have_names_that_a_screen_reader_says(open_page):
    page = open_page("admin")
    page.goto("/admin/sources")
    table = page.get_by_role("table", name="One source, how it stands and what is in it")
    table.get_by_role("rowheader", name="examples").wait_for()
    for name in ("Source", "State", "Commit", "Components", "Invalid files", "Last sync",
                 "Actions"):
        assert table.get_by_role("columnheader", name=name).count() == 1, name
    for path, headings in (
            ("/admin/sources", ["Administration", "Sources 1", "Add a source"]),
            ("/admin/users", ["Administration", "Users 3", "Add a user"]),
            ("/admin/limits", ["Administration", "Virtual clusters", "Users",
                               "Change the limits"]),
            ("/settings/tokens", ["Settings", "API tokens"]),
            ("/sources/examples", ["examples", "2 invalid files"])):
        page.goto(path)
        assert page.locator("main").get_by_role("heading", level=1).count() == 1
        found = [" ".join(text.split()) for text in page.locator(
            "main :is(h1, h2)").all_inner_texts()]
        assert found == headings


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
