"""The page of the machine: what is free, who holds what, who is next, as far as one may see."""
import re
from html import unescape

import pytest

SPEC = {"name": "secret-name", "origin": "", "task_roles": [
    {"name": "main", "instances": 1, "ports": [], "resources": {"gpu": 1}}]}


@pytest.fixture
def busy(web):
    """Bob's job holds the first of two GPUs, and one of ann waits."""
    running, _ = web.runner.enqueue({**SPEC, "user": "bob"}, None)
    web.runner.start(running["id"])
    web.runner.enqueue({**SPEC, "name": "mine", "user": "ann"}, None)
    web.runner.gpus = [{"index": number, "model": "A100", "uuid": f"GPU-{number}",
                        "memory_mb": 81920, "is_free": number == 1, "is_foreign": False,
                        "is_declared": False} for number in range(2)]
    web.runner.gpu_jobs = {"GPU-0": running["id"]}
    return running["id"]


def test_everybody_who_is_logged_in_sees_who_holds_what_but_not_what_they_run(web, busy):
    page = web.browser("ann").get("/machine").text
    assert "6 of 8 CPUs free" in page and "80 GiB" in page
    assert page.count("a job of bob") == 2  # at its GPU, and among those that run
    assert "secret-name" not in page and busy not in page
    assert ">mine</a>" in page and "Expected start" in page
    assert web.browser().get("/machine").location.startswith("/login?next=")


def test_an_admin_gets_to_every_job_from_there(web, busy):
    page = web.browser("admin").get("/machine").text
    assert f'href="/jobs/{busy}">secret-name</a>' in page


def test_a_machine_without_gpus_says_why(web):
    assert "No NVIDIA driver answers." in web.browser("ann").get("/machine").text


def test_a_runner_that_is_down_is_said(web):
    web.runner.close()
    page = web.browser("ann").get("/machine")
    assert page.status_code == 503 and "The runner is down" in page.text


def test_the_page_of_a_job_asks_whether_it_fits_and_on_a_click_what_must_come_here(web):
    ann = web.browser("ann")
    (part,) = re.findall(r'hx-get="(/machine/fit[^"]+)"', ann.get("/c/job/hello").text)
    assert "/machine/fit" not in web.browser().get("/c/job/hello").text
    web.runner.fit = {"fit": "never", "reason": "Needs 4 GPUs, this machine has none."}
    told = ann.get(part).text
    assert "This machine can never run it." in told and "Needs 4 GPUs" in told
    web.runner.outlook["supplies"] = [
        {"kind": "image", "uri": "busybox:1", "missing": 1_900_000_000},
        {"kind": "data", "uri": "https://example.org/x", "missing": None},
        {"kind": "data", "uri": "https://example.org/y", "missing": 0}]
    (more,) = re.findall(r'hx-get="(/machine/fit[^"]+)"', told)
    told = ann.get(unescape(more)).text
    assert "1.9 GB" in told and "size unknown" in told and "example.org/y" not in told


def test_what_cannot_be_resolved_says_why_in_place_of_whether_it_fits(web):
    answer = web.browser("ann").get("/machine/fit?of=job/nope")
    assert (answer.status_code, "There is no" in answer.text) == (200, True)
    web.runner.close()
    for more in ("", "&supplies=1"):
        assert "does not answer" in web.browser("ann").get(f"/machine/fit?of=job/hello{more}").text
