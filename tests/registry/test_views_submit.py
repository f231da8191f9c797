"""The submit page: filled by links, checked before anything runs, and each job runs once."""
import hashlib
import html
import io
import re
from dataclasses import replace

import pytest

from registry.public_web import PublicWeb
from registry.views.services import EXTENSION
from tests.fakes.web_home import FILES, HELLO, WebHome, write_home
from tests.registry.test_public_web import serving

PLAIN = HELLO.replace("    data: points\n", "")


def value_of(page, field):
    """What an input of the page holds."""
    found = re.search(rf'name="{re.escape(field)}"[^>]*?value="([^"]*)"', page.text, re.S)
    return html.unescape(found[1]) if found else None


def yaml_of(page):
    found = re.search(r'<textarea id="yaml".*?>\n(.*?)</textarea>', page.text, re.S)
    return html.unescape(found[1])


def form_of(page):
    """Every field of the page's form, as a browser would send it."""
    names = dict.fromkeys(re.findall(r'name="((?:param|before)\.[^"]+)"', page.text))
    fields = {name: value_of(page, name) for name in names}
    fields = {name: value for name, value in fields.items() if value is not None}
    chosen = re.search(r'name="(param\.\w+)" [^>]*>\s*<option[^>]*>\w+</option>', page.text)
    if chosen:
        fields[chosen[1]] = re.search(r"<option selected>(\w+)", page.text)[1]
    return {**fields, "yaml": yaml_of(page).replace("\n", "\r\n"), "key": value_of(page, "key"),
            "reference": value_of(page, "reference"), "name": value_of(page, "name"),
            "linked": re.findall('name="linked" value="([^"]+)"', page.text)}


@pytest.fixture
def ann(web):
    return web.browser("ann")


def test_a_link_fills_the_page_and_runs_nothing(web, ann):
    page = ann.get("/use/job/hello?param.epochs=7&param.note=a%20%22b%22")
    assert value_of(page, "param.epochs") == "7" and value_of(page, "param.note") == 'a "b"'
    assert value_of(page, "param.lr") == "0.1" and page.text.count("set by the link") == 2
    assert yaml_of(page) == HELLO.replace("1.0.0\ncon", "1.1.0\ncon") and web.runner.jobs == {}
    assert "Fits this machine now" in page.text


def test_a_link_to_an_older_version_fills_in_that_one(ann):
    assert "version: 1.0.0" in yaml_of(ann.get("/use/job/hello@1.0.0"))


def test_a_link_with_an_unknown_parameter_says_so(ann):
    page = ann.get("/use/job/hello?param.epoch=7")
    assert "but the job has no such parameter" in page.text and "epochs, lr" in page.text


def test_a_link_with_a_wrong_value_says_so_at_the_field(ann):
    page = ann.get("/use/job/hello?param.epochs=many")
    assert page.status_code == 200 and "must be a whole number" in page.text
    assert re.search(r'name="param.epochs" value="many"[^>]*aria-invalid="true"', page.text)


def test_a_submitted_page_becomes_a_job_with_its_parameters(web, ann):
    fields = form_of(ann.get("/use/job/hello?param.epochs=7"))
    answer = ann.post("/submit", **fields, action="submit")
    assert (answer.status_code, answer.location) == (303, "/jobs/000000000001")
    spec = web.runner.jobs["000000000001"]["spec"]
    assert spec["user"] == "ann" and spec["origin"]["reference"] == "job/hello@1.1.0"
    assert spec["parameters"] == {"epochs": 7, "lr": 0.1, "shuffle": True, "note": "a text",
                                  "nothing": None}
    assert spec["task_roles"][0]["commands"] == ["echo 7 0.1 true a text"]
    assert spec["task_roles"][0]["data"][0]["path"] == "files/points.csv"


def test_the_same_page_sent_twice_is_one_job_and_a_change_is_another(web, ann):
    fields = form_of(ann.get("/use/job/hello"))
    first = ann.post("/submit", **fields, action="submit").location
    assert ann.post("/submit", **fields, action="submit").location == first
    fields["param.epochs"] = "8"
    assert ann.post("/submit", **fields, action="submit").location != first
    assert len(web.runner.jobs) == 2


def test_two_users_never_share_a_job(web, ann):
    bob, fields = web.browser("bob"), form_of(ann.get("/use/job/hello"))
    assert ann.post("/submit", **fields, action="submit").location != bob.post(
        "/submit", **fields, action="submit").location


def test_an_untouched_field_follows_the_text_and_a_touched_one_overrides_it(web, ann):
    fields = form_of(ann.get("/use/job/hello"))
    fields["yaml"] = fields["yaml"].replace("epochs: 3", "epochs: 4").replace("lr: 0.1", "lr: 0.2")
    fields["param.lr"] = "0.5"
    page = ann.post("/submit", **fields, action="check")
    assert value_of(page, "param.epochs") == "4" and value_of(page, "param.lr") == "0.5"
    ann.post("/submit", **form_of(page), action="submit")
    spec = web.runner.jobs["000000000001"]["spec"]
    assert (spec["parameters"]["epochs"], spec["parameters"]["lr"]) == (4, 0.5)
    assert spec["origin"]["edited"] == "yes"


def test_a_link_to_the_default_keeps_it_against_the_text(web, ann):
    fields = form_of(ann.get("/use/job/hello?param.epochs=3"))
    fields["yaml"] = fields["yaml"].replace("epochs: 3", "epochs: 4")
    ann.post("/submit", **fields, action="submit")
    assert web.runner.jobs["000000000001"]["spec"]["parameters"]["epochs"] == 3


def test_a_mistake_is_shown_at_its_line_and_nothing_runs(web, ann):
    wrong = PLAIN.replace("memoryMB: 100", "memoryMB: 5")
    page = ann.post("/submit", yaml=wrong, action="submit")
    line = wrong[:wrong.index("memoryMB")].count("\n") + 1
    assert page.status_code == 400 and f'href="#Y{line}"' in page.text
    assert f'<li id="Y{line}" class="marked">' in page.text and web.runner.jobs == {}
    assert yaml_of(page) == wrong


def test_an_unknown_name_in_a_command_is_shown_at_its_line(ann):
    wrong = PLAIN.replace("$$note$$", "$$nope$$")
    page = ann.post("/submit", yaml=wrong, action="check")
    assert f'Line {wrong[:wrong.index("$$nope")].count(chr(10)) + 1}' in page.text


def test_while_the_text_is_broken_the_form_waits_and_keeps_its_values(ann):
    fields = form_of(ann.get("/use/job/hello?param.epochs=7"))
    fields["yaml"] = fields["yaml"].replace("tasks:", "tasks: [")
    page = ann.post("/submit", **fields, action="check")
    assert "The form waits for" in page.text and value_of(page, "param.epochs") == "7"


@pytest.mark.parametrize("text", ["", "a: [", "- 1", "\0", "x" * 300_000, "type: data\nname: x",
                                  "type: job\nname: x\ntasks: []\n", "a: &a [*a]"])
def test_no_text_breaks_the_page(web, ann, text):
    page = ann.post("/submit", yaml=text, action="submit")
    assert page.status_code in (200, 400) and web.runner.jobs == {}


def test_a_file_is_imported_in_place_of_the_text(ann):
    page = ann.post("/submit", action="import", yaml="old: text", reference="job/hello",
                    file=(io.BytesIO(PLAIN.replace("\n", "\r\n").encode()), "hello.yaml"))
    assert yaml_of(page) == PLAIN and value_of(page, "reference") == ""
    assert value_of(page, "param.epochs") == "3"


def test_an_import_without_a_file_says_what_to_do_and_keeps_the_text(ann):
    page = ann.post("/submit", action="import", yaml=PLAIN)
    assert page.status_code == 400 and "Choose a file or write an address" in page.text
    assert yaml_of(page) == PLAIN


def test_a_file_that_is_no_text_is_shown_as_such(ann):
    page = ann.post("/submit", action="import", file=(io.BytesIO(b"\xff\xfe\0\0"), "x.yaml"))
    assert page.status_code == 200 and "problem" in page.text


def test_the_machines_answer_is_shown_before_submitting(web, ann):
    web.runner.fit = {"fit": "never", "reason": "No machine here has a GPU."}
    page = ann.post("/submit", yaml=PLAIN, action="check")
    assert "can never run it" in page.text and "No machine here has a GPU." in page.text


def test_with_the_runner_down_the_page_keeps_everything_for_another_try(web, ann):
    fields = form_of(ann.get("/use/job/hello?param.epochs=7"))
    web.runner.close()
    page = ann.post("/submit", **fields, action="submit")
    assert page.status_code == 503 and "paishare serve" in page.text
    again = form_of(page)
    assert again["key"] == fields["key"] and again["param.epochs"] == "7"


def test_submit_again_brings_text_parameters_and_name_back(web, ann):
    fields = form_of(ann.get("/use/job/hello?param.epochs=7")) | {"name": "my-hello"}
    ann.post("/submit", **fields, action="submit")
    page = ann.get("/submit?again=000000000001")
    assert value_of(page, "param.epochs") == "7" and value_of(page, "name") == "my-hello"
    assert ann.post("/submit", **form_of(page), action="submit").location == "/jobs/000000000002"
    first, second = (job["spec"] for job in web.runner.jobs.values())
    assert first == second


def test_submit_again_works_when_the_source_is_gone(web, ann):
    ann.post("/submit", **form_of(ann.get("/use/job/hello")), action="submit")
    web.services.sources.remove("examples")
    page = ann.get("/submit?again=000000000001")
    assert page.status_code == 200 and value_of(page, "reference") == ""


def test_nobody_submits_the_job_of_another_again(web, ann):
    ann.post("/submit", yaml=PLAIN, action="submit")
    assert web.browser("bob").get("/submit?again=000000000001").status_code == 404


ROWS = "  - {name: rows, type: data, version: 1.0.0, uri: [../files/points.csv]}\n"
INLINE = PLAIN.replace("prerequisites:\n", f"prerequisites:\n{ROWS}").replace(
    "  - role: ", "  - data: rows\n    role: ")


def test_a_job_is_used_with_its_files_as_they_are_now(tmp_path):
    write_home(tmp_path / "home", FILES | {"job/hello.yaml": INLINE},
               {"files/points.csv": "9,9\n"})
    (tmp_path / "web").mkdir()
    web = WebHome(tmp_path / "home", tmp_path / "web")
    try:
        ann = web.browser("ann")
        page = ann.get("/use/job/hello")
        assert ann.post("/submit", action="submit", **form_of(page)).status_code == 303
        (job,) = web.runner.jobs.values()
        (data,) = job["spec"]["task_roles"][0]["data"]
        assert data["sha256"] == hashlib.sha256(b"9,9\n").hexdigest()
    finally:
        web.close()


@pytest.mark.parametrize("address", [
    "/submit?use=examples/job/hello@1.0.0&p.epochs=7", "/submit?use=job/hello@1.0.0&p.epochs=7",
    "/submit?use=examples:job/hello@1.0.0&param.epochs=7",
    "/use/job/hello@1.0.0?p.epochs=7&source=examples"])
def test_an_address_names_a_template_and_its_parameters(web, ann, address):
    page = ann.get(address)
    assert "version: 1.0.0" in yaml_of(page) and value_of(page, "param.epochs") == "7"
    assert page.text.count("set by the link") == 1 and web.runner.jobs == {}


def test_an_address_with_a_template_that_is_not_there_says_what_is_near(ann):
    page = ann.get("/submit?use=examples/job/helo")
    assert page.status_code == 404 and "hello" in page.text


@pytest.mark.parametrize("address", [
    "/submit?from_job={id}", "/submit?again={id}", "/submit?op=resubmit&jobname=hello&user=ann",
    "/submit?op=resubmit&jobname=ann~hello", "/submit?op=resubmit&jobname=hello"])
def test_an_address_names_a_job_to_submit_again(web, ann, address):
    ann.post("/submit", **form_of(ann.get("/use/job/hello?p.epochs=7")), action="submit")
    (id_,) = web.runner.jobs
    page = ann.get(address.format(id=id_))
    assert value_of(page, "param.epochs") == "7" and f'data-again="{id_}"' in page.text
    assert len(web.runner.jobs) == 1


@pytest.mark.parametrize("address", [
    "/submit?from_job=000000000001", "/submit?op=resubmit&jobname=hello&user=ann",
    "/submit?op=resubmit&jobname=none", "/submit?op=resubmit"])
def test_a_job_of_another_is_none_to_submit_again(web, ann, address):
    ann.post("/submit", **form_of(ann.get("/use/job/hello")), action="submit")
    assert web.browser("bob").get(address).status_code == 404


def test_a_job_is_imported_from_an_address_without_a_script(web, ann):
    with serving() as server:
        url = f"http://127.0.0.1:{server.server_port}"
        web.app.extensions[EXTENSION] = replace(web.services, web=PublicWeb([url]))
        page = ann.post("/submit", action="import", address=f"{url}/v1.json", yaml="")
        assert page.status_code == 200 and "echo v1" in yaml_of(page)
        refused = ann.post("/submit", action="import", address=f"{url}/none", yaml="a: b")
    assert refused.status_code == 400 and "no such file for everybody" in refused.text
    assert yaml_of(refused) == "a: b" and web.runner.jobs == {}
