"""Whatever a link or a form brings along, no page that answers has it as anything but text."""
import re
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.payloads import PAYLOADS
from tests.browser.trap import FOREIGN, Trap
from tests.fakes.web_home import HELLO
from tests.registry.test_views_submit import PLAIN

ROOT = Path(__file__).parents[2]
READ = re.compile(r"(?:args|form|values)(?:\.get(?:list)?\(|\[)\s*[\"'](\w+)[\"']")
ASKED = sorted({name for file in ROOT.glob("registry/views/*.py")
                for name in READ.findall(file.read_text("utf-8"))} | {"state", "param.epochs"})
ELSEWHERE = ("/api/v", "/rest-server", "/static", "/logout", "/metrics")
JOB = "000000000001"
TIMES = 7  # requests of each address, which bring 20 payloads each
PLACES = {"job_id": JOB, "number": 1, "id_": 1, "type_name": "job", "rest": "hello", "attempt": 1,
          "role": "main", "index": 0, "path": "a.txt", "contributor": "Ann", "action": "yank",
          "source": "examples", "owner": "ann", "repo": "x", "version": "1.1.0", "part": "github",
          "ref": "hello", "user_id": 1}
ARE_FOREIGN = f"""(pages) => pages.flatMap(([place, html]) => ({FOREIGN})(
    new DOMParser().parseFromString(html, "text/html")).map((each) => `${{place}} ${{each}}`))"""


def addresses(site, method):
    """The rules that answer pages; those that take something away are the last."""
    return sorted((rule for rule in site.app.url_map.iter_rules()
                   if method in rule.methods and not rule.websocket
                   and not rule.rule.startswith(ELSEWHERE)),
                  key=lambda rule: rule.rule.endswith(("remove", "lock", "password")))


def filled(rule, texts):
    """The address of a rule, with `texts` in its parts where these may hold any text."""
    def part(found):
        kind, _, name = found[1].rpartition(":")
        if name == "name" and "/users/" in rule.rule:
            return "bob"
        fixed = texts is None or kind.startswith("int")
        return quote(str(PLACES.get(name, "examples")) if fixed else next(texts), safe="")
    return re.sub(r"<([^>]+)>", part, rule.rule)


@pytest.fixture
def admin(site):
    """An administrator, who may see every page, and has a job that ran."""
    browser = site.browser("admin")
    assert browser.post("/submit", yaml=PLAIN, action="submit").status_code == 303
    site.runner.start(JOB)
    site.runner.leave(JOB, "a.txt", b"x")
    site.runner.end(JOB, "SUCCEEDED", "Every task succeeded.")
    return browser


def pages(answers):
    """The answers that a browser would show as pages, with where they come from."""
    for place, answer in answers:
        assert answer.status_code < 500, (place, answer.status_code)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", place
        if answer.mimetype == "text/html" and answer.status_code // 100 != 3:
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"], place
            yield place, answer.text


def test_no_page_has_what_its_address_brings_as_more_than_text(site, admin, page):
    texts = cycle(PAYLOADS)
    found = []
    for rule in addresses(site, "GET"):
        for number in range(TIMES):
            path = filled(rule, texts if number % 4 == 3 else None)
            asked = dict(zip(ASKED[number % 3::3], texts))
            found.append((f"{path}?{asked}", admin.get(path, query_string=asked)))
    shown = list(pages(found))
    assert len(shown) > 200
    assert page.evaluate(ARE_FOREIGN, shown) == []


def test_no_page_has_what_a_form_brings_as_more_than_text(site, admin, page):
    texts = cycle(PAYLOADS)
    found = []
    token = admin.token()
    for rule in addresses(site, "POST"):
        for number in range(TIMES):
            sent = dict(zip(ASKED[number % 3::3], texts)) | (
                {"yaml": HELLO + "".join(f"{each!r}: 1\n" for each in islice(texts, 20))}
                if number % 2 else {})
            path = filled(rule, None)
            answer = admin.send(path, {"csrf_token": token, **sent})
            found.append((f"{path} {sent}", answer))
            if answer.status_code == 303:
                found.append((f"after {path}", admin.get(answer.location)))
    shown = list(pages(found))
    assert len(shown) > 100
    assert page.evaluate(ARE_FOREIGN, shown) == []


@pytest.mark.parametrize("policy", [
    pytest.param(True, id="with the policy", marks=pytest.mark.exhaustive),
    pytest.param(False, id="without the policy")])
def test_no_page_runs_what_its_address_brings(site, admin, open_page, policy):
    trap = Trap(open_page("admin", bypass_csp=not policy))
    texts = cycle(PAYLOADS)
    for rule in addresses(site, "GET"):
        path = filled(rule, None)
        asked = "&".join(f"{name}={quote(text)}" for name, text in zip(ASKED, texts))
        answer = admin.get(f"{path}?{asked}")
        if answer.mimetype == "text/html" and not answer.headers.get("Content-Disposition"):
            trap.page.goto(f"{path}?{asked}")
            trap.check(path)
    trap.page.watch.errors = [each for each in trap.page.watch.errors
                              if "status of 40" not in each]
