"""The page of a terminal, on a real server with a real container behind it."""
import pytest

from tests.browser.conftest import Watch, log_in, traced
from tests.browser.test_accessibility import axe, in_each_form  # noqa: F401
from tests.functional.conftest import busybox_image  # noqa: F401
from tests.functional.product import Product
from tests.functional.test_live import JOB, running


@pytest.fixture(scope="module")
def product(tmp_path_factory, busybox_image):  # noqa: F811
    product = Product(tmp_path_factory.mktemp("product") / "home")
    product.start()
    yield product
    product.close()


@pytest.fixture
def page(browser, product):
    context = traced(browser.new_context(base_url=product.url, reduced_motion="reduce"))
    context.set_default_timeout(30_000)
    page = context.new_page()
    page.watch = Watch(product, page)
    log_in(page, "admin", product.password)
    yield page
    errors = page.watch.errors
    context.close()
    assert not errors, errors


def test_a_shell_is_two_presses_from_the_list_and_a_keyboard_leads_out_of_it(
        product, page, axe):  # noqa: F811
    id_ = running(product, JOB)
    page.goto("/jobs")
    page.get_by_role("link", name="shell", exact=True).click()
    page.get_by_role("link", name="Terminal in main-0").click()
    rows = page.locator("#terminal .xterm-rows")
    rows.get_by_text("/work #").wait_for()
    page.keyboard.type("printf '\\033[31mred\\033[0m\\n'; cat\n")
    rows.get_by_text("red", exact=True).wait_for()
    page.keyboard.insert_text("中文输入")
    page.keyboard.press("Enter")
    rows.locator("div", has_text="中文输入").nth(1).wait_for()
    assert rows.get_by_text("red", exact=True).first.evaluate(
        "each => getComputedStyle(each).color") != rows.evaluate(
        "each => getComputedStyle(each).color")
    assert list(in_each_form(page, axe)) == []
    page.keyboard.press("Control+Shift+E")
    assert page.evaluate("document.activeElement.id") == "terminal-leave"
    page.locator("#terminal textarea").focus()
    page.keyboard.press("Control+c")
    page.keyboard.type("exit\n")
    page.get_by_text("The shell has ended.").wait_for()
    page.get_by_role("button", name="Open a new shell").click()
    rows.get_by_text("/work #").wait_for()
    product.post(f"/jobs/{id_}/stop")
    page.get_by_text("The shell has ended.").wait_for()
    product.wait(id_, "STOPPED")
    page.reload()
    page.get_by_text("This task does not run, and a terminal needs a running one.").wait_for()


def test_a_terminal_in_use_keeps_nobody_out_in_chinese_either(product, page, axe):  # noqa: F811
    id_ = running(product, JOB)
    page.context.add_cookies([{"name": "language", "value": "zh", "url": product.url}])
    page.goto(f"/jobs/{id_}/terminal/main/0")
    rows = page.locator("#terminal .xterm-rows")
    rows.get_by_text("/work #").wait_for()
    page.get_by_label("配合屏幕阅读器").check()
    page.locator("#terminal textarea").focus()
    page.keyboard.type("printf '\\033[32mgreen\\033[0m \\033[44mblue\\033[0m\\n'\n")
    rows.get_by_text("green", exact=True).wait_for()
    assert list(in_each_form(page, axe)) == []
    product.post(f"/jobs/{id_}/stop")
