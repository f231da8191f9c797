"""isDebug: the job asks for it, page and API show what is kept, its owner removes it."""
import pytest

from tests.registry.test_views_submit import PLAIN

JOB = "000000000001"
CONTAINER = f"paishare-{JOB}-1-0-0"


@pytest.fixture
def ann(web):
    program = web.program("ann")
    assert program.post("/jobs", {"yaml": PLAIN + "isDebug: true\n"}).status_code == 201
    web.runner.start(JOB)
    web.runner.jobs[JOB]["attempts"][0].update(
        state="FAILED", finished_at="2026-11-22T10:00:00Z",
        kept={"until": "2026-11-23T10:00:00Z",
              "tasks": [{"role": "main", "index": 0, "container": CONTAINER}]})
    return program


def test_the_field_reaches_the_runner_and_must_be_a_truth_value(web, ann):
    assert web.runner.jobs[JOB]["spec"]["is_debug"] is True
    wrong = ann.post("/jobs", {"yaml": PLAIN + "isDebug: maybe\n"})
    assert wrong.status_code == 400 and wrong.json["errors"][0]["path"] == "isDebug"


def test_what_is_kept_is_shown_and_removed_by_its_owner_alone(web, ann):
    assert ann.get(f"/jobs/{JOB}").json["attempts"][0]["kept"]["tasks"][0][
        "container"] == CONTAINER
    page = web.browser("ann").get(f"/jobs/{JOB}").text
    assert "Kept for debugging" in page and f"docker commit {CONTAINER}" in page
    assert web.program("bob").post(f"/jobs/{JOB}/release").status_code == 404
    assert ann.post(f"/jobs/{JOB}/release").json["attempts"][0]["kept"] is None
    assert "Kept for debugging" not in web.browser("ann").get(f"/jobs/{JOB}").text


def test_the_button_removes_it(web, ann):
    browser = web.browser("ann")
    answer = browser.post(f"/jobs/{JOB}/release")
    assert (answer.status_code, answer.location) == (303, f"/jobs/{JOB}")
    assert "kept containers are removed" in browser.get(f"/jobs/{JOB}").text
