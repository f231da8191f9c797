"""Files that break in a thousand ways: what was known stays, and each is told once, in place."""
import json
import os
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from registry.commands.validation import validate
from registry.commits import Change, Commit, Standing
from registry.component_rules import TYPES
from registry.errors import NotFoundError
from registry.head import Head
from registry.history import History
from registry.reader import reading_of
from tests.registry.marketplace import Marketplace, data
from tests.registry.repository import Repository

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("PAISHARE_SHARED", ROOT.parent / "shared"))
FIXTURES = sorted([*(ROOT / "tests/cases/components/good").glob("*.yaml"),
                   *(SHARED / "data/openpai/marketplace").rglob("*.yaml"),
                   *(SHARED / "data/openpai/protocol-v2").glob("*.yaml")])
TIMES = 1000
AT_ONCE = 400


class Store:
    """One commit after another, each with a single file, from memory."""

    def __init__(self):
        self.blobs, self.head = {}, {}

    def commit(self, id):
        return Commit(id=id, parents=(), tree=b"", time_s=0)

    def blob(self, id):
        return self.blobs[id]

    def reading(self, path, blob):
        return reading_of(path, lambda: self.blobs[blob])

    def blob_at(self, commit, path):
        if path not in self.head:
            raise NotFoundError(path)
        return self.head[path]

    def readme(self, commit, path):
        return ""


def mutated(text, chance):
    """The text with one thing changed, as slips of hands, editors and disks do it."""
    kind = chance.randrange(6)
    lines = text.splitlines(keepends=True)
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    if kind == 0:
        at = chance.randrange(len(text))
        return text[:at] + bytes([text[at] ^ 1 << chance.randrange(8)]) + text[at + 1:]
    if kind == 1:
        return b"".join(lines[:place] + lines[place + 1:])
    if kind == 2:
        return b"".join(lines[:place] + [lines[place]] + lines[place:])
    if kind == 3:
        return b"".join(lines[:place] + [b"  " + lines[place]] + lines[place + 1:])
    if kind == 4:
        return text[:chance.randrange(len(text))]
    lines[place], lines[other] = lines[other], lines[place]
    return b"".join(lines)


def type_of(text):
    found = [name for name in TYPES if f"type: {name}".encode() in text.replace(b" :", b":")]
    return found[0] if found else "job"


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_mutated_a_thousand_ways_takes_nothing_away(path):
    text, chance, store = path.read_bytes(), random.Random(path.stem), Store()
    place = f"{type_of(text)}/{path.stem}.yaml"
    history = History([], [], store)
    step(history, store, place, "first", text)
    if history.problems:
        pytest.skip("the fixture itself is no component of one type")
    known = {version.identity for version in history.versions}
    name = history.versions[0].key
    head = Head(history)
    for number in range(AT_ONCE):
        changed = mutated(text, chance)
        step(history, store, place, f"{number}", changed, head)
        found = {version.identity for version in history.versions}
        assert known <= found
        known = found
        told = [each for each in history.problems.values() if each.path == place]
        assert len(told) <= 1 and set(history.problems) <= {place}
        for problem in (each for file in told for each in file.problems):
            assert problem.line and problem.column and len(problem.message) > 15
        if told:
            assert history.of_key(name)
    for number in range(AT_ONCE, TIMES):
        store.blobs[f"{number}"] = mutated(text, chance)
        assert_read(history, place, f"{number}")


def assert_read(history, place, blob):
    """A component, or every reason with its place why there is none."""
    found = history.read(place, blob)
    problems = getattr(found, "problems", None)
    assert problems is None or problems and all(
        each.line and each.column for each in problems)


def step(history, store, place, blob, text, head=None):
    commit = store.commit(blob)
    before = store.head.get(place)
    store.blobs[blob], store.head[place] = text, blob
    history.apply(Change(commit=commit, path=place, blob=blob, is_link=False, is_inherited=False,
                         before=(("before", before),) if before else ()))
    (head or Head(history)).move(
        [Standing(path=place, blob=blob, is_link=False, before=before)], commit, before)


def test_mutated_files_in_real_commits_leave_what_was_known(tmp_path):
    market, origin = Marketplace(tmp_path / "home"), Repository(tmp_path / "origin")
    chance, good = random.Random(3), data("a").encode()
    market.add(origin.path)
    origin.commit({"data/a.yaml": data("a"), "data/b.yaml": data("b")})
    market.run()
    known = set(market.names())
    for _ in range(15):
        (origin.path / "data" / "a.yaml").write_bytes(mutated(good, chance))
        origin.commit({})
        report = market.run()
        assert report.problems == len(market.sources.problems(1)) <= 1
        assert "data/b" in market.names() and len(market.names()) == len(known)
    assert market.catalog.get("a@1.0.0").text == data("a")
    market.close()


@pytest.mark.parametrize("text", [
    "broken: [", data("a", uri=""), data("a", "1.0"), data("other"), "type: job\nname: a\n",
    data("a") + "uri: twice\n", "protocolVersion: 2\ntaskRoles: {}\n"])
def test_validate_says_what_the_indexer_says(tmp_path, text):
    market, origin = Marketplace(tmp_path / "home"), Repository(tmp_path / "origin")
    market.add(origin.path)
    origin.commit({"data/a.yaml": text})
    market.run()
    indexed = [*market.sources.problems(1), *market.sources.warnings(1)]
    market.close()
    assert said(origin.path / "data" / "a.yaml") == {
        (each.line, each.column, each.message) for file in indexed for each in file.problems}


def test_validate_refuses_a_link_as_the_indexer_does(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "real.yaml").write_text(data("a"))
    (tmp_path / "data" / "a.yaml").symlink_to("../real.yaml")
    (_, _, message), = said(tmp_path / "data" / "a.yaml")
    assert message.startswith("This is a symbolic link, and links are not followed")


def said(file):
    """What the command prints about a file."""
    output = CliRunner().invoke(validate, [str(file), "--json"], standalone_mode=False).output
    return {(each["line"], each["column"], each["message"])
            for each in json.loads(output)[0]["problems"]}
