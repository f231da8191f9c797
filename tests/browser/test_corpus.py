"""Whatever others write into a text of theirs, no page runs it, asks for it or is changed by it."""
import re
from urllib.parse import quote

import pytest
import yaml

from tests.browser.corpus import TASK, TEXTS, packs, write_corpus
from tests.browser.payloads import FAMILIES, PAYLOADS
from tests.browser.trap import FOREIGN, Trap
from tests.fakes.fake_runner import NOW

SIZE = 83
ALL = " ".join(TEXTS)
JOB = {"type": "job", "name": "hostile", "version": "1.0.0",
       "prerequisites": [{"name": "image", "type": "dockerimage", "uri": "busybox:1"}],
       "tasks": [{**TASK, "command": [f"echo '{each}'" for each in TEXTS if "$$" not in each]}]}
NAMES = [f"corpus{number}" for number in range(len(packs(SIZE)))]
OF_EACH = ("/c/job/{}", "/c/data/{}", "/c/script/{}", "/c/dockerimage/{}", "/use/job/{}",
           "/changelog?of=job/{}", "/used-by?of=data/{}")
OF_ALL = ("/", "/?page=2", "/?q=corpus", "/sources", "/sources/examples")


@pytest.fixture(scope="module")
def home_template(tmp_path_factory):
    home = tmp_path_factory.mktemp("corpus") / "home"
    write_corpus(home, SIZE)
    return home


@pytest.fixture(params=["with the policy", "without the policy"])
def policy(request):
    return request.param


@pytest.fixture
def trap(policy, open_page):
    """Ann's page; without the policy, it is the escaping alone that holds."""
    return Trap(open_page("ann", bypass_csp=policy == "without the policy"))


def test_there_are_200_payloads_and_more():
    assert len(set(PAYLOADS)) >= 200


def test_the_payloads_do_harm_where_nothing_is_escaped(open_page):
    trap = Trap(open_page("ann"))
    page = trap.page
    harmful = page.evaluate(f"""(texts) => texts.filter((text) => {{
        const html = `<main id=main><input title="${{text}}"><p>${{text}}</p><a href="${{text}}">`;
        try {{ return ({FOREIGN})(new DOMParser().parseFromString(html, "text/html")).length; }}
        catch {{ return true; }}
    }})""", PAYLOADS)
    assert len(harmful) > 200
    body = "".join(FAMILIES["event handlers"]).replace("RUN", "ran(7)")
    page.route("**/naive", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto("/naive")
    assert len(trap.ran) > 5
    page.watch.errors.clear()


def test_nothing_that_a_repository_holds_runs(trap, policy):
    names = NAMES if policy == "without the policy" else NAMES[:1]
    for path in OF_ALL + tuple(each.format(name) for each in OF_EACH for name in names):
        trap.visit(path)


@pytest.fixture
def job(site):
    """A job that runs, with every text hostile that its author, its tasks or its runner write."""
    text = yaml.safe_dump({**JOB, "description": "\n\n".join(TEXTS), "contributor": ALL,
                           "parameters": {f"p{at}": each for at, each in enumerate(TEXTS)},
                           **{f"x {each}": each for each in TEXTS}})
    answer = site.program("ann").post("/jobs", {"yaml": text})
    assert answer.status_code == 201, answer.text
    runner, id_ = site.runner, answer.get_json()["id"]
    runner.start(id_)
    job = runner.jobs[id_]
    job["spec"] |= {"gpu_type": ALL, "virtual_cluster": ALL}
    job["spec"]["origin"] |= {"reference": TEXTS[0], "source": ALL, "commit": ALL}
    job |= {"reason": ALL, "virtual_cluster": ALL, "events": [
        {"time": NOW, "stage": each, "text": each, "attempt": 1} for each in TEXTS],
        "progress": {"text": ALL, "current": 1, "total": None},
        "pulls": [{"uri": ALL, "sharing": 2, "layers": [
            {"id": each, "state": each, "current": 1, "total": 2} for each in TEXTS]}]}
    (attempt,) = job["attempts"]
    attempt["reason"] = ALL + "."
    attempt["tasks"][0] |= {"ip": ALL, "exit_text": ALL, "ports": {each: [1] for each in TEXTS}}
    for at, each in enumerate((*PAYLOADS, "the end")):
        runner.write(id_, f"{each}\n", ("stdout", "stderr")[at % 2])
    names = [each for each in TEXTS if "//" not in each]
    for each, kind in zip(names[::30], ("svg", "html", "txt", "md", "json", "csv", "xml", "png")):
        runner.leave(id_, f"{each}.{kind}", "\n".join(PAYLOADS).encode())
    for each in names:
        runner.leave(id_, each, b"1,2\n3,4\n")
    runner.merged = {"lines": [{"attempt": 1, "role": ALL, "index": 0, "stream": "stdout",
                                "time": NOW, "text": each} for each in PAYLOADS],
                     "cursor": "1", "is_complete": True}
    return id_


def test_nothing_that_a_job_writes_runs(site, trap, job):
    page = trap.page
    trap.visit(f"/jobs/{job}")
    page.locator("#log-text", has_text="the end").wait_for()
    site.runner.jobs[job]["events"].append(
        {"time": NOW, "stage": ALL, "text": f"late {ALL}", "attempt": 1})
    page.locator("#live-events", has_text="late").wait_for()
    page.get_by_label("Search in the log").fill("<script")
    trap.check("the log that is searched")
    for path in ("/jobs", f"/jobs/{job}/files", f"/jobs/{job}/log",
                 f"/jobs/{job}/search?text={quote('<script>')}"):
        trap.visit(path)
    page.goto(f"/jobs/{job}/files")
    files = page.locator("main a[href*='/files/']").evaluate_all(
        "all => all.map((each) => each.getAttribute('href'))")
    assert len(files) >= 100
    for path in [each for each in files if re.search(r"\.\w{2,4}$", each)]:
        trap.visit(path)
    site.runner.end(job, "FAILED", ALL)
    receipt = site.runner.receipts[job, 1]
    receipt["machine"] |= {"docker": ALL, "kernel": ALL, "cgroups": ALL, "gpu_driver": ALL}
    receipt["reason"] = receipt["cause"] = ALL
    trap.visit(f"/jobs/{job}/receipt")
    trap.visit(f"/submit?again={job}", 400)
    page.watch.expect("400")
    site.runner.jobs[job]["spec"]["origin"] = {}
    trap.visit(f"/submit?again={job}")
