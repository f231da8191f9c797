"""The pages of jobs: list, one job, what it left, and whose it is."""
import re
from html import unescape

import pytest

from registry.config import PACKAGE
from tests.fakes.fake_runner import NOW
from tests.registry.test_views_marketplace import text_of
from tests.registry.test_views_submit import PLAIN

JOB = "000000000001"


@pytest.fixture
def ann(web):
    browser = web.browser("ann")
    assert browser.post("/submit", yaml=PLAIN, action="submit").location == f"/jobs/{JOB}"
    return browser


def test_a_waiting_job_tells_what_it_waits_for(ann):
    page = text_of(ann.get(f"/jobs/{JOB}"))
    assert "Waiting It waits for its turn." in page and "No task has started yet." in page
    assert "epochs 3" in page and "The job has arrived." in page


def test_a_waiting_job_tells_its_place_and_when_it_may_start(web, ann):
    web.runner.jobs[JOB] |= {"position": 3, "expected_start": "2999-01-01T00:00:00Z",
                             "virtual_cluster": "vision"}
    web.runner.jobs[JOB]["spec"] |= {"time_limit_s": 5400, "priority": 2, "gpu_type": "A100"}
    page = text_of(ann.get(f"/jobs/{JOB}"))
    assert "Place 3 in the queue; expected to start in " in page
    assert "Virtual cluster vision Priority 2 Time limit 90 min Type of GPU A100" in page


def test_a_running_job_shows_tasks_with_address_ports_and_log(web, ann):
    web.runner.start(JOB)
    web.runner.write(JOB, "epoch 1\n")
    web.runner.write(JOB, "care \x1b[31mneeded\x1b[0m\n10%\r20%\r30%\n", "stderr")
    page = ann.get(f"/jobs/{JOB}")
    assert 'href="http://127.0.0.1:20000/"' in page.text and "main-0" in page.text
    assert '<span class="stdout">epoch 1\n</span>' in page.text
    assert '<span class="stderr">care needed\n30%\n</span>' in page.text


def test_a_task_shows_what_it_used_and_the_api_every_sample(web, ann):
    web.runner.start(JOB)
    assert ann.get(f"/api/v3/jobs/{JOB}/metrics").json["samples"] == []
    sample = {"time": 1.0, "cpu_s": 12.34, "memory": 40, "peak_memory": 64_200_000, "read": 0,
              "written": 0, "received": None, "sent": None, "gpus": []}
    web.runner.samples[JOB, 1, "main", 0] = [sample]
    web.runner.jobs[JOB]["attempts"][0]["tasks"][0]["usage"] = sample
    page = text_of(ann.get(f"/jobs/{JOB}"))
    assert "CPU time" in page and "12.3 s" in page and "61 MiB" in page
    assert ann.get(f"/api/v3/jobs/{JOB}/metrics").json == {
        "attempt": 1, "role": "main", "index": 0, "samples": [sample]}


def test_a_failed_job_says_why_and_offers_no_stop(web, ann):
    web.runner.start(JOB)
    web.runner.end(JOB, "FAILED", "Task main-0 ran out of memory.", 137)
    page = ann.get(f"/jobs/{JOB}")
    assert "Failed Task main-0 ran out of memory." in text_of(page) and "137" in page.text
    assert f"/jobs/{JOB}/stop" not in page.text and f"/submit?from_job={JOB}" in page.text


@pytest.mark.parametrize("told, stages", [
    (["setup", "image"], "Image , failed Inputs Queue Run End"),
    (["setup", "image", "data"], "Image , done Inputs , failed Queue Run End"),
    (["setup"], "Image , failed Inputs Queue Run End")])
def test_a_job_that_never_ran_shows_the_stage_that_failed(web, ann, told, stages):
    web.runner.jobs[JOB]["events"] = [
        {"time": NOW, "stage": stage, "text": "x", "attempt": 0} for stage in [*told, "end"]]
    web.runner.end(JOB, "FAILED", "Image none:1 cannot be pulled.")
    web.runner.jobs[JOB]["stage"] = "end"
    answer = ann.get(f"/jobs/{JOB}")
    assert stages in text_of(answer) and "Change it and try again" in text_of(answer)


def test_a_job_that_ran_out_of_memory_shows_its_last_lines_and_leads_to_more(web, ann):
    web.runner.start(JOB)
    web.runner.write(JOB, "".join(f"step {number}\n" for number in range(30)))
    web.runner.write(JOB, "Killed\n", "stderr")
    web.runner.end(JOB, "FAILED", "Task main-0 ran out of memory.", 137)
    web.runner.jobs[JOB]["attempts"][0]["tasks"][0]["oom_killed"] = True
    answer = ann.get(f"/jobs/{JOB}")
    shown = re.search('(?s)<details class="last-lines".*?</details>', answer.text)[0]
    assert "step 11\n" in shown and "step 10\n" not in shown
    assert '<span class="stderr">Killed\n</span>' in shown
    again = re.search('href="([^"]+)">Try again with more memory', answer.text)[1]
    assert unescape(again) == (
        f"/submit?from_job={JOB}&focus=taskRoles.main.resourcePerInstance.memoryMB")


def test_a_job_that_failed_otherwise_shows_the_log_of_the_task_that_failed(web, ann):
    web.runner.jobs[JOB]["spec"]["task_roles"][0]["instances"] = 2
    web.runner.start(JOB)
    web.runner.write(JOB, "no such file\n", task=("main", 1))
    web.runner.end(JOB, "FAILED", "main-1 failed.", 2)
    web.runner.jobs[JOB]["attempts"][0]["tasks"][0]["state"] = "STOPPED"
    page = text_of(ann.get(f"/jobs/{JOB}"))
    assert "Change it and try again" in page
    assert page.count("no such file") == 1, "a short log is in sight as it is"
    other = text_of(ann.get(f"/jobs/{JOB}?task=main-0"))
    assert "Log of main-1, which failed first" in other


def test_while_the_runner_is_away_a_job_is_lost_and_the_page_says_since_when(web, ann):
    ann.get(f"/jobs/{JOB}")
    web.runner.close()
    answer = ann.get(f"/jobs/{JOB}")
    page = text_of(answer)
    assert answer.status_code == 503 and "Lost" in page and "It was last seen just now" in page
    assert f'href="/jobs/{JOB}">Try again' in answer.text
    assert "runner.sock" not in page and "tell whoever runs this server" in page
    assert f"It is expected at {web.runner.url}" in text_of(web.browser("admin").get("/jobs"))


def test_the_parts_that_change_are_those_of_the_page(web, ann):
    web.runner.start(JOB)
    page, parts = ann.get(f"/jobs/{JOB}").text, ann.get(f"/jobs/{JOB}/live").text
    found = re.findall('id="(live-[a-z]+)"', parts)
    assert found == ["live-actions", "live-state", "live-tasks", "live-artifacts", "live-facts",
                     "live-events"]
    assert all(f'id="{name}"' in page for name in found)


def test_every_attempt_can_be_looked_at(web, ann):
    for text in ("first\n", "second\n"):
        web.runner.start(JOB)
        web.runner.write(JOB, text)
    assert ">second\n<" in ann.get(f"/jobs/{JOB}").text
    assert ">first\n<" in ann.get(f"/jobs/{JOB}?attempt=1&task=main-0").text


@pytest.mark.parametrize("query", ["task=other-0", "task=main-1", "attempt=9", "task=main--1",
                                   "attempt=²", "task=main-²"])
def test_a_task_that_is_not_there_is_not_found_or_passed_over(web, ann, query):
    web.runner.start(JOB)
    assert ann.get(f"/jobs/{JOB}?{query}").status_code in (200, 404)


def test_a_long_log_shows_its_end_and_says_so(web, ann):
    web.runner.start(JOB)
    for number in range(300):
        web.runner.write(JOB, f"line {number} " + "x" * 1000 + "\n")
    page = ann.get(f"/jobs/{JOB}").text
    assert "line 299 " in page and "line 0 " not in page and "beginning is left out" in page


def test_a_picture_is_shown_and_a_page_is_saved(web, ann):
    web.runner.start(JOB)
    web.runner.leave(JOB, "matrix.png", b"\x89PNG")
    web.runner.leave(JOB, "report.html", b"<script>alert(1)</script>")
    page = ann.get(f"/jobs/{JOB}").text
    base = f"/api/v3/jobs/{JOB}/artifacts/1/main/0"
    assert f'<img loading="lazy" src="{base}/matrix.png"' in page
    picture, report = ann.get(f"{base}/matrix.png"), ann.get(f"{base}/report.html")
    assert (picture.data, picture.content_type) == (b"\x89PNG", "image/png")
    assert report.content_type == "application/octet-stream"
    assert report.headers["Content-Disposition"].startswith("attachment")
    for answer in (picture, report):
        assert "sandbox" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_log_as_plain_text_is_no_page(web, ann):
    web.runner.start(JOB)
    web.runner.write(JOB, "<script>alert(1)</script>é\n")
    answer = ann.get(f"/api/v3/jobs/{JOB}/log/raw")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.text == "<script>alert(1)</script>é\n"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_stop_asks_the_runner(web, ann):
    web.runner.start(JOB)
    answer = ann.post(f"/jobs/{JOB}/stop")
    assert answer.status_code == 303 and web.runner.jobs[JOB]["stop_requested"]
    assert "asked to stop" in ann.get(answer.location).text


def test_the_list_shows_ones_own_jobs_and_an_admin_may_see_all(web, ann):
    assert "hello" in text_of(ann.get("/jobs"))
    for user in ("bob", "admin"):
        assert "No jobs yet" in web.browser(user).get("/jobs").text
    assert f"/jobs/{JOB}" in web.browser("admin").get("/jobs?all=1").text
    assert f"/jobs/{JOB}" not in web.browser("bob").get("/jobs?all=1").text


def test_the_list_is_filtered_by_state_and_paged(web, ann):
    for number in range(26):
        ann.post("/submit", yaml=PLAIN, name=f"job-{number}", action="submit")
    web.runner.end(JOB, "STOPPED", "It was stopped.")
    assert ann.get("/jobs?state=STOPPED").text.count('data-label="State"') == 1
    first = ann.get("/jobs")
    assert first.text.count('data-label="State"') == 25 and "Page 1 of 2" in text_of(first)
    following = re.search('rel="next" href="([^"]+)"', first.text)[1]
    assert ann.get(following).text.count('data-label="State"') == 2
    assert ann.get("/jobs?page=99").status_code == 200


def test_the_address_of_the_list_holds_what_is_asked_for(web, ann):
    ann.json("POST", "/api/v3/jobs", {"reference": "job/hello", "name": "other"},
             **{"X-CSRFToken": ann.token()})
    answer = ann.get("/jobs?q=oth&template=examples:job/hello&sort=oldest")
    page = text_of(answer)
    assert "other" in page and JOB not in page and "@1.1.0" in page
    assert 'href="/jobs?template=examples:job/hello&amp;sort=oldest"' in answer.text
    assert "No job is like that" in text_of(ann.get("/jobs?q=nothing"))
    assert "Jobs of bob" not in text_of(ann.get("/jobs?owner=bob"))


def test_the_title_counts_what_runs_and_the_script_gets_the_list_alone(web, ann):
    web.runner.start(JOB)
    assert "<title>(1 running) Jobs – PAIShare</title>" in ann.get("/jobs").text
    part = ann.get("/jobs", headers={"HX-Request": "true"})
    assert "<html" not in part.text and 'data-title="(1 running) Jobs' in part.text
    assert "HX-Request" in part.headers["Vary"]


def test_several_jobs_are_stopped_after_they_were_named(web, ann):
    ann.post("/submit", yaml=PLAIN, name="second", action="submit")
    web.runner.end(JOB, "SUCCEEDED", "Every task succeeded.")
    ids = [JOB, "000000000002"]
    asked = ann.post("/jobs/chosen", action="stop", job=ids, back="/jobs?q=s")
    assert "Stop this job? " in text_of(asked) and "second" in asked.text
    assert JOB not in asked.text and not web.runner.jobs[ids[1]]["stop_requested"]
    done = ann.post("/jobs/chosen", action="stop-now", job=ids[1:], back="/jobs?q=s")
    assert done.location == "/jobs?q=s" and web.runner.jobs[ids[1]]["stop_requested"]
    assert "1 job was asked to stop." in text_of(ann.get("/jobs"))


@pytest.mark.parametrize("action", ["stop", "stop-now"])
def test_nobody_stops_jobs_of_others_by_choosing_them(web, ann, action):
    answer = web.browser("bob").post("/jobs/chosen", action=action, job=JOB)
    assert answer.status_code == 404 and not web.runner.jobs[JOB]["stop_requested"]


def test_a_job_that_is_stopped_from_the_list_leads_back_to_it(web, ann):
    answer = ann.post(f"/jobs/{JOB}/stop", back="/jobs?state=WAITING")
    assert answer.location == "/jobs?state=WAITING" and web.runner.jobs[JOB]["stop_requested"]


def test_who_has_no_jobs_runs_one_that_comes_along_with_one_press(web, tmp_path):
    marketplace = PACKAGE.parent / "marketplace"
    web.services.sources.add_folder(str(marketplace), name="bundled", owner_id=None)
    web.sync()
    ann = web.browser("ann")
    page = ann.get("/jobs")
    assert "Run digits_classifier" in text_of(page)
    fields = dict(re.findall('type="hidden" name="(reference|key)" value="([^"]+)"', page.text))
    yaml = unescape(re.search(r"(?s)<textarea[^>]*>\n(.*?)</textarea>", page.text)[1])
    assert ann.post("/submit", yaml=yaml, action="submit", **fields).location == f"/jobs/{JOB}"
    assert web.runner.jobs[JOB]["template"].startswith("bundled:job/digits_classifier@")


@pytest.mark.parametrize("user, status", [("bob", 404), ("admin", 200)])
def test_the_job_of_another_is_not_there_except_for_an_admin(web, ann, user, status):
    web.runner.start(JOB)
    web.runner.leave(JOB, "x.txt", b"x")
    web.runner.samples[JOB, 1, "main", 0] = []
    other = web.browser(user)
    for path in (f"/jobs/{JOB}", f"/jobs/{JOB}/live", f"/api/v3/jobs/{JOB}",
                 f"/api/v3/jobs/{JOB}/log", f"/api/v3/jobs/{JOB}/log/raw",
                 f"/api/v3/jobs/{JOB}/artifacts",
                 f"/api/v3/jobs/{JOB}/metrics", f"/api/v3/jobs/{JOB}/artifacts/1/main/0/x.txt"):
        assert other.get(path).status_code == status
    answer = other.post(f"/jobs/{JOB}/stop")
    assert (answer.status_code == 303) is (status == 200)
    assert web.runner.jobs[JOB]["stop_requested"] is (status == 200)


@pytest.mark.parametrize("path", [
    "../../../../../../jobs/000000000002/artifacts/1/main/0/x", "..%2F..%2Fx", "%2e%2e/x",
    "a/%2e%2e/%2e%2e/x", "/etc/passwd", "."])
def test_no_artifact_path_climbs_out_of_its_job(web, ann, path):
    web.runner.start(JOB)
    answer = ann.get(f"/api/v3/jobs/{JOB}/artifacts/1/main/0/{path}", follow_redirects=True)
    assert answer.status_code == 404


def test_a_job_that_is_not_there_leads_to_ones_own_and_not_to_the_marketplace(web, ann):
    for path in ("/jobs/nothing", "/jobs/nothing/log", "/jobs/nothing/terminal/main/0"):
        answer = ann.get(path)
        page = text_of(answer)
        assert answer.status_code == 404 and "There is no job nothing." in page
        assert f'href="/jobs/{JOB}"' in answer.text and "Your newest jobs" in page
        assert "Search the marketplace" not in page
    assert JOB not in web.browser("bob").get("/jobs/nothing").text


def test_the_messages_are_the_same_for_a_job_of_another_and_for_none(web, ann):
    bob = web.browser("bob")
    other, none = bob.get(f"/api/v3/jobs/{JOB}"), bob.get("/api/v3/jobs/000000000009")
    assert other.json["message"].replace(JOB, "") == none.json["message"].replace("000000000009",
                                                                                  "")


def test_a_log_is_searched_line_by_line(web, ann):
    page = text_of(ann.get(f"/jobs/{JOB}/search?text=epoch"))
    assert "No line of this log has “epoch” in it." in page
    web.runner.start(JOB)
    web.runner.write(JOB, "start\nepoch 1\n<b>epoch</b> 2\n")
    answer = ann.get(f"/jobs/{JOB}/search?text=epoch&task=main-0&attempt=1")
    assert "2 lines." in text_of(answer) and "&lt;b&gt;epoch&lt;/b&gt; 2" in answer.text
    found = ann.get(f"/api/v3/jobs/{JOB}/log/search?text=epoch").json
    assert [line["number"] for line in found["lines"]] == [2, 3] and found["role"] == "main"
    assert ann.get(f"/api/v3/jobs/{JOB}/log/search?text=").status_code == 400
    assert web.browser("bob").get(f"/jobs/{JOB}/search?text=epoch").status_code == 404


def test_metrics_are_for_admins(web, ann):
    assert ann.get("/metrics").status_code == 403
    assert web.browser(None).get("/metrics").status_code in (302, 303, 401)
    answer = web.browser("admin").get("/metrics")
    assert answer.text == "paishare_jobs 1\n" and answer.mimetype == "text/plain"
