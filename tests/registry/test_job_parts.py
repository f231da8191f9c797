"""What a job ran, on its way to a component: its text, its next version, its parts."""
import re
from html import unescape

import pytest

from registry.component import parse
from tests.fakes.web_home import HELLO
from tests.registry.test_views_marketplace import text_of

JOB = "000000000001"
SECRET = f"ghp_{'a' * 36}"


@pytest.fixture
def ended(web):
    """Runs a text as Ann to its end; gives the page where it is published, part by part."""
    ann = web.browser("ann")

    def run(yaml, part="", **fields):
        assert ann.post("/submit", yaml=yaml, action="submit", **fields).status_code == 303
        web.runner.start(JOB)
        web.runner.end(JOB, "SUCCEEDED", "Every task succeeded.")
        return ann.get(f"/publish?job={JOB}&part={part}")
    return run


def yaml_of(page):
    found = re.search(r'(?s)<textarea[^>]*name="yaml"[^>]*>\n?(.*?)</textarea>', page.text)
    return unescape(found[1])


def test_a_changed_job_gets_the_version_that_its_changes_ask_for(ended):
    text = HELLO.replace("version: 1.0.0\ncon", "version: 1.1.0  # mine\ncon", 1)
    page = ended(text.replace("echo $$epochs$$", "sleep $$epochs$$"), reference="job/hello@1.1.0")
    assert "version: 1.1.1  # mine\n" in yaml_of(page)
    assert "The newest version here is 1.1.0; what changed asks for 1.1.1." in text_of(page)


def test_a_job_that_nobody_has_published_begins_with_the_first_version(ended):
    page = ended(HELLO.replace("name: hello", "name: mine").replace("version: 1.0.0\n", "", 1))
    assert "name: mine\nversion: 1.0.0\n" in yaml_of(page)


def test_values_of_the_run_and_tokens_stay_out_of_the_text(ended):
    text = HELLO.replace("name: hello", "name: mine").replace("a text", SECRET)
    page = ended(text, **{"param.epochs": "9", "before.epochs": "3"})
    assert "epochs: 3" in yaml_of(page) and SECRET not in page.text
    said = text_of(page)
    assert "Tokens stood in the text; they are taken out." in said
    assert "It ran with epochs = 9; the text keeps its own defaults." in said


def test_an_image_of_the_job_is_published_apart(ended):
    page = ended(HELLO.replace("name: hello", "name: mine"), "dockerimage/busybox")
    component = parse(yaml_of(page))
    assert component.reference == "dockerimage/busybox@1.0.0" and component.contributor == "Ann"
    assert component.document["uri"] == "busybox:1"


def test_a_part_that_is_not_there_and_a_job_of_another_are_not_found(web, ended):
    assert ended(HELLO, "data/none").status_code == 404
    assert web.browser("bob").get(f"/publish?job={JOB}").status_code == 404
