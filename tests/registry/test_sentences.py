"""What lower layers say: texts that know what they are made of, told in the reader's language."""
import ast
import copy
import json
import pickle
import re
from pathlib import Path

import pytest

from registry.component import parse
from registry.errors import ComponentError
from registry.views.language import _translations
from runner.sentence import (
    Sentence,
    both,
    either,
    heard,
    joined,
    listed,
    plural,
    restored,
    said_by,
    stored,
    told,
)
from tests.fakes.web_home import HELLO

ROOT = Path(__file__).parents[2]
CHINESE = {"Accept-Language": "zh"}
ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [a-z]{2,}){3,}")  # four words in a row
# Read by operators in a terminal or by programs alone, and English there.
PLAIN = (
    "registry/cli.py", "registry/commands/", "registry/config.py", "registry/server.py",
    "registry/supervisor.py", "registry/demo.py", "registry/restore.py", "registry/dump.py",
    "registry/dump_file.py", "registry/signing.py", "registry/lock.py", "registry/child.py",
    "registry/home.py", "registry/api_client.py", "registry/job_stream.py", "registry/terminal.py",
    "registry/credentials.py", "registry/error_text.py", "registry/dialects.py",
    "registry/views/models/", "registry/views/api_", "registry/views/openpai_", "registry/db.py",
    "registry/migrations/", "runner/__main__.py", "runner/config.py", "runner/exposition.py",
    "runner/image_builder.py", "runner/storages.py", "runner/task_log.py", "runner/job_store.py",
    "runner/job_query.py")
LIKE_A_SENTENCE = re.compile(r"[a-z{}`]{2,} [a-z`{][^\0]*[.?]\s*\Z")
SAYING = {"Sentence", "plural", "N_", "_", "gettext", "ngettext"}
LOGGING = {"debug", "info", "warning", "error", "exception", "log"}


def said(text, language="zh"):
    found = _translations(language)
    return text.said(found.gettext, found.ngettext)


def plain_sentences(node, is_said=False):
    """Each literal that ends like a sentence and is not marked for translation, with its line."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        if name in LOGGING and isinstance(node.func, ast.Attribute):
            return
        is_said |= name in SAYING
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if isinstance(node, (ast.JoinedStr, ast.Constant)):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(getattr(part, "value", "")) if isinstance(part, ast.Constant) else "{}"
                       for part in parts)
        if not is_said and LIKE_A_SENTENCE.search(text):
            yield node.lineno, text
        return
    for child in ast.iter_child_nodes(node):
        yield from plain_sentences(child, is_said)


def test_whatever_people_may_read_on_a_page_is_a_sentence():
    paths = [path for package in ("registry", "runner")
             for path in sorted((ROOT / package).rglob("*.py"))
             if not path.relative_to(ROOT).as_posix().startswith(PLAIN)]
    assert [f"{path.name}:{line}: {text}" for path in paths
            for line, text in plain_sentences(ast.parse(path.read_text()))] == []


def test_a_sentence_is_its_english_text_and_has_a_chinese_one():
    text = Sentence("There is no source {name}.", name="bundled")
    assert text == "There is no source bundled." and said(text) == "没有来源 bundled。"
    assert said(text, "en") == str(text)
    assert said(Sentence("Nobody has translated {this}.", this="it")) == "Nobody has translated it."


def test_values_that_are_sentences_are_said_too_and_values_are_never_templates():
    inner = Sentence("There is no source {name}.", name="{other} {0}")
    assert said(joined(inner, plural("{count} CPU", "{count} CPUs", 2))) == \
        "没有来源 {other} {0}。2 个 CPU"
    assert joined("", "a", "") == "a" and joined() == ""
    assert (either("ab"), both("ab"), listed("abc")) == ("a or b", "a and b", "a, b, c")


def test_chinese_stands_beside_chinese_without_a_space_and_beside_all_else_with_one():
    words = {"waits for {need} of {user} now": "正在等待 {need}，由 {user} 使用",
             "{count} at once": "同时可用的 {count} 个"}

    def chinese(text):
        return words.get(text, text)
    for need, wanted in ((Sentence("{count} at once", count=3), "正在等待同时可用的 3 个，由 ann 使用"),
                         ("GPU", "正在等待 GPU，由 ann 使用")):
        sentence = Sentence("waits for {need} of {user} now", need=need, user="ann")
        assert sentence.said(chinese, lambda one, many, count: one) == wanted


def test_a_sentence_goes_through_tables_answers_and_processes_as_it_is():
    inner = Sentence("There is no source {name}.", name="x")
    text = plural("{count} CPU", "{count} CPUs", 1, of=inner)
    for after in (restored(stored(text)), pickle.loads(pickle.dumps(text)), copy.deepcopy(text),
                  heard(json.loads(json.dumps(told({"a": [{"text": text}]}))))["a"][0]["text"]):
        assert after == text == "1 CPU" and said(after) == "1 个 CPU"
    assert said_by(ValueError(text)) is text and said_by(ValueError(3)) == "3"


@pytest.mark.parametrize("kept", [
    "The job has arrived.", "", "{", '{"template": ',
    '{"template": "{a.b.c}", "values": {"a": 1}}', '{"template": 3}'])
def test_what_an_earlier_release_kept_stays_the_text_that_it_is(kept):
    assert restored(kept) == kept


def test_parts_that_make_another_text_are_left():
    parts = Sentence("There is no source {name}.", name="x").as_json()
    found = heard({"text": "Something else.", "text_parts": parts})
    assert found == {"text": "Something else."} and not isinstance(found["text"], Sentence)


WRONG = {
    "no YAML": "a: b: c", "a tab": "type: job\n\tname: x", "two documents": "a: 1\n---\nb: 2",
    "not closed": "type: [job", "an alias": "a: *x", "a key twice": "name: x\nname: y",
    "a list": "- a", "empty": "", "one text": "x", "no type": "name: x",
    "a wrong type": "type: jib",
    "v1": "jobName: x", "a field": HELLO.replace("role:", "rolle:"),
    "a number": HELLO.replace("cpu: 1", "cpu: x"),
    "a name": HELLO.replace("name: hello", "name: ''"),
    "an image": HELLO.replace("    dockerimage:", "    image:"), "protocol 2": "protocolVersion: 2"}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_whatever_is_wrong_in_a_text_is_told_in_chinese(text):
    try:
        problems = parse(text).warnings
    except ComponentError as error:
        problems = error.problems
        assert not ENGLISH.search(_bare(said(error.message)))
    assert problems
    for problem in problems:
        assert not ENGLISH.search(_bare(said(problem.message))), problem.message


def _bare(text):
    """The text without what stands between backticks, which is code in every language."""
    return re.sub("`[^`]*`", "", text)


PAGES = ["/nope", "/c/job/nope", "/c/job/hello@9.9", "/c/job/hello/compare?from=9.9", "/jobs/nope",
         "/use/data/points", "/use/job/hello?p.nope=1", "/use/job/hello?p.epochs=x", "/?q=foo:bar",
         "/?q=(", "/?q=gpu:x", "/sources/nope", "/publish/999", "/by/nobody/feed.atom", "/machine"]


@pytest.mark.parametrize("address", PAGES)
def test_no_page_tells_of_an_error_in_english(web, address):
    page = web.browser("ann").get(address, headers=CHINESE).text
    texts = re.sub(r"<(script|template|textarea|code|pre|svg|style)\b.*?</\1>|<[^>]*>", "\n", page,
                   flags=re.S)
    found = [line.strip() for line in texts.split("\n") if ENGLISH.search(line)]
    assert found == []


def test_a_check_of_a_text_is_answered_in_the_readers_language_with_the_english_beside(web):
    ann = web.browser("ann")
    form = {"yaml": HELLO.replace("cpu: 1", "cpu: x"), "csrf_token": ann.token()}
    problem, = ann.send("/submit/check", form, headers=CHINESE).json["problems"]
    assert problem["message"].startswith("`cpu`必须是") and "must be" in problem["message_en"]


def test_programs_are_answered_in_english_unless_they_ask_for_another_language(web):
    program = web.program("ann")
    body = {"yaml": "a list: [of"}
    plain = program.post("/validate", body, **CHINESE).json["errors"][0]
    assert "is not closed" in plain["message"] and "message_en" not in plain
    ann = web.browser("ann")
    asked = ann.json("POST", "/api/v3/validate", body,
                     **{"X-Language": "zh", "X-CSRFToken": ann.token()})
    assert "没有结束" in asked.json["errors"][0]["message"]
    fields = ann.get("/api/v3/schemas", headers={"X-Language": "zh"}).json
    assert fields["job"]["properties"]["name"]["description"].startswith("任务的名称。")
