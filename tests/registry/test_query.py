"""The query language: what a text asks for, and where one that cannot be read goes wrong."""
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from registry.clauses import All, Any, Filter, Not, Phrase, Words, clause_text, leaves
from registry.query import MAX_DEPTH, Query, QueryError, parse_query
from registry.query_fields import FIELDS

PIECES = ["a", "tensorflow_cifar10", "训练", '"', '""', '"a b"', "(", ")", "OR", "AND", "NOT", "-",
          "--gpus", "*", "tens*", "type:job", "type:jbo", "gpu:<=4", "gpu:1..4", "updated:2026-02",
          "updated:>2026-01-31", 'by:"An n"', "by:", "versions:all", "is:deprecated", "tpye:job",
          "http://x/y?z=(1)", "f(x)", "f(x", "“", "”", "：", "（", "）", " ", "\n", "\x00", "\ud800"]
texts = st.text() | st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map(" ".join) \
    | st.lists(st.sampled_from(PIECES)).map("".join)


def clause(text):
    return parse_query(text).clause


@pytest.mark.parametrize("text, asked", [
    ("", All(())),
    ("  ", All(())),
    ("cifar10", Words("cifar10", is_last=True)),
    ("cifar10 ", Words("cifar10")),
    ("tensorflow cifar", All((Words("tensorflow"), Words("cifar", is_last=True)))),
    ("tens* cifar ", All((Words("tens", is_last=True), Words("cifar")))),
    ('"two words" x', All((Phrase("two words"), Words("x", is_last=True)))),
    ("“two  words”", Phrase("two words")),
    ("a -b", All((Words("a"), Not(Words("b"))))),
    ("-b*", Not(Words("b", is_last=True))),
    ('-"a b"', Not(Phrase("a b"))),
    ("-type:job", Not(Filter("type", "=", "job"))),
    ("-(a b)", Not(All((Words("a"), Words("b"))))),
    ("NOT a", Not(Words("a"))),
    ("a AND b ", All((Words("a"), Words("b")))),
    ("x a OR b y ", All((Words("x"), Any((Words("a"), Words("b"))), Words("y")))),
    ("(x a) OR b ", Any((All((Words("x"), Words("a"))), Words("b")))),
    ("a OR b OR c ", Any((Words("a"), Words("b"), Words("c")))),
    ("or and not ", All((Words("or"), Words("and"), Words("not")))),
    ('"OR"', Phrase("OR")),
    ("type:job", Filter("type", "=", "job")),
    ("Type:JOB", Filter("type", "=", "job")),
    ("type：job", Filter("type", "=", "job")),
    ('by:"Ann Lee"', Filter("by", "=", "Ann Lee")),
    ("author:ann", Filter("by", "=", "ann")),
    ("gpu:4", Filter("gpu", "=", "4")),
    ("gpu:<=04", Filter("gpu", "<=", "4")),
    ("gpus:≥2", Filter("gpu", ">=", "2")),
    ("gpu:1..4", All((Filter("gpu", ">=", "1"), Filter("gpu", "<=", "4")))),
    ("updated:>2026-01-01", Filter("updated", ">", "2026-01-01")),
    ("updated:>2026-01", Filter("updated", ">", "2026-01-31")),
    ("updated:<2026", Filter("updated", "<", "2026-01-01")),
    ("updated:2024-02", All((Filter("updated", ">=", "2024-02-01"),
                             Filter("updated", "<=", "2024-02-29")))),
    ("updated:2026-01-01..2026-02-01", All((Filter("updated", ">=", "2026-01-01"),
                                            Filter("updated", "<=", "2026-02-01")))),
    ("uses:job/cifar10", Filter("uses", "=", "job/cifar10")),
    ("uses:http://host/x", Filter("uses", "=", "http://host/x")),
    ("versions:all", Filter("versions", "=", "all")),
])
def test_a_text_asks_for(text, asked):
    assert clause(text) == asked


@pytest.mark.parametrize("text", [
    "http://example.org/a?b=c", "paishare/x:1.0", r"C:\data", "10:30", "python:3.10", "sha256:ab12",
    "--gpus", "-", "$$lr$$", "f(x)", "data://points", 'name://x', "a-b", '5"', "imagenet:2012",
    "job:digits", "训练：图像", "print(f(x))", "???"])
def test_what_only_looks_like_syntax_is_a_word(text):
    asked = clause(f"{text} ")
    assert isinstance(asked, Words) and asked.text == text


def says_with(message, instead):
    return f"{message} Write `{instead}`." if instead else message


@pytest.mark.parametrize("text, position, says, instead", [
    ('cifar "two words', 6, "never closed", 'cifar "two words"'),
    ("(a OR b", 0, "has no `)`", "(a OR b)"),
    ("a b)", 3, "no `(`", "a b"),
    ("f(x y", 1, "no `)`", '"f(x" y'),
    ("OR a", 0, "on both sides", "a"),
    ("a OR", 2, "on both sides", "a"),
    ("a OR OR b", 5, "on both sides", "a OR b"),
    ("(a AND) b", 3, "on both sides", "(a ) b"),
    ("a NOT", 2, "after it", "a"),
    ("()", 0, "nothing between these parentheses", ""),
    ('a ""', 2, "nothing between these quotes", ""),
    ("type:jop x", 5, "There is no `type:jop`", "type:job x"),
    ("x type:image", 7, "only `type:job`, `type:data`", "x type:dockerimage"),
    ("is:new", 3, "only `is:deprecated`", "is:deprecated"),
    ("gpu:many", 4, "whole number", ""),
    ("version:>=x.y", 8, "no range of versions", ""),
    ("updated:2026-02-30", 8, "a day that there is", ""),
    ("by: ann", 0, "`by:openpai`", ""),
    ("a tpye:job", 2, "Did you mean `type:`", "a type:job"),
    ("stars:>5", 0, "There are `type:`, `name:`", ""),
    ('topic:"a b"', 0, "There is no field `topic:`", ""),
    ("a -versions:all", 3, "whole query", ""),
    ("(versions:all OR a)", 1, "whole query", ""),
    ("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), MAX_DEPTH, "deeper", ""),
    ("a " * 51, 100, "more than 50", ""),
    ("a" * 1001, 1000, "longer than 1000", ""),
])
def test_an_error_has_its_place_and_what_to_write_instead(text, position, says, instead):
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert says in caught.value.message
    assert (caught.value.position, caught.value.instead) == (position, instead)
    problem, = caught.value.problems
    assert problem.column == position + 1
    assert problem.message == says_with(caught.value.message, instead)
    assert not instead or parse_query(instead)


@settings(deadline=None, max_examples=500)
@given(texts)
@example("OR*")
@example("-OR")
@example("**")
@example('by:"a”b"')
@example("type：")
@example("NOT --gpus")
@example("NOT －")
@example("0 TYPE:JOB ")
@example("a -b gpu:1 ")
def test_any_text_is_read_or_refused_at_a_place_within_it(text):
    try:
        query = parse_query(text)
    except QueryError as error:
        assert 0 <= error.position < len(text)
        assert not error.instead or parse_query(error.instead)
    else:
        assert parse_query(str(query)).clause == query.clause


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6)
values = st.text(st.characters(codec="utf-8"), min_size=1).filter(
    lambda text: " ".join(text.split()) == text)
asked = words.map(Words) | values.map(Phrase) | st.builds(
    Filter, st.sampled_from([
        key for key, field in FIELDS.items()
        if field.kind == "text" and not field.values and key != "version"]), st.just("="), values)


@settings(deadline=None)
@given(st.lists(asked, max_size=5), st.sampled_from(["by", "tag", "image", "source"]), values)
def test_a_filter_is_added_and_taken_out_again_whatever_its_value(clauses, field, value):
    query = parse_query(str(Query(All(tuple(clauses)))))
    narrowed = parse_query(query.with_filter(field, value).text)
    added = Filter(field, "=", value)
    assert added in narrowed.clauses
    if added not in query.clauses:
        assert parse_query(narrowed.without(added).text).clause == query.clause


def test_a_filter_leaves_the_unfinished_word_at_the_end():
    query = parse_query("tensor cif")
    assert query.with_filter("by", "Ann Lee").text == 'by:"Ann Lee" tensor cif'
    assert parse_query("cifar ").with_filter("gpu", "2").text == "gpu:2 cifar "


def test_a_query_tells_its_filters_and_its_words():
    query = parse_query('type:job -is:deprecated versions:all cifar -mnist (a OR "b c")')
    assert query.filters == (Filter("type", "=", "job"), Not(Filter("is", "=", "deprecated")),
                             Filter("versions", "=", "all"))
    assert query.has_all_versions
    assert query.without_filters().text == 'cifar -mnist a OR "b c"'
    assert [each.text for each in query.wanted] == ["cifar", "a", "b c"]


def test_a_choice_between_filters_is_a_filter():
    query = parse_query("cifar type:job OR type:data by:ann OR mnist")
    assert [clause_text(each) for each in query.filters] == ["type:job OR type:data"]
    assert query.without_filters().text == "cifar by:ann OR mnist"


def test_the_example_of_every_field_is_a_filter_of_it():
    for key, field in FIELDS.items():
        asked = clause(field.example)
        assert isinstance(asked, Filter) and asked.field == key


def test_the_guide_lists_every_field_and_its_examples_are_read():
    guide = (Path(__file__).parents[2] / "docs" / "search.md").read_text()
    rows = re.findall(r"^\| `(\w+):` \|.*\| (.*) \|$", guide, re.M)
    assert [key for key, _ in rows] == list(FIELDS)
    for key, examples in rows:
        for written in re.findall("`([^`]+)`", examples):
            assert {leaf.field for leaf in leaves_of(written)} == {key}
    words = guide.partition("## Words")[2].partition("## Filters")[0]
    for written in re.findall(r"^\| `([^`]+)` \|", words, re.M):
        assert leaves_of(written)


def leaves_of(text):
    return list(leaves(clause(text)))
