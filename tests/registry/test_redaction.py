"""Tokens are taken out of texts and logs, in every form that they may have there."""
import base64
import io
import logging
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry import quiet_logs
from registry.config import Secret
from registry.redaction import redacted

CLASSIC, FINE = "ghp_" + "a1" * 18, "github_pat_" + "b_2" * 27


@pytest.mark.parametrize("text, left", [
    (f"bad {CLASSIC}.", "bad …."), (f"{FINE}, {CLASSIC}", "…, …"),
    (f"https://x:{CLASSIC}@github.com/a/b", "https://…github.com/a/b"),
    ("https://user:other@host/a", "https://…host/a"),
    ("Authorization: token abc def", "Authorization: … def"),
    ("https://github.com/a/b is not there", "https://github.com/a/b is not there"),
    ("ghp_ is how they begin", "ghp_ is how they begin")])
def test_what_looks_like_a_token_is_taken_out_and_nothing_else(text, left):
    assert redacted(text) == left


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=12))
@settings(deadline=None, max_examples=200)
def test_a_known_secret_is_taken_out_in_all_its_forms(secret):
    basic = base64.b64encode(f"x-access-token:{secret}".encode()).decode()
    forms = [secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode(), basic]
    for form in forms:
        shown = redacted(f"before {form} after", Secret(secret))
        assert form not in shown and shown.startswith("before ")


@pytest.fixture
def logged():
    """A handler at the root as a process has it, and what it wrote."""
    stream, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)


def test_no_log_and_no_traceback_holds_a_token(logged):
    quiet_logs.keep_tokens_out()
    quiet_logs.keep_tokens_out()
    try:
        raise ValueError(f"https://x:{CLASSIC}@github.com says no to {FINE}")
    except ValueError:
        logging.getLogger("a.b").exception("with %s", CLASSIC)
    text = logged.getvalue()
    assert CLASSIC not in text and FINE not in text
    assert text.startswith("ERROR with …\nTraceback") and "says no to …" in text
