"""What a first visit of each page brings over the wire, against the budget of that page."""
import pytest

BUDGETS_KB = {"/": 70, "/?q=hello": 70, "/c/job/hello": 70, "/compare?a=hello@1.0.0&b=hello": 60,
              "/use/job/hello": 260, "/submit": 260, "/jobs": 75, "/publish": 90,
              "/publish/new?type=data": 260, "/settings": 60, "/sources": 75}


class Wire:
    """Bytes as they came, headers included."""

    def __init__(self, page):
        self.received = 0
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        session.on("Network.loadingFinished", self._on_finished)

    def _on_finished(self, event):
        self.received += event["encodedDataLength"]


@pytest.mark.parametrize("path", BUDGETS_KB)
def test_a_first_visit_keeps_to_its_budget(page, path):
    wire = Wire(page)
    page.goto(path, wait_until="networkidle")
    kilobytes = wire.received / 1024
    assert 10 < kilobytes <= BUDGETS_KB[path]
