"""show and validate."""
import json
import re
from pathlib import Path

import pytest

from registry.terminal import first_sentence
from tests.fakes.scripted_server import Answer
from tests.registry.commands.bodies import component

ROOT = Path(__file__).parents[3]
JOB = ROOT / "marketplace" / "job" / "digits_classifier.yaml"


@pytest.mark.parametrize(("reference", "version"), [
    ("digits", {}), ("job/digits@>=1 <2", {"version": ">=1 <2"}),
    ("team/x:digits@latest", {"version": "latest"})])
def test_show_leaves_it_to_the_server_what_a_reference_means(run, server, reference, version):
    server.answers["GET /resolve"] = [{"type": "job", "name": "digits", "source": "team/x",
                                       "exact_reference": "team/x:job/digits@1.0.0"}]
    run("show", reference)
    first, second = server.requests
    assert (first.path, first.query) == ("/resolve", {"reference": reference})
    assert (second.path, second.query) == (
        "/components/job/digits", {"source": "team/x", **version})


def test_show_of_what_is_not_there_is_4_and_says_what_may_be_meant(run, server):
    server.answers["GET /resolve"] = [Answer(
        {"code": "NotFound", "message": "There is no job/digts.", "errors": [],
         "nearest": ["job/digits"]}, 404)]
    assert run("show", "job/digts") == (
        4, "", "paishare: There is no job/digts.\nDid you mean job/digits?\n")


def test_show_yaml_is_the_text_as_it_is(run, server):
    server.answers["GET /resolve"] = [component(source="examples", exact_reference="x")]
    server.answers["GET /components/job/digits"] = [component(text="name: digits # mine\n")]
    assert run("show", "job/digits", "--yaml")[1] == "name: digits # mine\n"


def test_show_names_the_source_and_what_a_reference_lacks_today(run, server):
    exact = "team/x:job/digits@1.0.0"
    server.answers["GET /resolve"] = [component(source="team/x", exact_reference=exact)]
    server.answers["GET /components/job/digits"] = [component(
        source="team/x", path="job/digits.yaml", commit="c" * 40, document={}, versions=[],
        yanked=None, deprecated=None, warnings=[], prerequisites=[
            {"name": "points", "type": "data", "reference": None, "problem": "All are yanked."},
            {"name": "inline", "type": "data", "reference": None, "problem": None}])]
    code, out, err = run("show", "digits")
    assert code == 0 and exact in out
    assert err == "prerequisite points: All are yanked.\n"


def test_validate_accepts_the_bundled_job(run):
    code, out, _ = run("validate", JOB)
    assert code == 0 and out == f"{JOB}: valid: job/digits_classifier@1.0.0\n"


def test_validate_says_file_line_and_column_of_each_problem(run, tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text("name: x\ntype: job\ntasks: []\n")
    code, out, _ = run("validate", JOB, file)
    assert code == 1 and re.search(rf"^{file}:3:1: `tasks` must be ", out, re.M)


def test_validate_says_once_what_is_missing(run, tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text("name: x\ntype: data\nuri: ./x\n")
    assert run("validate", file)[1].startswith(f"{file}:1:1: warning: `version` is missing, ")


def test_validate_of_a_missing_file_is_a_problem_like_any_other(run, tmp_path):
    code, out, _ = run("validate", tmp_path / "no.yaml", "--json")
    assert code == 1
    assert json.loads(out)[0]["problems"][0]["message"] == \
        "cannot be read: No such file or directory"


def test_the_readmes_component_is_valid(run, tmp_path):
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    (tmp_path / "add_up.yaml").write_text(text[1])
    assert run("validate", tmp_path / "add_up.yaml")[0] == 0


@pytest.mark.parametrize(("text", "first"), [
    ("Reads digits. Slowly.", "Reads digits."), ("Reads\ndigits\n\nSlowly", "Reads digits"),
    ("", ""), ("version 1.10 of it. More", "version 1.10 of it.")])
def test_a_hit_shows_what_its_description_says_first(text, first):
    assert first_sentence(text) == first
