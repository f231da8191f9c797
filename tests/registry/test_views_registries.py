"""Logins to image registries: on the page Settings, in the API, and on the way with a job."""
import pytest

from tests.registry.test_views_submit import PLAIN

CANARY = "Zeisig+/=&%"
IMAGE = "registry.example:5000/team/x:1"
JOB = "000000000001"
PRIVATE = PLAIN.replace("busybox:1", IMAGE)


@pytest.fixture
def ann(web):
    return web.program("ann")


def add(program, server="registry.example:5000", secret=CANARY):
    return program.put(f"/user/registries/{server}", {"username": "octo", "secret": secret})


def test_a_program_adds_lists_and_removes_logins_and_never_sees_the_secret(web, ann):
    made = add(ann)
    assert made.status_code == 200 and CANARY not in made.text
    shown, = ann.get("/user/registries").json["logins"]
    assert (shown["server"], shown["username"]) == ("registry.example:5000", "octo")
    assert web.program("bob").get("/user/registries").json == {"logins": []}
    assert web.program("bob").delete("/user/registries/registry.example:5000").status_code == 404
    assert ann.delete("/user/registries/registry.example:5000").status_code == 204
    assert ann.get("/user/registries").json == {"logins": []}


def test_what_is_no_login_is_told_by_its_field(ann):
    answer = add(ann, server="no server")
    assert answer.status_code == 400 and answer.json["errors"][0]["path"] == "server"


def test_a_login_goes_with_its_users_jobs_beside_the_spec(web, ann):
    add(ann)
    answer = ann.post("/jobs", {"yaml": PRIVATE})
    assert answer.status_code == 201, answer.text
    assert web.runner.logins[JOB] == [
        {"server": "registry.example:5000", "username": "octo", "secret": CANARY}]
    assert CANARY not in str(web.runner.jobs) and CANARY not in ann.get(f"/jobs/{JOB}").text
    web.program("bob").post("/jobs", {"yaml": PRIVATE})
    ann.post("/jobs", {"yaml": PLAIN})
    assert list(web.runner.logins.values())[1:] == [[], []]


def test_how_large_an_image_is_is_asked_with_the_login_of_who_looks(web, ann):
    add(ann)
    for name, secrets in (("ann", [CANARY]), ("bob", [])):
        answer = web.program(name).post("/outlook", {"yaml": PRIVATE})
        assert answer.status_code == 200 and CANARY not in answer.text
        assert [each["secret"] for each in web.runner.logins["outlook"]] == secrets


def test_the_page_adds_and_removes_a_login_and_never_shows_the_secret(web):
    browser = web.browser("ann")
    answer = browser.post("/settings/registries", server="https://ghcr.io/v2/", username="octo",
                          secret=CANARY)
    assert (answer.status_code, answer.location) == (303, "/settings/registries")
    page = browser.get("/settings/registries").text
    assert "log in to ghcr.io as octo" in page and "never used" in page and CANARY not in page
    browser.post("/settings/registries/remove", server="ghcr.io")
    assert "You have no login to a registry" in browser.get("/settings/registries").text


def test_a_wrong_field_is_told_beside_it_and_the_others_stay(web):
    answer = web.browser("ann").post("/settings/registries", server="no server", username="octo",
                                     secret=CANARY)
    assert answer.status_code == 400 and 'id="registry-server-wrong"' in answer.text
    assert 'value="octo"' in answer.text and CANARY not in answer.text


def test_layers_of_a_pull_are_on_the_jobs_page(web, ann):
    ann.post("/jobs", {"yaml": PLAIN})
    web.runner.jobs[JOB]["pulls"] = [{
        "uri": IMAGE, "sharing": 2, "current": 10, "total": 2000, "is_total_final": False,
        "rate": 5, "layers": [{"id": "aaa", "state": "downloading", "current": 10, "total": 2000},
                              {"id": "bbb", "state": "waiting", "current": 0, "total": None}]}]
    assert ann.get(f"/jobs/{JOB}").json["pulls"][0]["layers"][1]["state"] == "waiting"
    page = web.browser("ann").get(f"/jobs/{JOB}").text
    assert "<code>aaa</code> downloading" in page and "2 jobs wait for this image" in page
