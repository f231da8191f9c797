"""Real Chromium on real pages: any error in the console and any request elsewhere is a failure."""
import re
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.browser.hostile import HOSTILE_FILES
from tests.fakes.web_home import FILES, HELLO, PASSWORD, WebHome, write_home

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
FOUND = [Path(path) for path in map(shutil.which, NAMES) if path]
CHROMIUM = next((path for path in FOUND if path.resolve().name != "snap"), None)
DOWNLOADED = list(Path("~/.cache/ms-playwright").expanduser().glob("chromium*"))
PHONE = {"width": 360, "height": 740}
WAIT_MS = 60_000  # on a machine that does other things too; what is there is found at once
LEFT = ("htmx:sendAbort", "htmx:afterRequest")
KEPT = Path(__file__).parents[2] / "test-results"


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in item.path.as_posix() and not (CHROMIUM or DOWNLOADED):
            item.add_marker(pytest.mark.skip(reason="no Chromium: run tools/setup.sh browser"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.failed and "browser" in item.funcargs:
        keep(item.funcargs["browser"], item.name)
    return report


def traced(context):
    """What is done in `context` from here on is kept where its test fails."""
    context.tracing.start(snapshots=True)
    return context


def keep(browser, name):
    """A picture of each open page, and for `playwright show-trace` how it came there."""
    KEPT.mkdir(exist_ok=True)
    name = re.sub(r"\W+", "-", name)[:100]
    for number, context in enumerate(browser.contexts):
        context.tracing.stop(path=KEPT / f"{name}-{number}.zip")
        traced(context)
        for each, page in enumerate(context.pages):
            page.screenshot(path=KEPT / f"{name}-{number}-{each}.png")


class Site(WebHome):
    """A registry that serves on a port of its own."""

    def __init__(self, template, folder):
        super().__init__(template, folder)
        self._server = make_server("127.0.0.1", 0, self.app, threaded=True,
                                   request_handler=_Quiet)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        super().close()


class _Quiet(WSGIRequestHandler):
    def log(self, *_):
        pass


class Watch:
    """What went wrong in a page; `expect` takes out what a test provokes."""

    def __init__(self, site, page):
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._on_console)
        page.on("dialog", self._on_dialog)
        page.on("request", lambda request: self._on_request(site.url, request.url))

    def expect(self, text):
        """Drop the errors that have `text`; there must be one."""
        before = len(self.errors)
        self.errors = [error for error in self.errors if text not in error]
        assert len(self.errors) < before, f"no {text!r} among {self.errors}"

    def _on_dialog(self, dialog):
        """A page with changes asks before it is left, and is left; no other dialog may open."""
        if dialog.type == "beforeunload":
            dialog.accept()
        else:
            self.errors.append(dialog.message)
            dialog.dismiss()

    def _on_console(self, message):
        is_left = message.text.startswith(LEFT)  # a search goes on when its page is left
        if message.type in ("error", "warning") and not is_left:
            self.errors.append(message.text)

    def _on_request(self, origin, url):
        if not url.startswith((origin, "data:", "blob:")):
            self.errors.append(f"request to {url}")


@pytest.fixture(scope="session")
def home_template(tmp_path_factory):
    home = tmp_path_factory.mktemp("site") / "home"
    write_home(home, FILES | HOSTILE_FILES,
               {"job/hello.yaml": HELLO.replace("1.0.0\ncon", "1.1.0\ncon")})
    return home


@pytest.fixture
def site(home_template, tmp_path):
    site = Site(home_template, tmp_path)
    yield site
    site.close()


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        expect.set_options(timeout=WAIT_MS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, site):
    """Open a page that is watched: `open_page(user, **what Playwright's new_context takes)`."""
    opened = []

    def open_(user=None, **options):
        context = traced(browser.new_context(base_url=site.url, **options))
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.watch = Watch(site, page)
        opened.append(page)
        if user:
            context.add_cookies([session_of(site, user)])
        return page
    yield open_
    for page in opened:
        errors = page.watch.errors
        page.context.close()
        assert not errors, errors


def session_of(site, user):
    """The cookie of somebody who has logged in; `log_in` does it by the page."""
    cookie = site.browser(user).cookie("paishare")
    return {"name": cookie.key, "value": cookie.value, "url": site.url}


@pytest.fixture
def page(open_page):
    """Ann's page on a desktop."""
    return open_page("ann")


def log_in(page, user, password=PASSWORD):
    page.goto("/login")
    page.get_by_label("Name").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.locator("#me").wait_for()
