import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.placeholders import Substitution, effective_parameters
from registry.yaml_text import read

TEXT = """\
parameters:
  epochs: 10
  lr: 1e-3
  is_fast: false
  model: resnet20
  layers: [16, 8]
  net: {depth: 2}
  seed:
command: train $$epoch$$ $$seed$$
"""
DOCUMENT = read(TEXT)
DECLARED = DOCUMENT.value["parameters"]


def put_in(text, *scopes):
    substitution = Substitution(DOCUMENT)
    value = substitution.value(text, scopes or (DECLARED,), ("command",))
    assert not substitution.problems
    return value


def problems_of(text, *scopes):
    substitution = Substitution(DOCUMENT)
    substitution.value(text, scopes or (DECLARED,), ("command",))
    return substitution.problems


def effective(**parameters):
    return effective_parameters(DOCUMENT, DECLARED, parameters)


@pytest.mark.parametrize("text, expected", [
    ("--epochs $$epochs$$ --lr $$lr$$", "--epochs 10 --lr 0.001"), ("$$epochs$$", 10),
    ("$$is_fast$$", False), ("-$$is_fast$$", "-false"), ("$$layers$$", [16, 8]),
    ("$$epochs$$$$model$$", "10resnet20"), ("$$epochs$$x$$", "10x$$"), ("$$net.depth$$", 2),
    ("x$$layers$$", "x[16, 8]"), ("kill $$; echo $$PATH $$", "kill $$; echo $$PATH $$"),
    ({"a": ["$$epochs$$", 1]}, {"a": [10, 1]}), ("$$seed$$", None)])
def test_references_become_values_and_a_lone_one_keeps_its_type(text, expected):
    assert put_in(text) == expected and type(put_in(text)) is type(expected)


@pytest.mark.parametrize("value", ["$$epochs$$", "$&", "\\1", "\\g<0>", "a$$b$$c", "'; ls"])
def test_values_are_taken_literally_and_not_replaced_again(value):
    assert put_in("run $$a$$ $$epochs$$", {"a": value}, DECLARED) == f"run {value} 10"


@settings(deadline=None)
@given(st.text(), st.text("$ab", max_size=12))
def test_any_value_arrives_unchanged_in_any_text(value, text):
    scope = {name: value for name in text.replace("$", " ").split()}
    assert put_in(text, scope) == expected_of(text, value)


def expected_of(text, value):
    """The same by hand: from left to right, `$$` letters `$$`."""
    begin = text.find("$$")
    while begin >= 0:
        name = text[begin + 2:].partition("$")[0]
        if name and text[begin + 2 + len(name):].startswith("$$"):
            rest = text[begin + 4 + len(name):]
            return text[:begin] + value + expected_of(rest, value)
        begin = text.find("$$", begin + 1)
    return text


def test_the_first_scope_that_knows_a_name_gives_its_value():
    assert put_in("$$a$$ $$epochs$$", {"a": "own"}, {"a": "task", "epochs": 1}, DECLARED) == "own 1"
    assert put_in("$$a.b$$", {"a": {"c": 1}}, {"a.b": 2}) == 2


def test_an_unknown_name_is_told_at_its_place_with_what_is_known():
    problem, = problems_of("train $$epoch$$")
    assert (problem.path, problem.line, problem.column) == ("command", 9, 16)
    assert problem.message == (
        "`$$epoch$$` is not known here. Did you mean `epochs`? Known names: epochs, lr, is_fast, "
        "model, layers, net, seed. Where the process id of the shell is meant, write `${$}`.")


@pytest.mark.parametrize("name", ["__class__", "keys", "toString", "net.keys", "net.depth.real",
                                  ".", "net.", "layers.0"])
def test_only_own_names_are_known(name):
    problem, = problems_of(f"echo $${name}$$")
    assert f"`$${name}$$` is not known here." in problem.message


def test_a_parameter_without_a_value_cannot_be_part_of_a_text():
    problem, = problems_of("train $$seed$$")
    assert (problem.line, problem.column) == (9, 26)
    assert problem.message == ("`$$seed$$` has no value. Give one at submission, or write a "
                               "default.")


@pytest.mark.parametrize("name, given, expected", [
    ("epochs", "3", 3), ("epochs", 3, 3), ("epochs", 3.0, 3), ("lr", "1e-4", 0.0001),
    ("lr", 1, 1.0), ("is_fast", "true", True), ("is_fast", False, False), ("model", "50", "50"),
    ("model", 50, "50"), ("model", "on: [", "on: ["), ("layers", "[1, 2]", [1, 2]),
    ("layers", [], []), ("net", "{depth: 3}", {"depth": 3}), ("seed", "7", 7), ("seed", [1], [1]),
    ("seed", "a: b", "a: b"), ("seed", "x # y", "x # y"), ("seed", "[", "["), ("seed", None, None)])
def test_given_values_are_typed_like_their_defaults(name, given, expected):
    values, problems = effective(**{name: given})
    assert problems == [] and values == {**DECLARED, name: expected}
    assert type(values[name]) is type(expected)


@pytest.mark.parametrize("name, given", [
    ("epochs", "abc"), ("epochs", "3.5"), ("epochs", True), ("epochs", None), ("epochs", [1]),
    ("epochs", "[1"), ("lr", "fast"), ("lr", float("nan")), ("lr", ".inf"), ("is_fast", "yes"),
    ("is_fast", 1), ("model", None), ("model", ["a"]), ("model", "a\0b"), ("layers", "1"),
    ("net", "[]"), ("layers", ["a\0"]), ("seed", float("inf")), ("seed", [float("nan")])])
def test_a_value_of_another_type_is_refused_at_the_default(name, given):
    problem, = effective(**{name: given})[1]
    assert (problem.path, problem.line) == (f"parameters.{name}", 2 + list(DECLARED).index(name))
    assert f"Give for example `{name}=" in problem.message


def test_a_wrong_value_is_told_with_what_it_must_be():
    problem, = effective(epochs="abc")[1]
    assert problem.message == ("`epochs` must be a whole number like its default `10`, but is "
                               "`abc`. Give for example `epochs=10`.")


def test_an_undeclared_parameter_is_refused_with_the_declared_ones():
    problem, = effective(epoch=3)[1]
    assert problem.message == (
        "The job declares no parameter `epoch`. Did you mean `epochs`? It has: epochs, lr, "
        "is_fast, model, layers, net, seed.")
