"""The figures in the files of jobs: what is read, and what is left alone."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.views.figures import MAX_FIGURES, figures_of, has_figures


@pytest.mark.parametrize("path, text, found", [
    ("metrics.json", '{"accuracy": 0.9749, "steps": 300, "best": {"epoch": 3, "name": "a"}}',
     {"accuracy": "0.9749", "steps": "300", "best.epoch": "3", "best.name": "a"}),
    ("metrics.json", '{"rates": [0.1, 0.2], "ok": true, "none": null}', {"ok": "true"}),
    ("log.jsonl", '{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1e-3}\n',
     {"step": "2", "loss": "1e-3"}),
    ("loss.csv", "step,loss,note\n1,0.5,a\n2,0.25,b\n", {"step": "2", "loss": "0.25"}),
    ("score.txt", "0.97\n", {"": "0.97"}),
    ("notes.txt", "two\nlines\n", {}),
    ("metrics.json", '{"accuracy": ', {}),
    ("metrics.json", "[" * 100_000, {}),
    ("metrics.json", "\0\1\2", {}),
])
def test_what_a_file_says_in_figures(path, text, found):
    assert figures_of(path, text.encode()) == found


def test_only_small_files_of_these_kinds_are_read():
    assert has_figures("out/Metrics.JSON", 100)
    assert not has_figures("model.bin", 100) and not has_figures("metrics.json", 1 << 20)


@given(st.sampled_from(["a.json", "a.jsonl", "a.csv", "a.tsv", "a.txt"]), st.binary(max_size=300))
def test_no_bytes_stop_it(path, data):
    assert len(figures_of(path, data)) <= MAX_FIGURES
