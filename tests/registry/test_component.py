import json
import os
import re
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.component import TYPES, dump, load_yaml, locate, parse, uris_of
from registry.component_rules import SCHEMAS
from registry.errors import ComponentError

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests/cases/components").rglob("*.yaml"))
SHARED = Path(os.environ.get("PAISHARE_SHARED", ROOT.parent / "shared"))
REAL = sorted((SHARED / "data/openpai/marketplace").rglob("*.yaml"))
LATER = sorted((SHARED / "data/openpai/protocol-v2").rglob("*.yaml"))
needs_shared = pytest.mark.skipif(not REAL, reason=f"the real files are not in {SHARED}")

JOB = """\
name: digits
type: job
parameters: {{epochs: 3}}
tasks:
  - role: main
    resource: {{resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: [echo]
    {task}
prerequisites:
  - {{name: debian, type: dockerimage, uri: "debian:12"}}
"""


def lines_of(problems):
    return [f"{one.severity} {one.line}:{one.column} {one.path or '-'}: {one.message}"
            for one in problems]


def description_of(text):
    """What a case file is compared with: reference, URIs and warnings, or every problem."""
    try:
        component = parse(text)
    except ComponentError as error:
        return lines_of(error.problems)
    return [component.reference, *(f"uri {uri}" for uri in component.uris),
            *lines_of(component.warnings)]


def problems_of(text, **options):
    with pytest.raises(ComponentError) as caught:
        parse(text, **options)
    return caught.value.problems


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_case_is_read_as_its_expectation_says(path):
    expected = path.with_suffix(".expected").read_text("utf-8").splitlines()
    assert description_of(path.read_bytes()) == expected


@needs_shared
@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_each_real_file_of_the_first_marketplace_is_read_and_written_back(path):
    component = parse(path.read_bytes())
    assert (component.type, component.name) == (path.parent.name, path.stem)
    assert parse(dump(component)).document == component.document


@needs_shared
def test_the_first_marketplace_has_24_files_and_its_old_forms_bring_warnings():
    warned = {path.stem: parse(path.read_bytes()).warnings for path in REAL}
    assert len(REAL) == 24
    assert {name: [one.path for one in warnings] for name, warnings in warned.items() if warnings
            } == {"cifar10": ["version"], "tf_example": ["version"],
                  "tensorflow_cnnbenchmarks": ["version"],
                  "tensorflow_serving_mnist": ["retryCount"]}


@needs_shared
@pytest.mark.parametrize("path", LATER, ids=lambda path: path.stem)
def test_a_file_of_protocol_2_is_a_job_with_a_warning_that_use_converts_it(path):
    component = parse(path.read_bytes())
    assert component.type == "job" and component.tasks and component.is_protocol_2
    assert all(task["command"] and task["dockerimage"] for task in component.tasks)
    warning = next(each for each in component.warnings if each.path == "protocolVersion")
    assert warning.line and "Use turns it into a job" in warning.message


def test_scalars_are_read_as_yaml_1_2_like_in_the_browser():
    text = "[1e-3, 1e3, on, yes, 012, 0o17, 0x1F, 1_000, 1:30, 2020-01-01, ~, '1', .5, +1, True]"
    assert load_yaml(text) == [0.001, 1000.0, "on", "yes", 12, 15, 31, "1_000", "1:30",
                               "2020-01-01", None, "1", 0.5, 1, True]
    assert [type(value) for value in load_yaml("[1.0, 1]")] == [float, int]


def test_versions_keep_the_text_as_written_also_in_prerequisites():
    inline = "  - {name: x, type: data, uri: ./x, version: 1.10}\nversion: 2.0\n"
    component = parse(JOB.format(task="minFailedTaskCount: null") + inline)
    assert component.version == "2.0"
    assert component.document["prerequisites"][1]["version"] == "1.10"


def test_the_text_is_kept_exactly_and_fields_may_be_left_out():
    text = "\ufefftype: data\r\nname: a   # x\r\nuri: ./a\r\nversion:\r\n"
    component = parse(text.encode())
    assert (component.text, component.version, component.contributor, component.description) == (
        text, "", "", "")
    assert component.parameters == {} and component.tasks == [] and component.prerequisites == []


def test_prerequisites_tell_what_is_inline_and_what_comes_from_the_marketplace():
    text = JOB.format(task="data: alice:data/digits@1.0.0") + "  - script/train@2\n  - other\n"
    assert [(item["type"], item["name"], item.get("reference"))
            for item in parse(text).prerequisites] == [
        ("dockerimage", "debian", None), ("script", "train", "script/train@2"),
        (None, "other", "other"), ("data", "digits", "alice:data/digits@1.0.0")]


def test_a_task_field_that_a_listed_reference_serves_is_not_listed_twice():
    text = JOB.format(task="script: train") + "  - train@2\n"
    assert [item["name"] for item in parse(text).prerequisites] == ["debian", "train"]


@pytest.mark.parametrize("field", ["retryCount", "instances", "cpu", "gpu", "beginAt"])
def test_a_reference_may_stand_where_a_number_is_wanted(field):
    task = {"retryCount": 0, "instances": 1, "cpu": 1, "gpu": 0, "beginAt": 0, field: "$$n$$"}
    parse("""name: a
type: job
retryCount: {retryCount}
tasks:
  - role: main
    resource:
      instances: {instances}
      resourcePerInstance: {{cpu: {cpu}, memoryMB: 100, gpu: {gpu}}}
      portList: [{{label: http, beginAt: {beginAt}, portNumber: 1}}]
    command: [echo]
prerequisites: [debian]
""".format(**task))


@pytest.mark.parametrize("name, is_valid", [
    ("a", True), ("A-1._~", True), ("x" * 255, True), ("...", True), ("x" * 256, False),
    (".", False), ("..", False), ("a b", False), ("é", False), ("a/b", False), ("a\\n", False)])
def test_names_follow_the_format(name, is_valid):
    text = f'type: data\nversion: "1"\nuri: ./a\nname: "{name}"\n'
    assert [problem.path for problem in ([] if is_valid else problems_of(text))] == (
        [] if is_valid else ["name"])
    assert not is_valid or parse(text).name == name


@pytest.mark.parametrize("first, count, is_valid", [
    (0, 1, True), (1, 65535, False), (65535, 1, True), (65535, 2, False), (64536, 1000, True),
    (64537, 1000, False), (-1, 1, False), (65536, 1, False), (0, 0, False), (8080, 1, True)])
def test_ports_end_at_65535(first, count, is_valid):
    task = f"x: 1\n    resource: {{resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}, " \
           f"portList: [{{label: a, beginAt: {first}, portNumber: {count}}}]}}"
    text = re.sub(r"    resource: .*\n", "", JOB.format(task="@"), count=1).replace("@", task)
    if is_valid:
        assert parse(text).tasks[0]["resource"]["portList"][0]["beginAt"] == first
    else:
        assert problems_of(text)[-1].path.startswith("tasks[0].resource.portList[0].")


def test_only_the_wanted_types_are_taken():
    problem, = problems_of("type: data\nname: a\nuri: ./a\nversion: '1'", types=("job",))
    assert (problem.line, problem.path) == (1, "type")
    assert problem.message == "A component of type data is not expected here, only `type: job`."


def test_places_are_found_by_path():
    text = "type: job\ntasks:\n  - command:\n      - echo $$a$$ and $$b$$\nx.y: {z: 1}\n"
    assert locate(text, "tasks[0].command[0]") == (4, 9)
    assert locate(text, "tasks[0].command[0]", "$$b$$") == (4, 24)
    assert locate(text, '["x.y"].z') == (5, 10)
    assert locate(text, "tasks[1]") is None


def test_uris_of_an_image_are_never_split():
    assert uris_of({"type": "dockerimage", "uri": "host/a,b"}) == ("host/a,b",)
    assert uris_of({"type": "data", "uri": "a.csv, b.csv"}) == ("a.csv", "b.csv")
    assert uris_of({"type": "job"}) == ()


def test_schemas_teach_each_field_and_give_an_example():
    def fields(schema):
        for value in schema.get("properties", {}).values():
            yield value
            yield from fields(value)
            yield from fields(value.get("items", {}))
    for schema in SCHEMAS.values():
        for field in fields(schema):
            assert field["description"] and field["examples"]


@pytest.mark.parametrize("name", TYPES)
def test_schemas_travel_as_json_of_draft_2020_12(name):
    schema = json.loads((ROOT / f"registry/schemas/{name}.json").read_text("utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"{name}.json"


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 8))
HOSTILE = {
    "alias bomb": BOMB,
    "alias bomb of few aliases": "a: &a [" + "x, " * 1000 + "]\nb: [" + "*a, " * 20 + "]",
    "alias of a long text": "a: &a " + "x" * 200_000 + "\nb: [" + "*a, " * 20 + "]",
    "merge bomb": BOMB.replace(" [", "\n  <<: [").replace("[x, x, x, x, x, x, x, x, x]", "{x: 1}"),
    "deep list": "[" * 20_000,
    "deep mapping": "{a: " * 20_000,
    "deep block": "- " * 20_000,
    "deep and closed": "type: job\nparameters: " + "[" * 20_000 + "]" * 20_000,
    "1 MB text": "a: " + "x" * 1_000_000,
    "1 MB name": "x" * 1_000_000 + ": a",
    "duplicate keys": "a: 1\n" * 2_500,
    "very many values": "- a\n" * 60_000,
    "tabs": "a:\n" + "\tb: 1\n" * 30_000,
    "NUL": "\0" * 250_000,
    "not UTF-8": b"type: data\nname: \xff\n" * 5_000,
    "UTF-16": "type: data".encode("utf-16"),
    "many documents": "---\na: 1\n" * 20_000,
    "list at the top": "- a\n" * 5_000,
    "huge number": "a: " + "9" * 200_000,
    "many unknown fields": "type: job\n" + "".join(f"retryCoun{n}: 1\n" for n in range(2_500)),
    "many wrong items": "type: data\nname: a\nuri: [" + "1, " * 5_000 + "]",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_with_its_place_within_50_ms_and_50_mb(name):
    times = []
    for _ in range(3):
        begin = time.process_time()
        problems = problems_of(HOSTILE[name])
        times.append(time.process_time() - begin)
    assert problems[0].line and problems[0].column and len(problems[0].message) > 20
    assert min(times) < 0.05
    tracemalloc.start()
    problems_of(HOSTILE[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000


text_values = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
awkward = st.sampled_from(["<<", "=", "on", "1.10", "1e-3", "012", "null", "~", "a: b", "- a", "#",
                           "a\n\n b\n", " a", "a ", "\n", "\u2028", "\x85", "\ufeff", "\t", "---"])
scalars = (st.none() | st.booleans() | st.integers(-2 ** 63 + 1, 2 ** 63 - 1) | text_values
           | awkward | st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
    text_values.filter(bool) | awkward, inner, max_size=4), max_leaves=12)


@settings(deadline=None)
@given(parameters=st.dictionaries(text_values.filter(bool) | awkward, values, max_size=4),
       command=st.lists(text_values | awkward, min_size=1, max_size=3),
       version=st.sampled_from(["1.10", "1.0.0", "", "2020-01-01"]) | text_values.filter(bool))
def test_what_is_written_reads_back_the_same(parameters, command, version):
    component = parse(JOB.format(task="x: 1"))
    document = {**component.document, "version": version, "parameters": parameters}
    document["tasks"] = [{**component.tasks[0], "command": command}]
    once = parse(dump(document))
    assert once.document == document
    assert repr(parse(dump(once)).document) == repr(once.document)


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=300) | text_values.map(str.encode) | st.text(
    "ab:-\n  {}[],&*!|>'\"#%\t1.<~?", max_size=80).map(str.encode))
def test_any_bytes_give_a_component_or_problems_with_a_place(data):
    try:
        parse(data)
    except ComponentError as error:
        assert error.problems and all(problem.line for problem in error.problems)


ODD = st.one_of(scalars, st.lists(scalars, max_size=3), st.dictionaries(
    st.sampled_from(["name", "type", "uri", "role", "label", "resourcePerInstance", "portList"]),
    scalars, max_size=3))


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from(list(SCHEMAS["job"]["properties"])), st.one_of(
    ODD, st.lists(st.dictionaries(st.sampled_from(
        [*SCHEMAS["job"]["properties"]["tasks"]["items"]["properties"], "type", "name", "uri"]),
        ODD, max_size=6), max_size=3)), max_size=8))
def test_any_shape_of_a_job_gives_a_component_or_problems_with_a_place(document):
    try:
        parse(dump({**document, "type": "job"}))
    except ComponentError as error:
        assert error.problems and all(problem.line for problem in error.problems)
