"""What is marked in names and descriptions, and that nothing else of them changes."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.highlight import pieces, spans, terms_of
from registry.query import QueryError, parse_query


def marked(query, text, found=()):
    """The text with its matches in brackets."""
    terms = terms_of(parse_query(query), found)
    return "".join(f"[{piece}]" if is_match else piece for piece, is_match in pieces(text, terms))


@pytest.mark.parametrize("query, text, shown", [
    ("cifar10 ", "tensorflow_cifar10", "tensorflow_[cifar10]"),
    ("cifar ", "CIFAR10 and cifars", "[CIFAR]10 and cifars"),
    ("tens", "A tensor, no intense", "A [tens]or, no intense"),
    ("tens ", "A tensor", "A tensor"),
    ("res-net50 ", "ResNet50 or resnet50", "[ResNet50] or [resnet50]"),
    ("pytorch ", "Py-Torch", "[Py-Torch]"),
    ("net ", "ResNet50 planet netto", "Res[Net]50 planet netto"),
    ("lr ", "l r is lr", "l r is [lr]"),
    ("cafe ", "Le Café ﬁn", "Le [Café] ﬁn"),
    ("训练图 ", "图像训练图片", "图像[训练图]片"),
    ('"two words" -three', "Two words three", "[Two] [words] three"),
    ("type:job by:ann", "job ann", "job ann"),
    ("x<b ", "<b>x</b>", "<[b]>[x]</[b]>"),
    ("", "anything", "anything"),
])
def test_matches_are_marked(query, text, shown):
    assert marked(query, text) == shown


def test_what_the_index_found_for_a_typo_is_marked_too():
    assert marked("cifra ", "cifar10", ["cifar"]) == "[cifar]10"


@settings(deadline=None)
@given(st.text(), st.text() | st.lists(st.sampled_from("aéﬁ训İß_- ")).map("".join))
def test_the_pieces_are_the_text_again_and_matches_lie_apart(query, text):
    try:
        terms = terms_of(parse_query(query))
    except QueryError:
        return
    assert "".join(piece for piece, _ in pieces(text, terms)) == text
    ends = [place for span in spans(text, terms) for place in span]
    assert ends == sorted(set(ends)) and all(0 <= end <= len(text) for end in ends)
