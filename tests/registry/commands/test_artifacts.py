"""artifacts: listed and downloaded."""
from tests.fakes.scripted_server import Answer


def artifact(path):
    return {"attempt": 1, "role": "main", "index": 0, "path": path, "size": 5,
            "modified": "2026-01-02T03:04:05Z"}


def test_artifacts_are_listed(run, server):
    server.answers["GET /jobs/7/artifacts"] = [{"artifacts": [artifact("a/model.npz")]}]
    assert "1/main-0/a/model.npz\t5 B\t" in run("artifacts", "7")[1]


def test_artifacts_are_downloaded_byte_for_byte(run, server, tmp_path):
    server.answers |= {"GET /jobs/7/artifacts": [{"artifacts": [artifact("a b/model.npz")]}],
                       "GET /jobs/7/artifacts/1/main/0/a%20b/model.npz": [Answer(b"\0\1\2\3\4")]}
    code, out, _ = run("artifacts", "7", "--download", tmp_path / "got")
    file = tmp_path / "got" / "1" / "main-0" / "a b" / "model.npz"
    assert (code, out, file.read_bytes()) == (0, f"{file}\n", b"\0\1\2\3\4")


def test_an_artifact_never_lands_outside_the_folder(run, server, tmp_path):
    server.answers["GET /jobs/7/artifacts"] = [{"artifacts": [artifact("../../../x")]}]
    code, _, err = run("artifacts", "7", "--download", tmp_path / "got")
    assert code == 1 and "outside" in err
