"""Pages in English and Chinese: whole, and as the reader or the browser wants."""
import json
import re

import pytest

from tools import messages

CHINESE = messages.FOLDER / "zh.po"
PLURAL = re.compile(r"\{%-?\s*trans\b((?:(?!%\}).)*)%\}"
                    r"(?:(?!endtrans).)*?\{%-?\s*pluralize\s*(\w*)", re.DOTALL)
PLACES = re.compile(r"%\((\w+)\)[sd]|(?<!\{)\{(\w+(?:![rs])?(?::[^{}]*)?)\}(?!\})")


def places_of(text):
    """The names of the values that are put into a text, in either way of writing."""
    return {name for found in PLACES.findall(text) for name in found if name}


def test_every_text_of_the_pages_has_its_chinese_and_none_is_left_over():
    catalog = messages.read(CHINESE)
    asked = {message.id for message in messages.extracted() if message.id}
    assert {message.id for message in catalog if message.id} == asked, "run `make messages`"
    assert messages.waiting(catalog) == []


def test_no_text_of_a_script_is_overlooked():
    found = {text for message in messages.extracted() if message.id
             for text in ([message.id] if isinstance(message.id, str) else message.id)}
    for path in (messages.ROOT / "frontend" / "src").rglob("*.js"):
        code = "\n".join(line for line in path.read_text().splitlines()
                         if not line.lstrip().startswith("//"))
        for text in re.findall(r'\b(?:_|ngettext)\(\s*("(?:[^"\\]|\\.)*")', code):
            assert json.loads(text) in found, f"{path.name}: {text}"


def test_a_translation_has_the_places_of_its_text():
    for message in messages.read(CHINESE):
        if not message.id:
            continue
        one, *others = [message.id] if isinstance(message.id, str) else message.id
        wanted = places_of((others or [one])[-1])
        texts = [message.string] if isinstance(message.string, str) else message.string
        for text in texts:
            assert places_of(text) <= wanted, message.id
            assert wanted - places_of(text) <= {"num", "count"}, message.id


def test_which_form_a_text_takes_is_told_by_its_count():
    for path in (messages.ROOT / "templates").rglob("*.html"):
        for values, named in PLURAL.findall(path.read_text()):
            assert named == "count" or values.split("=")[0].strip() == "count", path.name


@pytest.mark.parametrize("wanted, heading", [
    ("zh", "登录"), ("zh-CN", "登录"), ("zh-Hans-CN,en;q=0.5", "登录"), ("zh-TW", "登录"),
    ("en-GB,zh;q=0.5", "Log in"), ("fr", "Log in"), ("", "Log in"), ("*;q=;,,", "Log in")])
def test_the_browser_chooses_the_language(web, wanted, heading):
    page = web.browser().get("/login", headers={"Accept-Language": wanted}).text
    assert f"<h1>{heading}</h1>" in page


def test_the_reader_chooses_language_and_theme_and_stays_on_the_page(web):
    browser = web.browser()
    answer = browser.post("/appearance", language="zh", back="/login?next=/jobs")
    assert (answer.status_code, answer.location) == (303, "/login?next=/jobs")
    browser.post("/appearance", theme="dark")
    page = browser.get("/login", headers={"Accept-Language": "en"}).text
    assert 'lang="zh-Hans" data-bs-theme="dark"' in page and "<h1>登录</h1>" in page


def test_nothing_but_a_choice_is_kept_and_nobody_is_led_elsewhere(web):
    browser = web.browser()
    assert browser.post("/appearance", theme="pink").status_code == 400
    assert browser.post("/appearance", theme="dark", back="//elsewhere.org").location == "/"


def test_a_source_is_told_of_in_the_readers_language_and_to_programs_in_english(web):
    wanted = {"Accept-Language": "zh"}
    page = web.browser("ann").get("/sources", headers=wanted).text
    assert "已是最新" in page and "Up to date" not in page
    told, = web.program("ann").get("/sources", headers=wanted).json["sources"]
    assert told["state_title"] == "Up to date"
