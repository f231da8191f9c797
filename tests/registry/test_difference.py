"""Two versions in words: what each change says, how grave it is, and what the numbers promise."""
import copy
import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from registry.component import dump, parse
from registry.difference import changes_between, compare, next_version, verdict_of
from registry.errors import ComponentError

ROOT = Path(__file__).parents[2]
JOB = """\
protocol_version: v2
name: train
type: job
version: 1.0.0
contributor: ann
description: Trains.
retryCount: 0
parameters: {epochs: 10, lr: 0.1, set: cifar10, gpus: 1}
prerequisites:
  - {name: tf, type: dockerimage, uri: "tf:1.4"}
  - {name: cifar10, type: data, uri: "https://h.org/cifar10.tar"}
  - {name: notes, type: storage, uri: notes}
  - script/loop@1.0.0
tasks:
  - role: worker
    dockerimage: tf
    data: cifar10
    resource:
      instances: 1
      resourcePerInstance: {cpu: 2, memoryMB: 1024, gpu: 1}
      portList: [{label: web, beginAt: 0, portNumber: 2}]
    command: [pip install scipy, python train.py]
  - role: ps
    resource: {resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}}
    command: [python ps.py]
"""
DATA = "type: data\nname: d\nversion: 1.0.0\nuri: https://h.org/a/x.csv\n"
SCRIPT = "type: script\nname: s\nversion: 1.0.0\nuri: https://github.com/o/r@main\n"
IMAGE = "type: dockerimage\nname: i\nversion: 1.0.0\nuri: tf:1.4\n"


def said(text, old, new, *, base=None):
    """The sentences about one replacement in a component, and the verdict."""
    base = text if base is None else base
    assert old in base
    found = compare(parse(base), parse(base.replace(old, new)))
    return [change.sentence for change in found.changes], found.verdict


@pytest.mark.parametrize("old, new, sentence, verdict", [
    ("epochs: 10, ", "", "The parameter `epochs` is gone: a submission that sets it is refused.",
     "breaking"),
    ("epochs: 10,", "epochs: 10, seed: 1,", "The parameter `seed` is new, `1` by default.",
     "compatible"),
    ("epochs: 10", "epochs: 20", "The default of the parameter `epochs` goes from `10` to `20`.",
     "compatible"),
    ("epochs: 10", "epochs: ten", "The parameter `epochs` takes a text instead of a whole number; "
     "its default goes from `10` to `ten`.", "breaking"),
    ("epochs: 10", "epochs: 10.5", "The default of the parameter `epochs` goes from `10` to "
     "`10.5`.", "compatible"),
    ("epochs: 10", "epochs: true", "The parameter `epochs` takes true or false instead of a whole "
     "number; its default goes from `10` to `true`.", "breaking"),
    ("gpu: 1}", "gpu: 4}", "`worker` asks for 4 GPUs instead of 1.", "breaking"),
    ("gpu: 1}", "gpu: 0}", "`worker` asks for 0 GPUs instead of 1.", "compatible"),
    ("gpu: 1}", "gpu: $$gpus$$}", "A parameter, `$$gpus$$`, says how much `worker` asks for: "
     "1 GPU by default.", "compatible"),
    ("gpu: 0}", "gpu: $$gpus$$}", "`ps` asks for 1 (`$$gpus$$`) GPU instead of 0.", "breaking"),
    ("cpu: 2", "cpu: 3", "`worker` asks for 3 CPU cores instead of 2.", "breaking"),
    ("memoryMB: 1024", "memoryMB: 900", "`worker` asks for 900 MiB of memory instead of 1024.",
     "compatible"),
    ("memoryMB: 1024", "memoryMB: 1024, shmMB: 128",
     "`worker` asks for 128 MiB of shared memory instead of 64.", "compatible"),
    ("memoryMB: 1024", "memoryMB: 1024, shmMB: 64",
     "`tasks[worker].resource.resourcePerInstance.shmMB` is written otherwise and means the same.",
     "cosmetic"),
    ("instances: 1", "instances: 2", "`worker` runs as 2 instances instead of 1.", "breaking"),
    ("beginAt: 0", "beginAt: 8080",
     "`web` of `worker` takes the port 8080 instead of any free port.", "breaking"),
    ("portNumber: 2", "portNumber: 1", "`web` of `worker` has 1 ports instead of 2.", "breaking"),
    ("portNumber: 2}", "portNumber: 2}, {label: ssh, beginAt: 0, portNumber: 1}",
     "`worker` has a new port, `ssh`.", "compatible"),
    ("portList: [{label: web, beginAt: 0, portNumber: 2}]", "portList: []",
     "The port `web` of `worker` is gone.", "breaking"),
    ("tf:1.4", "tf:2.0", "The image `tf` goes from `tf:1.4` to `tf:2.0`.",
     "compatible"),
    ("tf:1.4", "docker.io/tf:1.4",
     "`prerequisites[dockerimage/tf].uri` is written otherwise and means the same.", "cosmetic"),
    ("tf:1.4", "o/torch:1", "The image `tf` is `o/torch:1` instead of `tf:1.4`.", "compatible"),
    ("https://h.org/c", "https://i.org/c", "The data `cifar10` comes from "
     "`https://i.org/cifar10.tar` instead of `https://h.org/cifar10.tar`.", "compatible"),
    ("uri: notes", "uri: other", "The storage `notes` comes from `other` instead of `notes`.",
     "breaking"),
    ("loop@1.0.0", "loop@2.0.0", "The script `loop` is `script/loop@2.0.0` instead of "
     "`script/loop@1.0.0`.", "compatible"),
    ("loop@1.0.0", "loop", "The script `loop` is the latest of `script/loop` instead of "
     "`script/loop@1.0.0`.", "compatible"),
    ("  - script/loop@1.0.0\n", "", "The script `loop` is no longer among the prerequisites.",
     "compatible"),
    ("[pip install scipy, python train.py]", "[pip install numpy, python train.py]",
     "In a command of `worker`, `scipy` is gone and `numpy` is new.", "compatible"),
    ("python train.py]", "python train.py --lr $$lr$$ --epochs 3 --deep]",
     "Commands of `worker`: 1 new (`python train.py --lr $$lr$$ --epochs 3 --deep`) and 1 gone "
     "(`python train.py`).", "compatible"),
    ("[python ps.py]", "[python ps.py --port 1]",
     "Commands of `ps`: 1 new (`python ps.py --port 1`) and 1 gone (`python ps.py`).",
     "compatible"),
    ("[pip install scipy, python train.py]", "[pip install -q numpy, python train.py]",
     "Commands of `worker`: 1 new (`pip install -q numpy`) and 1 gone (`pip install scipy`).",
     "compatible"),
    ("[pip install scipy, python train.py]", "[python train.py, pip install scipy]",
     "`worker` runs the same commands in another order.", "compatible"),
    ("data: cifar10", "data: $$set$$", "`worker` takes the data `$$set$$` instead of `cifar10`.",
     "compatible"),
    ("role: ps", "role: server", "The task role `ps` is gone.", "breaking"),
    ("retryCount: 0", "retryCount: 3", "A failed job is tried again 3 times instead of 0.",
     "compatible"),
    ("retryCount: 0\n", "", "`retryCount` is written otherwise and means the same.", "cosmetic"),
    ("retryCount: 0", "minFailedTaskCount: 3\nretryCount: 0", "`minFailedTaskCount` is new: `3`.",
     "compatible"),
    ("    data: cifar10\n", "    data: cifar10\n    minFailedTaskCount: 2\n",
     "How many failed tasks of `worker` it takes until that fails the job: 2 instead of 1.",
     "compatible"),
    ("    data: cifar10\n", "    data: cifar10\n    minSucceededTaskCount: 1\n",
     "How many successful tasks of `worker` it takes until that ends the job well: 1 instead of "
     "never.", "compatible"),
    ("Trains.", "Trains well.", "The description is another.", "cosmetic"),
    ("contributor: ann", "contributor: bob", "The contributor goes from `ann` to `bob`.",
     "cosmetic"),
    ("version: 1.0.0", "version: 1.1.0", "The version goes from `1.0.0` to `1.1.0`.", "cosmetic"),
    ("protocol_version: v2\n", "",
     "`protocol_version` is written otherwise and means the same.", "cosmetic"),
    ("retryCount: 0", "retryCount: 0 # none",
     "Only comments, spacing or the order of fields changed; it means the same.", "cosmetic")])
def test_a_change_of_a_job_is_a_sentence_with_a_verdict(old, new, sentence, verdict):
    sentences, found = said(JOB, old, new)
    assert sentence in sentences and (found == verdict or len(sentences) > 1)
    assert found == verdict


@pytest.mark.parametrize("text, old, new, sentence, verdict", [
    (DATA, "h.org/a", "mirror.org/b", "The file `x.csv` comes from `https://mirror.org/b/x.csv` "
     "instead of `https://h.org/a/x.csv`.", "compatible"),
    (DATA, "x.csv", "y.csv", "The file `x.csv` is gone (`https://h.org/a/x.csv`): commands that "
     "name it do not find it.", "breaking"),
    (DATA, "x.csv", "x.csv,https://h.org/z", "The file `z` is new, from `https://h.org/z`.",
     "compatible"),
    (DATA, "https://h.org", "HTTPS://H.org", "`uri` is written otherwise and means the same.",
     "cosmetic"),
    (SCRIPT, "@main", "@v2", "`https://github.com/o/r` is taken at `v2` instead of `main`.",
     "compatible"),
    (SCRIPT, "o/r@", "p/r.git@", "The folder `r` comes from `https://github.com/p/r.git@main` "
     "instead of `https://github.com/o/r@main`.", "compatible"),
    (SCRIPT, "https://github.com/o/r@main", "./tidy.py", "The file `tidy.py` is new, from "
     "`./tidy.py`.", "breaking"),
    (SCRIPT, "https://github.com/o/r@main", "./tools", "The folder `tools` is new, from "
     "`./tools`.", "breaking"),
    (SCRIPT, "o/r@", "o/other@", "The folder `r` is gone (`https://github.com/o/r@main`): "
     "commands that name it do not find it.", "breaking"),
    (IMAGE, "tf:1.4", "tf:1.5", "The image goes from `tf:1.4` to `tf:1.5`.",
     "compatible"),
    (IMAGE, "tf:1.4", "tf:2.0", "The image goes from `tf:1.4` to `tf:2.0`.",
     "breaking"),
    (IMAGE, "tf:1.4", "o/torch:1.4", "The image is `o/torch:1.4` instead of `tf:1.4`.",
     "breaking"),
    (IMAGE, "tf:1.4", "docker.io/library/tf:1.4",
     "`uri` is written otherwise and means the same.", "cosmetic")])
def test_a_change_of_a_part_is_judged_by_the_jobs_that_use_it(text, old, new, sentence, verdict):
    sentences, found = said(text, old, new)
    assert sentence in sentences and found == verdict


# --- what the numbers say -----------------------------------------------------------------------

@pytest.mark.parametrize("before, after, old, new, warning", [
    ("1.0.0", "1.0.1", "epochs: 10, ", "", "The step from 1.0.0 to 1.0.1 says that only something "
     "was mended, but the changes say more: The parameter `epochs` is gone: a submission that sets "
     "it is refused. 2.0.0 would tell."),
    ("1.0.0", "1.1.0", "gpu: 1}", "gpu: 4}", "The step from 1.0.0 to 1.1.0 says that nothing "
     "breaks, but the changes say more: `worker` asks for 4 GPUs instead of 1. 2.0.0 would tell."),
    ("1.0.0", "1.0.1", "epochs: 10,", "epochs: 10, seed: 1,", "The step from 1.0.0 to 1.0.1 says "
     "that only something was mended, but the changes say more: The parameter `seed` is new, `1` "
     "by default. 1.1.0 would tell."),
    ("1.0.0", "2.0.0", "epochs: 10, ", "", ""),
    ("1.0.0", "1.1.0", "epochs: 10,", "epochs: 11,", ""),
    ("1.0.0", "1.0.1", "Trains", "Does", ""), ("0.1.0", "0.2.0", "epochs: 10, ", "", ""),
    ("0.1.0", "0.1.1", "epochs: 10,", "epochs: 10, seed: 1,", ""),
    ("0.1.0", "0.1.1", "epochs: 10, ", "", "The step from 0.1.0 to 0.1.1 says that only something "
     "was mended, but the changes say more: The parameter `epochs` is gone: a submission that sets "
     "it is refused. 0.2.0 would tell."),
    ("1.0.0", "2.0.0-beta", "epochs: 10, ", "", ""), ("2.0.0", "1.0.0", "epochs: 10, ", "", ""),
    ("1.0.0", "1.0.0", "Trains", "Does", "Both say 1.0.0, and yet they differ: this version was "
     "written anew after it was published. A version of its own, such as 1.0.1, keeps the two "
     "apart."),
    ("best", "best", "Trains", "Does", "Both say best, and yet they differ: this version was "
     "written anew after it was published. A version of its own keeps the two apart."),
    ("best", "better", "epochs: 10, ", "", "")])
def test_a_number_that_says_less_than_the_change_is_warned_of(before, after, old, new, warning):
    first = JOB.replace("version: 1.0.0", f"version: {before}")
    second = JOB.replace("version: 1.0.0", f"version: {after}").replace(old, new)
    assert compare(parse(first), parse(second)).warning == warning


@pytest.mark.parametrize("version, step, following", [
    ("1.2.3", "major", "2.0.0"), ("1.2.3", "minor", "1.3.0"), ("1.2.3", "patch", "1.2.4"),
    ("0.2.3", "major", "0.3.0"), ("0.2.3", "minor", "0.2.4"), ("1.0.0-rc.1", "major", "1.0.0"),
    ("1.0", "minor", "1.1.0"), ("best", "major", ""), ("1.0.0", "", "")])
def test_the_next_version_is_one_step_on(version, step, following):
    assert next_version(version, step) == following


# --- properties ---------------------------------------------------------------------------------

TEXTS = [JOB, DATA, SCRIPT, IMAGE, *(
    path.read_text() for folder in ("job", "data", "script", "dockerimage")
    for path in sorted((ROOT / "marketplace" / folder).glob("*.yaml")))]
DOCUMENTS = [parse(text).document for text in TEXTS]
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.text("ab1$:/@.", max_size=6))
LIKE = {str: st.text("ab1$:/@.", min_size=1, max_size=6), int: st.integers(0, 900)}
NAMES = {"tasks": "role", "portList": "label"}


def leaves(value, path=""):
    """Each leaf as JSON by its path; a list without names counts as one leaf."""
    if isinstance(value, dict) and value:
        return {key: leaf for name, item in value.items()
                for key, leaf in leaves(item, f"{path}.{name}" if path else name).items()}
    key = path.rpartition(".")[2]
    if isinstance(value, list) and value and key in (*NAMES, "prerequisites"):
        named = [(name_in(item, key), item) for item in value]
        assume(len({name for name, _ in named}) == len(named))
        return {place: leaf for name, item in named
                for place, leaf in leaves(item, f"{path}[{name}]").items()}
    return {path: json.dumps(value, sort_keys=True)}


def name_in(item, key):
    if key in NAMES:
        return str(item.get(NAMES[key]))
    if isinstance(item, dict):
        return f"{item.get('type')}/{item.get('name')}"
    return re.fullmatch(r"(?:[^@]*:)?([^@]*)(?:@.*)?", item)[1]


def places(value):
    """Every mapping and list within a document."""
    found = [value] if isinstance(value, (dict, list)) else []
    for item in value.values() if isinstance(value, dict) else value if found else ():
        found += places(item)
    return found


@st.composite
def mutations(draw):
    """A document and the same with a few things removed, changed or added."""
    before = draw(st.sampled_from(DOCUMENTS))
    after = copy.deepcopy(before)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.sampled_from(places(after)))
        keys = [key for key in (place if isinstance(place, dict) else range(len(place)))
                if not isinstance(place[key], (dict, list)) and key not in ("name", "type")]
        action = draw(st.sampled_from(["change", "remove", "add"]))
        if action == "add" and isinstance(place, dict):
            place[draw(st.sampled_from(["x", "retryCount", "shmMB", "data"]))] = draw(SCALARS)
        elif keys and action == "remove":
            del place[draw(st.sampled_from(keys))]
        elif keys:
            key = draw(st.sampled_from(keys))
            place[key] = draw(LIKE.get(type(place[key]), SCALARS))
    try:
        return before, parse(dump(after)).document
    except ComponentError:
        reject()


@pytest.mark.parametrize("text", TEXTS)
def test_a_version_differs_in_nothing_from_itself(text):
    found = compare(parse(text), parse(text))
    assert (found.changes, found.verdict, found.step, found.warning) == ((), "same", "", "")
    assert changes_between(parse(text).document, parse(dump(parse(text))).document) == ()


@settings(deadline=None, max_examples=300)
@given(mutations())
def test_every_leaf_that_changed_has_a_sentence(pair):
    before, after = pair
    old, new = leaves(before), leaves(after)
    said = [change.path for change in changes_between(before, after)]
    for path in old.keys() | new.keys():
        if old.get(path) != new.get(path):
            assert any(path == place or path.startswith((f"{place}.", f"{place}["))
                       or place.startswith((f"{path}.", f"{path}[")) for place in said), path
    assert bool(said) == (json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True))


OPTIONAL = st.fixed_dictionaries({}, optional={
    "parameters": st.dictionaries(st.from_regex("new_[a-z]{1,5}", fullmatch=True), SCALARS,
                                  min_size=1),
    "ports": st.lists(st.sampled_from(["new_a", "new_b"]), unique=True, min_size=1),
    "prerequisites": st.lists(st.sampled_from(["data/new_d", "script/new_s@1"]), unique=True),
    "unknown": SCALARS, "description": st.just("another")})


@settings(deadline=None)
@given(st.sampled_from([each for each in DOCUMENTS if each["type"] == "job"]), OPTIONAL)
def test_what_only_adds_optional_things_breaks_nothing(before, added):
    after = copy.deepcopy(before)
    after.setdefault("parameters", {}).update(added.get("parameters", {}))
    after["prerequisites"] = [*after.get("prerequisites", []), *added.get("prerequisites", [])]
    resource = after["tasks"][0]["resource"]
    resource["portList"] = [*resource.get("portList", []), *(
        {"label": label, "beginAt": 0, "portNumber": 1} for label in added.get("ports", []))]
    after |= {key: added[key] for key in ("unknown", "description") if key in added}
    assert verdict_of(changes_between(before, after)) != "breaking"


@settings(deadline=None)
@given(mutations())
def test_the_way_back_is_a_difference_too(pair):
    assert bool(changes_between(*pair)) == bool(changes_between(*reversed(pair)))
