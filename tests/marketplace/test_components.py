"""The bundled components: valid, explained, and pointing at what is there."""
import gzip
import hashlib

import pytest

from registry import component
from tests.marketplace.programs import DATA, MARKETPLACE, PROGRAMS

FILES = sorted(path for type_ in component.TYPES for path in (MARKETPLACE / type_).glob("*.yaml"))
PARSED = {path: component.parse(path.read_bytes()) for path in FILES}
REFERENCES = {parsed.reference for parsed in PARSED.values()}
components = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.relative_to(MARKETPLACE).as_posix())


def test_the_marketplace_has_four_jobs_and_what_they_share():
    assert REFERENCES == {
        "job/digits_classifier@1.0.0", "job/digits_service@1.0.0", "job/distributed_digits@1.0.0",
        "job/gpu_check@1.0.0", "data/digits@1.0.0", "script/digits_training@1.0.0",
        "dockerimage/digits@1.0.0"}


@components
def test_a_component_is_named_like_its_file_and_has_nothing_to_warn_of(path):
    parsed = PARSED[path]
    assert (parsed.type, parsed.name, parsed.warnings) == (path.parent.name, path.stem, ())


@components
def test_a_component_tells_who_made_it_and_teaches_how_to_change_it(path):
    parsed = PARSED[path]
    assert parsed.contributor == "PAIShare"
    assert len(parsed.description) > 500
    assert "**How to" in parsed.description


@components
def test_every_parameter_of_a_job_is_explained_and_used(path):
    parsed = PARSED[path]
    commands = "".join(sum((task["command"] for task in parsed.tasks), []))
    for name, default in parsed.parameters.items():
        assert f"| `{name}` | {default} |" in parsed.description
        assert f"$${name}$$" in commands


@components
def test_every_prerequisite_is_in_the_marketplace(path):
    for prerequisite in PARSED[path].prerequisites:
        assert prerequisite["reference"] in REFERENCES


@components
def test_relative_uris_lead_to_files_of_the_marketplace(path):
    for uri in PARSED[path].uris:
        target = (path.parent / uri).resolve()
        assert not uri.startswith(".") or target.exists() and MARKETPLACE in target.parents


def test_the_digits_are_1797_images_of_64_pixels_and_a_label():
    rows = [list(map(int, line.split(b","))) for line in gzip.decompress(DATA.read_bytes()).split()]
    assert len(rows) == 1797
    assert {len(row) for row in rows} == {65}
    assert {row[-1] for row in rows} == set(range(10))
    assert {pixel for row in rows for pixel in row[:-1]} == set(range(17))


def test_the_readme_beside_the_data_gives_its_checksum_and_licence():
    text = (DATA.parent / "README.md").read_text()
    assert hashlib.sha256(DATA.read_bytes()).hexdigest() in text
    assert "Creative Commons Attribution 4.0" in text


def test_the_script_component_names_every_program_that_a_person_starts():
    description = PARSED[MARKETPLACE / "script" / "digits_training.yaml"].description
    for path in PROGRAMS.glob("*.py"):
        assert f"`{path.name}`" in description
