"""The submit page as one writes on it."""
import pytest
from playwright.sync_api import expect

from tests.registry.test_views_submit import PLAIN


@pytest.fixture
def form(page):
    page.goto("/submit")
    return page


def test_problems_appear_at_their_line_as_one_writes(form):
    area = form.get_by_label("YAML", exact=True)
    area.fill(PLAIN.replace("cpu: 1", "cpu: 0"))
    link = form.locator("#problems a").first
    link.wait_for()
    line = PLAIN[:PLAIN.index("cpu: 1")].count("\n") + 1
    assert link.inner_text() == f"Line {line}"
    assert form.locator("#gutter .marked").inner_text() == str(line)
    link.click()
    chosen = area.evaluate("each => each.value.slice(each.selectionStart, each.selectionEnd)")
    assert "cpu: 0" in chosen
    area.fill(PLAIN)
    expect(form.locator("#problems a, #gutter .marked")).to_have_count(0)


def test_the_line_numbers_follow_the_text(form):
    area = form.get_by_label("YAML", exact=True)
    area.fill("\n" * 99)
    assert form.locator("#gutter li").count() == 101
    assert area.evaluate("each => each.scrollHeight <= each.clientHeight")
    area.fill("x")
    assert form.locator("#gutter li").count() == 20


def test_the_numbers_stand_beside_their_lines(form):
    form.get_by_label("YAML", exact=True).fill("\n".join(map(str, range(60))))
    height = form.evaluate("""() => {
        const item = document.getElementById("Y60").getBoundingClientRect();
        const area = document.getElementById("yaml");
        const line = parseFloat(getComputedStyle(area).lineHeight);
        const before = parseFloat(getComputedStyle(area).paddingTop) + 59 * line;
        return item.top - area.getBoundingClientRect().top - before;
    }""")
    assert abs(height) < 2


def test_a_chosen_file_is_imported_at_once(form, tmp_path):
    file = tmp_path / "hello.yaml"
    file.write_text(PLAIN)
    form.get_by_label("Import a file instead").set_input_files(file)
    form.get_by_label("epochs").wait_for()
    assert form.get_by_label("YAML", exact=True).input_value() == PLAIN


def test_pressing_twice_is_one_job(site, form):
    form.get_by_label("YAML", exact=True).fill(PLAIN)
    form.get_by_role("button", name="Submit").dblclick()
    form.wait_for_url("**/jobs/*")
    assert len(site.runner.jobs) == 1


def test_enter_in_a_field_checks_and_does_not_submit(site, page):
    page.goto("/use/job/hello")
    page.get_by_label("epochs").press("Enter")
    page.wait_for_url("**/submit")
    assert site.runner.jobs == {}


def test_a_link_marks_what_it_set(page):
    page.goto("/use/job/hello?param.epochs=9")
    assert page.get_by_label("epochs set by the link").input_value() == "9"
    assert page.get_by_label("lr").input_value() == "0.1"
