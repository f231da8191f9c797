"""OpenPAI's form of a component and ours, both ways."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.component import parse
from registry.dialects import component_text, form_values, template
from registry.errors import ComponentError, InvalidInputError

JOB = {"name": "run", "type": "job", "contributor": "ann", "version": 1.0,
       "parameters": [{"name": "epochs", "value": 3}, {"name": "lr", "value": "0.1"}],
       "tasks": [{"role": "main", "dockerimage": "busybox", "instances": 2, "cpu": 1,
                  "memoryMB": 100, "gpu": 0, "command": ["echo $$epochs$$"],
                  "portList": [{"label": "web", "beginAt": 0, "portNumber": 1}],
                  "parameters": [{"name": "x", "value": 1}]}],
       "prerequisites": [{"name": "busybox", "type": "dockerimage", "uri": "busybox:1"}]}


def test_what_the_portal_sends_becomes_a_component():
    job = parse(component_text(JOB))
    assert job.version == "1.0" and job.parameters == {"epochs": 3, "lr": "0.1"}
    task, = job.tasks
    assert task["resource"] == {
        "instances": 2, "portList": [{"label": "web", "beginAt": 0, "portNumber": 1}],
        "resourcePerInstance": {"cpu": 1, "gpu": 0, "memoryMB": 100}}
    assert task["parameters"] == {"x": 1} and job.document["protocol_version"] == "v2"


@pytest.mark.parametrize("change, path", [
    ({"type": "storage"}, "type"), ({"type": ["job"]}, "type"), ({"type": None}, "type"),
    ({"parameters": ["x"]}, "parameters[0]"),
    ({"parameters": [{"a": 1}, {"a": 2}]}, "parameters[1]")])
def test_what_cannot_be_meant_is_said_with_its_place(change, path):
    with pytest.raises(InvalidInputError) as error:
        component_text({**JOB, **change})
    assert error.value.problems[0].path == path


@pytest.mark.parametrize("value", [None, [], "x", {}, 5])
def test_what_is_no_object_is_no_template(value):
    with pytest.raises(InvalidInputError, match="Failed to parse template content"):
        component_text(value)


def test_several_uris_become_one_text_and_a_missing_version_the_commit():
    found = template({"type": "data", "name": "x", "uri": ["https://a/1", "https://a/2"]}, (),
                     "0123")
    assert found == {"protocol_version": "v2", "type": "data", "name": "x", "version": "0123",
                     "uri": "https://a/1,https://a/2"}


def test_a_form_with_nested_names_is_the_object_that_it_stands_for():
    found = form_values([
        ("name", "run"), ("version", "1"), ("tasks[0][role]", "main"), ("tasks[0][cpu]", "4"),
        ("tasks[0][command][]", "a"), ("tasks[0][command][]", "b"), ("tasks[1][role]", "x"),
        ("parameters[0][name]", "lr"), ("parameters[0][value]", "1"), ("usage[b]", "c")])
    assert found == {
        "name": "run", "version": "1", "usage": {"b": "c"},
        "tasks": [{"role": "main", "cpu": 4, "command": ["a", "b"]}, {"role": "x"}],
        "parameters": [{"name": "lr", "value": "1"}]}


@pytest.mark.parametrize("items", [
    [("a", "1"), ("a[b]", "2")], [("a[b", "1")], [("", "1")], [("a" + "[b]" * 20, "1")],
    [(f"a{number}", "1") for number in range(2001)]], ids=range(5))
def test_a_form_that_fits_nothing_is_refused(items):
    with pytest.raises(InvalidInputError, match="form has"):
        form_values(items)


KEYS = st.text("ab[]01", max_size=8)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda each: st.lists(each, max_size=3) | st.dictionaries(
                        st.sampled_from(["name", "type", "tasks", "parameters", "uri", "version",
                                         "role", "x"]), each, max_size=4), max_leaves=12)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(KEYS, st.text(max_size=4)), max_size=6), JSON)
def test_whatever_is_sent_is_a_component_or_refused_in_words(items, value):
    for make in (lambda: form_values(items), lambda: {"type": "job", **value}):
        try:
            parse(component_text(make()))
        except (InvalidInputError, ComponentError) as error:
            assert error.message
        except TypeError:
            assert not isinstance(value, dict)
