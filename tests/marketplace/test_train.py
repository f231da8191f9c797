"""train.py: a model that reads digits, the same for the same seed, and clear words otherwise."""
import json

import numpy as np
import pytest
from PIL import Image

from tests.marketplace.programs import DATA, run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The output folder and the log of a training with the defaults."""
    folder = tmp_path_factory.mktemp("output")
    code, out, err = run("train.py", "--data", DATA, output=folder)
    assert (code, err) == (0, "")
    return folder, out.splitlines()


def test_the_log_has_a_line_for_each_epoch_and_ends_with_the_accuracy(trained):
    _, lines = trained
    assert sum(line.startswith("epoch ") for line in lines) == 50
    assert lines[1].startswith("epoch 1/50  loss ")
    assert float(lines[-1].removeprefix("test accuracy ")) >= 0.95


def test_the_figures_agree_with_the_log(trained):
    folder, lines = trained
    figures = json.loads((folder / "metrics.json").read_text())
    assert lines[-1] == f"test accuracy {figures['test_accuracy']:.4f}"
    assert figures["train_images"] + figures["test_images"] == 1797
    assert figures["options"] == {"epochs": 50, "lr": 0.1, "batchsize": 32, "seed": 1}


def test_the_picture_opens_and_is_large_enough_to_read(trained):
    folder, _ = trained
    with Image.open(folder / "confusion_matrix.png") as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 500
        assert len(picture.getcolors()) > 5


def test_the_model_holds_numbers_only(trained):
    folder, _ = trained
    with np.load(folder / "model.npz", allow_pickle=False) as model:
        assert {name: model[name].shape for name in model} == {
            "w1": (64, 128), "b1": (128,), "w2": (128, 10), "b2": (10,)}


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_other_seeds_do_as_well(tmp_path, seed):
    _, out, _ = run("train.py", "--data", DATA, "--seed", seed, output=tmp_path)
    assert float(out.split()[-1]) >= 0.95


def test_the_same_seed_gives_the_same_log(tmp_path):
    options = ("--data", DATA, "--epochs", 3, "--seed", 7)
    assert run("train.py", *options, output=tmp_path) == run("train.py", *options, output=tmp_path)


@pytest.mark.parametrize("option, value, advice", [
    ("--epochs", "0", "argument --epochs: must be a whole number of at least 1, not '0'"),
    ("--batchsize", "ten", "argument --batchsize: must be a whole number of at least 1, not 'ten'"),
    ("--lr", "nan", "argument --lr: must be a number above 0 and at most 10, such as 0.1"),
    ("--lr", "fast", "not 'fast'"),
    ("--seed", "-1", "argument --seed: must be a whole number from 0 to 4294967295, not '-1'"),
])
def test_a_bad_parameter_ends_it_with_a_clear_line(option, value, advice):
    code, _, err = run("train.py", "--data", DATA, f"{option}={value}")
    assert code == 2
    assert advice in err


def test_missing_data_is_told(tmp_path):
    code, _, err = run("train.py", "--data", tmp_path / "digits.csv.gz")
    assert code == 1
    assert "Does the task name `data: digits`?" in err


def test_other_data_is_told(tmp_path):
    (tmp_path / "other.csv").write_text("1,2,3\n4,5,6\n")
    code, _, err = run("train.py", "--data", tmp_path / "other.csv")
    assert code == 1
    assert "does not look like the digits" in err
