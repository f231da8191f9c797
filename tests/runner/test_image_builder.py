"""The builder's parts that need no engine: files, progress, processes, what is left behind."""
import subprocess

import pytest

from runner import image_builder
from runner.errors import EngineError


def test_what_the_image_is_made_of_is_found_beside_the_package():
    folder = image_builder.build_files()
    assert (folder / "packages.txt").read_text().split() == [
        "python3-minimal", "python3-numpy", "python3-pil"]
    assert f"FROM {image_builder.BASE}\n" in (folder / "Dockerfile").read_text()


def test_every_fortieth_package_is_a_line_of_progress():
    lines = []
    see = image_builder._package_progress(lines.append)
    for number in range(90):
        see(f"I: Retrieving libx{number} 1.0")
        see(f"I: Validating libx{number} 1.0")
    see("W: something else")
    assert lines == ["Retrieving packages: 40", "Retrieving packages: 80"]


def test_a_process_that_fails_is_told_with_its_last_lines():
    with pytest.raises(EngineError, match="sh failed with exit code 3: 2 / 3 / E: no disk"):
        image_builder._run(["sh", "-c", "echo 1; echo 2; echo 3; echo E: no disk >&2; exit 3"])


def test_a_process_ends_with_the_one_who_waits_for_it(tmp_path):
    def interrupt(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        image_builder._run(["sh", "-c", f"echo; sleep 60; touch {tmp_path}/late"], interrupt)
    assert not list(tmp_path.iterdir())


def test_the_folder_is_gone_after_a_failure_and_so_is_what_a_kill_left(tmp_path, monkeypatch):
    monkeypatch.setattr(image_builder, "SCRATCH", tmp_path)
    (tmp_path / "paishare-image-old" / "root").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    with pytest.raises(EngineError), image_builder._scratch_folder() as folder:
        (folder / "root").mkdir()
        assert sorted(tmp_path.iterdir()) == sorted([folder, tmp_path / "other"])
        raise EngineError("no disk")
    assert list(tmp_path.iterdir()) == [tmp_path / "other"]


def test_a_second_builder_waits_for_the_first_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(image_builder, "SCRATCH", tmp_path)
    lines = []
    with subprocess.Popen(["flock", str(tmp_path), "sh", "-c", "echo; read x"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        first.stdout.readline()

        def report(line):
            lines.append(line)
            first.stdin.close()

        with image_builder._only_builder(report):
            assert first.wait(10) is not None
    assert lines == [f"Waiting for another build of image {image_builder.IMAGE} to end."]


def test_a_mirror_out_of_reach_is_told_before_anything_is_tried():
    with pytest.raises(EngineError, match="http://127.0.0.1:9/debian does not answer"):
        image_builder._check_mirror("No base image.", "http://127.0.0.1:9/debian")


def test_the_command_explains_itself(capsys):
    with pytest.raises(SystemExit, match="0"):
        image_builder.main(["--help"])
    assert image_builder.IMAGE in capsys.readouterr().out
