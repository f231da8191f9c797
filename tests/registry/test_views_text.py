"""Values as a page shows them."""
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.views.text import markdown, plain_log


@pytest.mark.parametrize("text, shown", [
    ("care \x1b[31mneeded\x1b[0m\n", "care needed\n"), ("10%\r20%\r30%\nend", "30%\nend"),
    ("\x1b]0;title\x07text", "text"), ("one\r\ntwo\r\n", "one\ntwo\n"), ("gone\r", "")])
def test_a_log_shows_what_a_terminal_would(text, shown):
    assert plain_log(text) == shown


@settings(deadline=None)
@given(st.text(alphabet="a\r\n\x1b[m"))
def test_a_log_never_keeps_what_steers_a_terminal(text):
    assert not re.search("\r|\x1b\\[[0-9]*m", plain_log(text))


@pytest.mark.parametrize("text", [
    "a" * 1_000_000, "a\r" * 500_000, "a" * 500_000 + "\r\n", "\x1b[" + "0" * 500_000])
def test_a_long_line_holds_up_nobody(text):
    begun = time.process_time()
    plain_log(text)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("text", [
    "<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](//evil.example/x.png)",
    "<svg/onload=alert(1)>", "[x](data:text/html,<script>)", "<a onclick=alert(1)>x</a>",
    '[x](https://h"onclick="alert(1))', "[x](  java\nscript:alert(1))", "<style>*{}</style>"])
def test_no_description_becomes_code(text):
    html = str(markdown(text))
    assert not re.search(r"<(?!/?(p|a|em|strong|code|br)\b)", html)
    assert not re.search(r"<[^>]*(\son\w+=|javascript:|data:|style=)", html)


def test_a_link_to_a_file_of_the_repository_stays_text():
    shown = markdown("[here](../x.md) [there](#part) [far](https://h.org/)")
    assert 'href="https://h.org/"' in shown and shown.count("href") == 1 and "here" in shown
