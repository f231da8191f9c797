"""What a component uses, and that one thing has one name however it is spelled."""
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.component import parse
from registry.uses import MAX_TARGET, Use, plain_data, plain_image, plain_script, uses_of

JOB = """\
type: job
name: train
parameters: {{set: cifar10}}
prerequisites:
{prerequisites}
tasks:
  - role: worker
{fields}
    resource: {{resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: [echo]
"""


def job(*prerequisites, **fields):
    """The uses of a job with these prerequisites, whose only task has these fields."""
    listed = "".join(f"  - {item}\n" for item in prerequisites) or "  []\n"
    text = JOB.format(prerequisites=listed.rstrip("\n"), fields="".join(
        f"    {name}: {value}\n" for name, value in fields.items()).rstrip("\n"))
    return uses_of(parse(text), "job/train.yaml")


def reference(target, type="", version="", source=""):
    return Use(kind="reference", target=target, target_type=type, target_version=version,
               target_source=source)


IMAGE = "{name: tf, type: dockerimage, uri: 'busybox:1'}"
BUSYBOX = Use(kind="image", target="docker.io/library/busybox:1", target_type="dockerimage")


@pytest.mark.parametrize("written, found", [
    ("data/cifar10@1.0.0", reference("cifar10", "data", "1.0.0")),
    ("data/cifar10@^1.2", reference("cifar10", "data", "^1.2")),
    ("team/x:data/cifar10@latest", reference("cifar10", "data", source="team/x")),
    ("data/cifar10@0123abcdef", reference("cifar10", "data", "0123abcdef"))])
def test_a_listed_reference_is_used_as_it_is_written(written, found):
    assert job(IMAGE, f'"{written}"') == (BUSYBOX, found)


def test_a_task_names_what_it_takes_from_the_marketplace():
    assert job(IMAGE, data="cifar10", script="team:train@1.0") == (
        BUSYBOX, reference("cifar10", "data"), reference("train", "script", "1.0", "team"))


def test_a_name_in_a_task_is_the_listed_reference_of_that_name():
    assert job(IMAGE, "cifar10@1.0.0", data="cifar10") == (
        BUSYBOX, reference("cifar10", "data", "1.0.0"))


def test_what_is_written_in_the_job_is_no_reference():
    assert job(IMAGE, "{name: c, type: data, uri: 'https://H.org/c'}", data="c",
               dockerimage="tf") == (
        BUSYBOX, Use(kind="data", target="https://h.org/c", target_type="data"))


def test_a_parameter_that_names_an_input_counts_with_its_default():
    assert job(IMAGE, data="$$set$$") == (BUSYBOX, reference("cifar10", "data"))
    assert job(IMAGE, data="$$unknown$$") == (BUSYBOX,)


def test_a_run_counts_with_its_own_parameters():
    component = parse(JOB.format(prerequisites=f"  - {IMAGE}", fields="    data: $$set$$"))
    assert uses_of(component, parameters={"set": "mnist"}) == (
        BUSYBOX, reference("mnist", "data"))


@pytest.mark.parametrize("type, uri, kind, target, version", [
    ("data", "https://h.org/x", "data", "https://h.org/x", ""),
    ("data", "../files/x.csv", "data", "./files/x.csv", ""),
    ("script", "https://github.com/o/r.git@main", "script", "https://github.com/o/r", "main"),
    ("script", "../scripts/a/", "script", "./scripts/a", ""),
    ("dockerimage", "o/r", "image", "docker.io/o/r:latest", "")])
def test_a_part_of_jobs_uses_its_own_uri(type, uri, kind, target, version):
    component = parse(f"type: {type}\nname: x\nuri: {uri}\n")
    assert uses_of(component, f"{type}/x.yaml") == (
        Use(kind=kind, target=target, target_type=type, target_version=version),)


@pytest.mark.parametrize("spellings", [
    ("busybox", "busybox:latest", "library/busybox", "docker.io/busybox", " busybox ",
     "index.docker.io/library/busybox:latest", "DOCKER.IO/busybox", "docker://busybox"),
    ("localhost/paishare/digits:1.0.0", "LOCALHOST/paishare/digits:1.0.0"),
    ("ghcr.io/o/r@sha256:ab", "ghcr.io/o/r:1.0@sha256:ab"),
    ("h:5000/x", "H:5000/x:latest")])
def test_an_image_has_one_name(spellings):
    assert len({plain_image(spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize("one, other", [
    ("busybox", "busybox:1"), ("o/busybox", "busybox"), ("ghcr.io/o/r", "o/r"),
    ("h:5000/x", "h:5001/x"), ("o/R", "o/r")])
def test_other_images_have_other_names(one, other):
    assert plain_image(one) != plain_image(other)


@pytest.mark.parametrize("spellings", [
    ("https://github.com/o/r", "https://GitHub.com/o/r.git", "https://github.com/o/r/",
     "git@github.com:o/r.git", "ssh://git@github.com/o/r", "https://github.com:443/o/r.git/",
     "http://github.com/o/r@main", "git+https://github.com/o/r"),
    ("/srv/r", "file:///srv/r.git", "file://localhost/srv/r/")])
def test_a_repository_has_one_name(spellings):
    assert len({plain_script(spelling)[0] for spelling in spellings}) == 1


def test_a_relative_path_is_told_from_the_root_of_its_source():
    assert plain_data("../files/a/../x", "data/x.yaml") == "./files/x"
    assert plain_script("./r", "script/x.yaml") == ("./script/r", "")


def test_a_very_long_uri_still_fits_a_row_of_the_index():
    one, other = (plain_data("https://h.org/" + "x" * 9000 + end) for end in "ab")
    assert one != other and len(one.encode()) <= MAX_TARGET


SEGMENT = st.text("abcXYZ019-_.~ é@+", min_size=1, max_size=8).filter(
    lambda text: text.strip(".") and "@" not in text)
HOST = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z]{2,4}){1,2}", fullmatch=True)


@st.composite
def addresses(draw):
    """An URI in its plain form, and the same in another spelling."""
    scheme, host = draw(st.sampled_from(["http", "https"])), draw(HOST)
    segments = draw(st.lists(SEGMENT, min_size=1, max_size=4))
    path = "".join("/" + quote(segment) for segment in segments)
    other = "".join(
        "/" + draw(st.sampled_from(["", "./", "x/../"]))
        + "".join(f"%{byte:02x}" if draw(st.booleans()) else quote(bytes([byte]))
                  for byte in segment.encode()) for segment in segments)
    port = draw(st.sampled_from(["", {"http": ":80", "https": ":443"}[scheme], ":"]))
    cased = "".join(char.upper() if draw(st.booleans()) else char for char in host)
    return f"{scheme}://{host}{path}", f"{scheme.upper()}://{cased}{port}{other}#part"


@settings(deadline=None)
@given(addresses())
def test_the_same_uri_in_another_spelling_is_the_same_target(pair):
    plain, other = pair
    assert plain_data(other) == plain_data(plain) == plain
    assert plain_script(other)[0] == plain_script(plain)[0]


@settings(deadline=None)
@given(addresses(), st.sampled_from(["", ".git", "/", ".git/"]), st.sampled_from(["", "@main"]))
def test_the_same_repository_in_another_spelling_is_the_same_target(pair, end, ref):
    plain, _ = pair
    name = plain.removesuffix(".git")
    assert plain_script(name + end + ref)[0] == plain_script(name)[0]


@settings(deadline=None)
@given(st.text(max_size=60))
def test_whatever_stands_there_has_a_plain_form_that_is_its_own(text):
    for plain in (plain_data, plain_image, lambda uri: plain_script(uri)[0]):
        once = plain(text)
        assert len(once.encode()) <= MAX_TARGET


@settings(deadline=None)
@given(addresses())
def test_a_plain_form_stays_as_it_is(pair):
    once = plain_data(pair[1])
    assert plain_data(once) == once
