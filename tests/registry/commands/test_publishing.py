"""publish: one file goes to the server, and what came of it is said in a line."""
import json

import pytest

from tests.fakes.scripted_server import Answer

FOUND = {"reference": "job/run@1.0.0", "source": "ann-shelf", "type": "job", "name": "run",
         "version": "1.0.0", "commit": "0123456789abcdef" + "0" * 24, "is_known": False,
         "warnings": [{"path": "x", "line": 2, "column": 1, "message": "Better not.",
                       "severity": "warning"}]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xef\xbb\xbftype: job\n")
    return path


def test_what_was_published_is_said_with_its_commit(run, server, file):
    server.answers["POST /components"] = [Answer(FOUND, status=201)]
    code, out, err = run("publish", file)
    assert (code, out) == (0, "job/run@1.0.0 is published: ann-shelf, commit 0123456789ab.\n")
    assert "run.yaml:2:1" in err and "Better not." in err
    assert server.requests[0].body == {"yaml": "type: job\n"}


def test_a_repetition_is_told_and_json_is_whole(run, server, file):
    known = {**FOUND, "is_known": True, "warnings": []}
    server.answers["POST /components"] = [Answer(known), Answer(known)]
    assert "was there already" in run("publish", file)[1]
    assert json.loads(run("publish", file, "--json")[1]) == known


@pytest.mark.parametrize("content, text", [
    (b"\xff\xfe", "is no UTF-8 text"), (b"a" * 256_001, "larger than a component may be"),
    (None, "cannot be read: No such file")])
def test_a_file_that_cannot_be_sent_is_said_before_anything_is(run, server, tmp_path, content,
                                                               text):
    if content:
        (tmp_path / "x.yaml").write_bytes(content)
    code, _, err = run("publish", tmp_path / "x.yaml")
    assert code == 1 and text in err and not server.requests
