"""Text that others wrote stays text, wherever it is shown."""
import pytest

from tests.browser.conftest import log_in
from tests.browser.hostile import BREAKOUT, HOSTILE_JOB, SCRIPT

JOB = "000000000001"
PAGES = ["/", "/?q=hostile", f"/?q={SCRIPT}", "/c/job/hostile", "/c/data/hostile_data",
         "/use/job/hostile", f"/use/job/hostile?param.text={SCRIPT}&param.{SCRIPT}=1", "/sources",
         f"/login?next=/{SCRIPT}", f"/jobs?state={SCRIPT}", "/settings"]


def is_attacked(page):
    """Whether a script of the hostile text ran, or became an element of the page."""
    return page.evaluate("window.xss !== undefined || document.querySelector("
                         "'[onerror], script:not([src]), a[href^=\"javascript\" i]') !== null")


@pytest.mark.parametrize("path", PAGES)
def test_hostile_components_run_nothing(page, path):
    page.goto(path)
    page.wait_for_load_state("networkidle")
    assert not is_attacked(page)


def test_hostile_text_is_shown_as_it_is(page):
    page.goto("/c/job/hostile")
    assert SCRIPT in page.locator("main").inner_text()
    assert BREAKOUT.splitlines()[0] in page.locator("#yaml-text").inner_text().replace('\\"', '"')


def test_a_hostile_error_runs_nothing(page):
    page.goto(f"/c/job/{SCRIPT}".replace("/script", "%2Fscript"))
    page.watch.expect("40")
    assert not is_attacked(page)


def test_a_hostile_text_in_the_editor_runs_nothing(page):
    page.goto("/submit")
    page.locator(".cm-content").click()
    page.keyboard.insert_text(HOSTILE_JOB.replace("cpu: 1", f"cpu: '{SCRIPT}'"))
    page.locator("#problems a").first.wait_for()
    assert not is_attacked(page)
    with page.expect_navigation():
        page.get_by_label("Name of the job").press("Enter")
    page.watch.expect("400")
    assert not is_attacked(page)


def test_a_hostile_job_runs_nothing_in_the_reader(site, page):
    page.goto("/use/job/hostile")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(f"**/jobs/{JOB}")
    runner = site.runner
    runner.start(JOB)
    job = runner.jobs[JOB]
    job["events"].append({"time": job["created_at"], "stage": BREAKOUT, "text": BREAKOUT,
                          "attempt": 1})
    job["attempts"][0]["tasks"][0].update(ip=BREAKOUT, exit_text=BREAKOUT,
                                          ports={BREAKOUT: [1]})
    job["progress"] = {"text": BREAKOUT, "current": 1, "total": None}
    job["reason"] = BREAKOUT
    runner.write(JOB, BREAKOUT)
    runner.leave(JOB, f"{SCRIPT}.txt", b"x")
    page.locator("#log-text", has_text="window.xss").wait_for()
    page.locator("#live-events", has_text="window.xss").wait_for()
    page.reload()
    page.wait_for_load_state("networkidle")
    assert not is_attacked(page)


def test_the_policy_stops_a_script_that_would_slip_through(page):
    page.goto("/")
    with page.expect_console_message(lambda said: "Content Security Policy" in said.text):
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=xss=1>')")
    assert page.evaluate("window.xss") is None
    page.watch.expect("Content Security Policy")
    page.watch.errors.clear()


def test_a_form_on_another_site_cannot_act_for_the_reader(site, open_page):
    page = open_page("ann")
    page.route("http://evil.test/", lambda route: route.fulfill(
        content_type="text/html", body=f"<form method=post action={site.url}/logout><button>go"))
    page.goto("http://evil.test/")
    page.get_by_role("button").click()
    page.wait_for_url(f"{site.url}/logout")
    page.watch.errors.clear()
    page.goto("/jobs")
    assert "/jobs" in page.url


def test_a_new_password_logs_other_browsers_out(open_page):
    here, there = open_page("ann"), open_page("ann")
    here.goto("/settings")
    here.get_by_label("Password now").fill("correct horse")
    here.get_by_label("New password", exact=True).fill("another horse")
    here.get_by_label("New password again").fill("another horse")
    here.get_by_role("button", name="Change password").click()
    here.get_by_text("Your password is changed").wait_for()
    there.goto("/jobs")
    there.wait_for_url("**/login?next=/jobs")


def test_a_token_is_shown_once_and_can_be_copied(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    log_in(page, "ann")
    page.goto("/settings/tokens")
    page.get_by_label("Name of a new token").fill("laptop")
    page.get_by_role("button", name="Create token").click()
    token = page.locator("#token").inner_text()
    page.get_by_role("button", name="Copy the token").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == token
    page.goto("/settings/tokens")
    assert page.locator("#token").count() == 0
    page.get_by_role("button", name="Revoke the token laptop").click()
    page.get_by_text("You have no token yet.").wait_for()
