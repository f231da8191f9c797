"""Finding things: by keyboard, by clicks, without scripts, in Chinese."""
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE


def field(page):
    return page.get_by_label("Search the marketplace")


def test_a_name_is_suggested_from_its_first_letters_and_opened_by_keyboard(page):
    page.goto("/")
    field(page).press_sequentially("he")
    option = page.get_by_role("option", name="hello")
    option.wait_for()
    assert field(page).get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    assert option.get_attribute("aria-selected") == "true"
    assert field(page).get_attribute("aria-activedescendant") == option.get_attribute("id")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="hello", level=1).wait_for()


def test_suggestions_go_away_by_escape_and_enter_searches(page):
    page.goto("/")
    field(page).press_sequentially("he")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("option").count() == 0
    assert field(page).get_attribute("aria-expanded") == "false"
    assert field(page).input_value() == "he"
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=he")
    page.get_by_role("link", name="hello", exact=True).wait_for()


def test_a_suggestion_is_opened_by_a_click(page):
    page.goto("/")
    field(page).press_sequentially("poi")
    page.get_by_role("option", name="points").click()
    page.wait_for_url("**/c/data/points")


def test_a_filter_is_completed_in_the_field(page):
    page.goto("/")
    field(page).press_sequentially("hello ty")
    page.get_by_role("option", name="type:").wait_for()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.get_by_role("option", name="type:job").click()
    assert field(page).input_value() == "hello type:job "
    page.keyboard.press("Enter")
    page.get_by_role("list", name="Filters that hold").wait_for()


def test_letters_that_become_chinese_are_asked_for_once(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url)
            if "?q=" in request.url else None)
    page.goto("/")
    field(page).focus()
    typing = page.context.new_cdp_session(page)
    for text in ("x", "xu", "xun", "xun l", "xun lian"):
        typing.send("Input.imeSetComposition",
                    {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
    with page.expect_response("**/complete?q=*"), page.expect_response("**/?q=*"):
        typing.send("Input.insertText", {"text": "训练"})
    assert sorted(urlsplit(url).path for url in asked) == ["/", "/api/v3/complete"]
    assert {parse_qs(urlsplit(url).query)["q"][0] for url in asked} == {"训练"}


def test_results_follow_what_one_types_and_the_address_with_them(page):
    page.goto("/jobs")
    page.goto("/")
    field(page).press_sequentially("points")
    expect(page.locator("#found")).to_have_text("2 matches for “points”")
    expect(page.locator("#announced")).to_have_text("2 matches for “points”")
    page.wait_for_url("**/?q=points")
    assert page.locator("mark").first.inner_text() == "points"
    assert page.evaluate("document.activeElement.id") == "q"
    with page.expect_response(lambda answer: answer.status == 204):
        field(page).press_sequentially(" tpye:job")
    assert page.locator("#found").inner_text() == "2 matches for “points”"
    page.go_back()
    page.wait_for_url("**/jobs")  # not each letter on the way


def test_back_from_a_component_is_the_search_that_one_typed_as_a_whole_page(page):
    page.goto("/")
    field(page).press_sequentially("points")
    page.wait_for_url("**/?q=points")
    page.locator(".cards h3 a").first.click()
    page.wait_for_url("**/c/**")
    page.go_back()
    page.wait_for_url("**/?q=points")
    assert field(page).input_value() == "points"
    assert page.locator("mark").first.is_visible()


def test_a_name_is_copied_by_a_key_and_its_card_says_so(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/?q=hello")
    page.keyboard.press("j")
    page.keyboard.press("y")
    page.locator(".cards").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "job/hello"


def test_a_job_is_used_by_keys_alone(page):
    page.goto("/?q=hello")
    page.keyboard.press("j")
    page.keyboard.press("u")
    page.wait_for_url("**/use/job/hello**")


@pytest.mark.parametrize("leave", ["Enter", "Escape"])
def test_from_the_words_of_a_search_one_arrow_leads_to_its_first_result(page, leave):
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("hello")
    page.get_by_role("option", name="hello").first.wait_for()
    page.locator(".cards mark", has_text="hello").first.wait_for()
    page.keyboard.press(leave)
    if leave == "Enter":
        page.wait_for_function("document.activeElement === document.body && q.role === 'combobox'")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("u")
    page.wait_for_url("**/use/job/hello**")


def test_a_search_that_met_no_server_is_asked_again_by_itself(page):
    page.goto("/")
    page.context.set_offline(True)
    field(page).fill("hello")
    away = page.get_by_text("The server does not answer.")
    away.wait_for()
    page.watch.expect("ERR_INTERNET_DISCONNECTED")
    page.watch.expect("htmx:")
    page.context.set_offline(False)
    page.locator(".cards mark", has_text="hello").first.wait_for(timeout=60_000)
    away.wait_for(state="hidden")
    page.watch.errors.clear()  # as many as there were tries


@pytest.mark.parametrize("is_scripted", [True, False])
def test_a_facet_narrows_to_as_many_as_it_says_and_its_chip_takes_it_out(open_page, is_scripted):
    page = open_page(java_script_enabled=is_scripted)
    page.goto("/")
    before = page.locator("#found").inner_text()
    facets = page.get_by_role("navigation", name="Narrow down")
    link = facets.get_by_role("link", name=re.compile("Ann"))
    count = link.locator(".count").inner_text()
    link.click()
    page.get_by_text(re.compile(rf"^{count} match")).wait_for()
    assert page.locator(".cards > li").count() == int(count)
    page.get_by_role("list", name="Filters that hold").get_by_role("link").click()
    assert page.locator("#found").inner_text() == before


def test_without_scripts_one_searches_sorts_and_reads_the_help(open_page):
    page = open_page(java_script_enabled=False)
    page.goto("/")
    page.get_by_text("How to search").click()
    assert page.get_by_text("gpu:<=4").is_visible()
    field(page).fill("hello type:job")
    page.keyboard.press("Enter")
    assert page.locator("mark").first.inner_text() == "hello"
    page.get_by_role("link", name="Newest").click()
    page.wait_for_url("**sort=updated**")
    assert field(page).input_value() == "hello type:job"


def test_a_query_that_cannot_be_read_shows_where_and_the_way_out(open_page):
    page = open_page(viewport=PHONE)
    page.goto("/?q=hello+tpye:job")
    page.watch.expect("400")
    alert = page.get_by_role("alert")
    caret = alert.get_by_text("^", exact=False).last
    assert "no field tpye:" in alert.inner_text() and caret.is_visible()
    alert.get_by_role("link", name="hello type:job").click()
    page.get_by_role("link", name="hello", exact=True).wait_for()


def test_on_a_phone_the_facets_open_by_a_tap(open_page):
    page = open_page(viewport=PHONE)
    page.goto("/")
    facets = page.get_by_role("navigation", name="Narrow down")
    assert not facets.is_visible()
    page.get_by_text("Narrow down").click()
    assert facets.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
