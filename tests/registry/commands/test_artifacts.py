"""artifacts: listed and downloaded."""
from tests.fakes.scripted_server import Answer


def artifact(path):
    return {"attempt": 1, "role": "main", "index": 0, "path": path, "size": 5, "sha256": "ab12",
            "modified": "2026-01-02T03:04:05Z"}


def page(*paths, next=None, notice=None):
    return {"artifacts": [artifact(path) for path in paths], "next": next, "notice": notice}


def test_artifacts_are_listed(run, server):
    server.answers["GET /jobs/7/artifacts"] = [page("a/model.npz")]
    assert "1/main-0/a/model.npz\t5 B\t" in run("artifacts", "7")[1]


def test_artifacts_are_downloaded_byte_for_byte(run, server, tmp_path):
    server.answers |= {"GET /jobs/7/artifacts": [page("a b/model.npz")],
                       "GET /jobs/7/artifacts/1/main/0/a%20b/model.npz": [Answer(b"\0\1\2\3\4")]}
    code, out, _ = run("artifacts", "7", "--download", tmp_path / "got")
    file = tmp_path / "got" / "1" / "main-0" / "a b" / "model.npz"
    assert (code, out, file.read_bytes()) == (0, f"{file}\n", b"\0\1\2\3\4")


def test_an_artifact_never_lands_outside_the_folder(run, server, tmp_path):
    server.answers["GET /jobs/7/artifacts"] = [page("../../../x")]
    code, _, err = run("artifacts", "7", "--download", tmp_path / "got")
    assert code == 1 and "outside" in err


def test_many_artifacts_are_listed_page_by_page_with_their_checksums(run, server):
    server.answers["GET /jobs/7/artifacts"] = [page("a", next="1/main-0/a"), page("b")]
    out = run("artifacts", "7", "--checksums")[1]
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["1/main-0/a", "1/main-0/b"]
    assert out.count("\tab12\n") == 2
    first, second = server.asked("GET /jobs/7/artifacts")
    assert "after" not in first.query and second.query["after"] == "1/main-0/a"


def test_all_artifacts_come_as_one_archive(run, server, tmp_path):
    server.answers["GET /jobs/7/archive"] = [Answer(b"PK\3\4")]
    code, out, _ = run("artifacts", "7", "--archive", tmp_path / "all.zip")
    assert (code, out) == (0, f"{tmp_path / 'all.zip'}\n")
    assert (tmp_path / "all.zip").read_bytes() == b"PK\3\4"


def test_artifacts_that_were_removed_are_said_to_be(run, server):
    server.answers["GET /jobs/7/artifacts"] = [page(notice="They were removed.")]
    assert "They were removed." in run("artifacts", "7")[2]
