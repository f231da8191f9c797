"""Search finds what is meant as well as it did when the baseline was written."""
import json

import pytest

from bench.judgements import Judged
from bench.references import is_one_edit
from bench.relevance import BASELINE, Answer, halves, measure_baseline, score

KEPT = json.loads(BASELINE.read_text())


@pytest.fixture(scope="module")
def figures():
    return measure_baseline()


@pytest.mark.parametrize("kind", KEPT)
def test_no_class_of_queries_is_answered_worse_than_before(figures, kind):
    assert figures[kind]["ndcg"] >= KEPT[kind] - 0.02, (
        f"python -m bench.relevance --versions 1000 --show '{kind}' lists what is not found")


def test_an_exact_name_is_always_first(figures):
    assert figures["exact name"]["first"] == 1


def test_the_baseline_names_every_class(figures):
    assert figures.keys() == KEPT.keys()
    assert all(found["queries"] >= 15 for found in figures.values())


def judged(**grades):
    return Judged(kind="one attribute", text="x", grades=grades)


def test_the_best_order_scores_one_and_a_worse_one_less():
    wanted = judged(a=3, b=2, c=1)
    assert score(wanted, Answer(keys=("a", "b", "c"))).ndcg == 1
    worse = score(wanted, Answer(keys=("x", "b", "a")))
    assert worse.ndcg == pytest.approx((3 / 1.58496 + 7 / 2) / (7 + 3 / 1.58496 + 1 / 2), abs=1e-4)
    assert worse.reciprocal == pytest.approx(1 / 3)


def test_an_empty_answer_scores_nothing_but_is_right_for_nonsense():
    nothing = Answer(keys=())
    assert score(judged(a=3), nothing).ndcg == 0 and score(judged(a=3), nothing).is_empty
    assert score(Judged(kind="nonsense", text="x", grades={}), nothing).ndcg == 1


def test_half_of_each_class_is_held_out():
    items = [Judged(kind=kind, text=str(number), grades={})
             for kind in ("a", "b") for number in range(4)]
    assert [[each.text for each in half] for half in halves(items).values()] == [
        ["0", "2", "0", "2"], ["1", "3", "1", "3"]]


@pytest.mark.parametrize("word", ["tensorflo", "tensorrflow", "tensorglow", "tesnorflow"])
def test_one_edit_is_a_letter_wrong_missing_or_too_many_or_two_swapped(word):
    assert is_one_edit(word, "tensorflow")
    assert not is_one_edit(word, "tensorboard")
