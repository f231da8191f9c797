"""Nothing that anyone sends makes the server fail."""
import re
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.views.api_docs import APIS

ROUTES = [operation for api in APIS for operation in api.operations]
PAGES = ["/", "/c/<x>", "/c/<x>/<y>", "/use/<x>", "/c/job/<x>", "/use/job/<x>", "/submit",
         "/jobs", "/jobs/<x>", "/login", "/static/<x>", "/<x>", "/feed.atom",
         "/c/<x>/<y>/feed.atom", "/by/<x>/feed.atom", "/compare", "/changelog", "/used-by",
         "/api/v2/template/<x>/<y>"]
TEXTS = st.one_of(st.text(), st.sampled_from([
    "job", "hello", "job/hello", "examples", "..", "\0", "9" * 5000, "-1", "²", "%2e%2e", "latest",
    "\ud800", "type: job\nname: x", "1e999", "true", "null", "\u202e", "a" * 300]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8)
NAMES = ["reference", "yaml", "parameters", "name", "username", "password", "location",
         "old_password", "new_password", "q", "type", "page", "page_size", "version", "source",
         "state", "limit", "before", "all", "role", "index", "attempt", "stream", "offset",
         "wait_s", "task", "next", "again", "param.epochs", "key", "action", "linked",
         "kind", "reason", "successor", "a", "b", "of", "whole"]
FIELDS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4)
fuzz = settings(deadline=None, max_examples=150, suppress_health_check=[
    HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large])


def path_of(template, draw):
    """The template with each part filled in, usual or not, as a client may write it."""
    parts = re.compile(r"<[^>]+>")
    return parts.sub(lambda _: quote(clean(draw(TEXTS)), safe="/%"), template)


def clean(value):
    """A value as text that can be sent at all."""
    return str(value).encode("utf-8", "replace").decode()


@pytest.fixture
def ann(web):
    return web.browser("ann")


@fuzz
@given(data=st.data())
def test_no_call_of_the_api_makes_it_fail(web, ann, data):
    route = data.draw(st.sampled_from(ROUTES))
    query = data.draw(FIELDS) if route.query else {}
    answer = ann.json(route.method, f"/api/v3{path_of(route.path, data.draw)}"
                      f"?{'&'.join(f'{name}={quote(clean(query[name]))}' for name in query)}",
                      data.draw(FIELDS | VALUES) if route.body else None,
                      **{"X-CSRFToken": ann.token()})
    assert answer.status_code < 500, answer.text


@fuzz
@given(data=st.data())
def test_no_address_makes_a_page_fail(ann, data):
    path = path_of(data.draw(st.sampled_from(PAGES)), data.draw)
    query = {name: clean(value) for name, value in data.draw(FIELDS).items()}
    answer = ann.get(path, query_string=query)
    assert answer.status_code < 500, answer.text


@fuzz
@given(fields=FIELDS)
def test_no_form_makes_the_submit_page_fail(ann, fields):
    values = {name: clean(value) for name, value in fields.items()}
    answer = ann.post("/submit", **{"yaml": "type: job", **values})
    assert answer.status_code < 500, answer.text


@fuzz
@given(action=st.sampled_from(["yank", "unyank", "deprecate", "undeprecate", "purge"]) | TEXTS,
       fields=FIELDS)
def test_no_form_about_a_version_makes_it_fail(web, ann, action, fields):
    values = {name: clean(value) for name, value in fields.items()}
    answer = ann.post(f"/marks/{quote(clean(action), safe='%')}", **{"reason": "x", **values})
    assert answer.status_code < 500, answer.text


@pytest.mark.parametrize("body", ["[" * 100_000, '{"yaml": ' * 5000, '{"yaml": "\\ud800"}'])
def test_a_body_that_no_program_should_send_is_refused(web, body):
    answer = web.app.test_client().post("/api/v3/validate", data=body,
                                        content_type="application/json")
    assert answer.status_code in (200, 400) and answer.json
