"""From the marketplace to a job that runs, as a person does it."""
import pytest
from playwright.sync_api import expect

from tests.functional.runner_process import wait_for

JOB = "000000000001"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0"
    "000003010100c9fe92ef0000000049454e44ae426082")


@pytest.fixture
def job_page(site, page):
    """The page of a job that runs."""
    page.goto("/use/job/hello")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(f"**/jobs/{JOB}")
    site.runner.start(JOB)
    page.locator("#live-state", has_text="Running").wait_for()
    return page


def test_use_and_submit_are_two_presses_from_the_marketplace(site, page):
    page.goto("/")
    page.get_by_label("Search the marketplace").fill("hello")
    page.get_by_role("link", name="Use hello").click()
    page.get_by_label("epochs").fill("5")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(f"**/jobs/{JOB}")
    assert site.runner.jobs[JOB]["spec"]["parameters"]["epochs"] == 5


def test_the_log_grows_while_it_is_written(site, job_page):
    log = job_page.locator("#log-text")
    site.runner.write(JOB, "epoch 1\n")
    log.get_by_text("epoch 1").wait_for()
    site.runner.write(JOB, "care \x1b[3", "stderr")
    site.runner.write(JOB, "1mneeded\x1b[0m <b>now</b>\n", "stderr")
    site.runner.write(JOB, "10%\r20%\repoch 2\n")
    log.get_by_text("epoch 2").wait_for()
    assert log.locator(".text").all_inner_texts() == [
        "epoch 1", "care needed <b>now</b>", "epoch 2"]
    assert log.locator(".stderr .text").all_inner_texts() == ["care needed <b>now</b>"]
    assert log.locator(".fg-ansi-red").all_inner_texts() == ["needed"]


def test_state_tasks_and_pictures_follow_without_a_reload(site, job_page):
    job_page.evaluate("window.mark = 1")
    assert job_page.get_by_role("link", name="20000").get_attribute("href") == (
        "http://127.0.0.1:20000/")
    site.runner.leave(JOB, "confusion matrix.png", PIXEL)
    site.runner.end(JOB, "SUCCEEDED", "Every task succeeded.")
    job_page.locator("#live-state", has_text="Every task succeeded.").wait_for()
    expect(job_page.locator("#announced")).to_have_text("Succeeded. Every task succeeded.")
    picture = job_page.get_by_role("img", name="confusion matrix.png of main-0")
    picture.scroll_into_view_if_needed()
    expect(picture).to_have_js_property("naturalWidth", 1)
    job_page.get_by_text("The task wrote nothing.").wait_for()
    assert job_page.locator("#stop").count() == 0
    assert job_page.evaluate("window.mark") == 1


def test_a_job_is_stopped_after_one_question(site, job_page):
    job_page.get_by_text("Stop…").click()
    job_page.get_by_role("button", name="Yes, stop it").click()
    job_page.get_by_text("was asked to stop. Its logs").wait_for()
    assert site.runner.jobs[JOB]["stop_requested"]


def test_following_ends_where_the_reader_scrolls_up(site, job_page):
    site.runner.write(JOB, "line\n" * 200)
    log = job_page.locator("#log-text")
    log.get_by_text("line").first.wait_for()
    assert log.evaluate("each => each.scrollTop > 0")
    log.hover()
    job_page.mouse.wheel(0, -2000)
    expect(job_page.get_by_label("Follow")).not_to_be_checked()
    site.runner.write(JOB, "the end\n")
    job_page.get_by_role("button", name="↓ 1 new line").wait_for()
    assert log.evaluate("each => each.scrollTop + each.clientHeight < each.scrollHeight - 100")
    job_page.get_by_role("button", name="↓ 1 new line").click()
    log.get_by_text("the end").wait_for()
    expect(job_page.get_by_label("Follow")).to_be_checked()


def test_each_line_of_a_log_stands_below_the_one_before(site, job_page):
    site.runner.write(JOB, "one\ntwo\n")
    lines = job_page.locator("#log-text .row-line")
    lines.nth(1).wait_for()
    first, second = (lines.nth(number).bounding_box() for number in range(2))
    assert first["x"] == second["x"] and second["y"] >= first["y"] + first["height"] - 1


def test_a_long_log_is_searched_and_every_line_has_an_address(site, job_page):
    site.runner.write(JOB, "".join(f"step {number} loss 0.{number}\n" for number in range(5000)))
    field = job_page.get_by_label("Search in the log")
    job_page.get_by_text("step 4999").wait_for()
    assert job_page.locator("#log-text .row-line").count() < 1500
    field.fill("step 42 ")
    job_page.locator("#log-count", has_text="1").wait_for()
    field.press("Enter")
    line = job_page.locator("#log-text .marked")
    assert line.locator(".text").inner_text() == "step 42 loss 0.42"
    expect(job_page.get_by_label("Follow")).not_to_be_checked()
    site.runner.write(JOB, "step 42 once more\n")
    expect(job_page.locator("#log-count")).to_have_text("1/2")
    line.locator("a").click()
    assert job_page.url.endswith("#L43")
    job_page.reload()
    job_page.locator("#log-text .marked", has_text="step 42 loss").wait_for()


def test_several_lines_have_one_address_and_each_task_has_its_own(site, job_page):
    site.runner.write(JOB, "".join(f"step {number}\n" for number in range(300)))
    job_page.goto(f"/jobs/{JOB}/tasks/main/0#L100-L102")
    marked = job_page.locator("#log-text .marked .text")
    expect(marked).to_have_text(["step 99", "step 100", "step 101"])
    job_page.get_by_role("link", name="98", exact=True).click()
    expect(marked).to_have_text(["step 97"])
    job_page.get_by_role("link", name="101", exact=True).click(modifiers=["Shift"])
    assert job_page.url.endswith("#L98-L101")
    expect(marked).to_have_text(["step 97", "step 98", "step 99", "step 100"])


def test_of_a_job_that_failed_the_end_is_no_success_and_no_line_is_new(site, job_page):
    site.runner.write(JOB, "".join(f"step {number}\n" for number in range(300)))
    site.runner.end(JOB, "FAILED", "The task failed: exit code 1.")
    expect(job_page.locator(".stages .done")).to_have_text([
        "Image, done", "Inputs, done", "Queue, done", "Run, done"])
    expect(job_page.locator(".stages .failed")).to_have_text("End, failed")
    job_page.goto(f"/jobs/{JOB}?task=main-0#L43")
    job_page.locator("#log-text .marked", has_text="step 42").wait_for()
    job_page.get_by_text("This is the end of the log.").wait_for()
    expect(job_page.locator("#log-more")).to_be_hidden()
    expect(job_page.get_by_role("link", name="Download", exact=True)).to_have_attribute(
        "download", "hello-main-0-1.log")


def test_what_a_task_uses_is_drawn_and_told_in_words(site, job_page):
    site.runner.samples[JOB, 1, "main", 0] = [
        {"time": 1e9 + at, "cpu_s": at * 0.5, "memory": at << 20, "peak_memory": at << 20,
         "read": 0, "written": at * 1024, "received": None, "sent": None, "gpus": []}
        for at in range(1, 11)]
    job_page.locator("#charts").scroll_into_view_if_needed()
    job_page.get_by_text("CPU: now 50 %, at most 50 %").wait_for()
    job_page.get_by_text("Memory: now 10 MiB, at most 10 MiB").wait_for()
    assert job_page.locator("#charts canvas").count() == 3
    job_page.get_by_text("As a table").click()
    assert job_page.locator(".as-table tr").count() == 11


def test_of_a_long_run_the_last_part_is_drawn_where_that_is_asked_for(site, job_page):
    site.runner.samples[JOB, 1, "main", 0] = [
        {"time": 1e9 + at * 60, "cpu_s": at * 6, "memory": (200 - at) << 20, "peak_memory": 0,
         "read": 0, "written": 0, "received": None, "sent": None, "gpus": []}
        for at in range(100)]
    job_page.locator("#charts").scroll_into_view_if_needed()
    job_page.get_by_text("at most 200 MiB").wait_for()
    job_page.get_by_label("How much of it").select_option("The last 15 minutes")
    job_page.get_by_text("Memory: now 101 MiB, at most 116 MiB").wait_for()


def test_a_runner_that_goes_away_is_told_and_comes_back(site, job_page):
    site.runner.close()
    job_page.locator("#offline").wait_for()
    runner = site.runner
    jobs = runner.jobs
    runner.__init__(runner.path.parent)
    runner.jobs = jobs
    job_page.locator("#offline").wait_for(state="hidden")
    job_page.watch.errors.clear()


def test_no_line_is_doubled_where_the_runner_went_away_in_the_middle_of_a_log(site, job_page):
    log = job_page.locator("#log-text .text")
    site.runner.hang_ups = 3
    site.runner.write(JOB, "epoch 1\n")
    log.get_by_text("epoch 1").first.wait_for()
    wait_for(lambda: site.runner.hang_ups == 0, "the runner answers again", 60)
    site.runner.write(JOB, "epoch 2\n")
    log.get_by_text("epoch 2").wait_for()
    expect(log).to_have_text(["epoch 1", "epoch 2"])


def test_submit_again_is_filled_with_what_ran(site, job_page):
    job_page.get_by_role("link", name="Submit again").click()
    assert job_page.get_by_label("Name of the job").input_value() == "hello"
    job_page.get_by_role("button", name="Submit").click()
    job_page.wait_for_url("**/jobs/000000000002")


def test_a_page_that_a_job_wrote_is_saved_and_never_shown(site, job_page):
    site.runner.leave(JOB, "report.html", b"<script>opener.xss = 1</script>")
    job_page.get_by_role("link", name="report.html").click()
    job_page.get_by_role("heading", name="report.html", level=1).wait_for()
    with job_page.expect_download() as download:
        job_page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "report.html"


def test_everything_but_live_logs_works_without_scripts(site, open_page):
    page = open_page("ann", java_script_enabled=False)
    page.goto("/c/job/hello")
    page.get_by_role("link", name="Use hello").click()
    page.get_by_label("epochs").fill("many")
    page.get_by_role("button", name="Check").click()
    page.get_by_text("must be a whole number").first.wait_for()
    page.watch.expect("400")
    page.get_by_label("epochs").fill("4")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/jobs/*")
    site.runner.start(JOB)
    site.runner.write(JOB, "epoch 1\n")
    page.reload()
    assert page.locator("#log-text").inner_text() == "epoch 1\n"
    assert page.locator("#log-state noscript").is_visible()
    page.get_by_text("Stop…").click()
    page.get_by_role("button", name="Yes, stop it").click()
    page.locator("#me > summary").click()
    page.get_by_role("button", name="Log out").click()
    assert site.runner.jobs[JOB]["stop_requested"]
