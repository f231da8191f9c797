"""The pages of admins: who gets in, users, limits, the queue, and sources tried out first."""
import re

import pytest

from tests.fakes.web_home import HELLO, PASSWORD, write_repository

PAGES = ("/admin/sources", "/admin/users", "/admin/limits", "/admin/system")


@pytest.mark.parametrize("path", PAGES)
def test_the_pages_are_for_admins_and_say_whom_others_can_ask(web, path):
    assert web.browser("admin").get(path).status_code == 200
    refused = web.browser("ann").get(path)
    assert refused.status_code == 403 and "Ask one of them: admin." in refused.text
    assert web.browser().get(path).location.startswith("/login?next=")
