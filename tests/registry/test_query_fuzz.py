"""Whatever is typed into the search: pages, API, completions and feeds answer it."""
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.query_fuzz import CHOSEN, PATHS, SIGNS, VALUES, WORDS, home
from registry.query_fields import FIELDS

EXAMPLES, STRINGS = 800, 25  # 20,000 in all
VERSIONS = 300


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A client of the whole application over a few hundred versions."""
    client, _ = home(tmp_path_factory.mktemp("fuzz"), VERSIONS)
    yield client
    client.application.extensions["paishare"].accounts._engine.dispose()


def queries():
    """Text of every kind: any characters, and what the language is made of in any order."""
    names = st.sampled_from(("cifar10", "ResNet50", "training_mnist-3", "图像分类", "BERT", "cifr10"))
    fields = st.builds("{}:{}".format, st.sampled_from(tuple(FIELDS)),
                       st.one_of(st.sampled_from(VALUES), names, st.text(max_size=5)))
    pieces = st.one_of(names, fields, st.sampled_from(WORDS), st.sampled_from(SIGNS),
                       st.sampled_from((" ", " ", " OR ", " -", " (", ") ")))
    composed = st.lists(pieces, max_size=12).map("".join)
    nested = st.builds(lambda start, end, depth, inside: start * depth + inside + end * depth,
                       st.sampled_from(("(", "-(", "(a OR ", '"', "NOT ", "-")),
                       st.sampled_from((")", "", '"')), st.integers(1, 60), composed)
    huge = st.builds(lambda piece, times: piece * times, pieces, st.integers(50, 1200))
    return st.one_of(st.text(max_size=40), composed, composed, composed, nested, huge)


turns = count()


@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(queries(), min_size=STRINGS, max_size=STRINGS))
def test_no_query_of_twenty_thousand_makes_anything_fail(searched, texts):
    for text in texts:
        check(searched, PATHS[next(turns) % len(PATHS)], text)


@pytest.mark.parametrize("path", PATHS)
def test_queries_that_were_slow_once_are_answered(searched, path):
    for text in CHOSEN:
        check(searched, path, text)


def check(client, path, text):
    """It is found, led to another page, or refused with the place of its mistake."""
    address, _, rest = path.partition("?")
    values = dict(part.split("=") for part in rest.split("&"))
    sendable = text.encode("utf-8", "replace").decode()
    answer = client.get(address, query_string={**values, "q": sendable})
    assert answer.status_code in (200, 302, 400), (path, text, answer.text)
    if answer.status_code == 400 and address.endswith("/components"):
        error = answer.json["errors"][0]
        assert error["message"] and 1 <= (error["column"] or 1) <= len(sendable) + 1, (path, text)
