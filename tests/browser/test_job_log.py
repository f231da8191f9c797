"""The log of all tasks of a job, as it grows."""
JOB = "000000000001"


def line(index, text):
    return {"attempt": 1, "role": "worker", "index": index, "stream": "stdout", "text": text,
            "time": f"2026-01-02T03:04:0{index}.000Z"}


def test_lines_of_all_tasks_come_by_themselves_until_the_job_has_ended(site, page):
    page.goto("/use/job/hello")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url(f"**/jobs/{JOB}")
    site.runner.start(JOB)
    site.runner.merged = {"lines": [], "cursor": "1.0.0", "is_complete": False}
    page.goto(f"/jobs/{JOB}/log")
    page.get_by_text("Nothing is written yet.").wait_for()
    site.runner.merged = {"lines": [line(0, "\x1b[31m<b>one</b>\x1b[0m"), line(1, "10%\r20%")],
                          "cursor": "1.40.0", "is_complete": True}
    site.runner.changes.grew(JOB)
    page.get_by_text("This is the end of the log.").wait_for()
    assert page.locator("#all-log").inner_text().splitlines() == [
        "03:04:00.000 1/worker-0 | <b>one</b>", "03:04:01.000 1/worker-1 | 20%"]
