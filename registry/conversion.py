"""Jobs of other forms, known by their looks, become jobs of ours. Pure."""
from __future__ import annotations

from dataclasses import dataclass, replace

from registry import jobs_v1, protocol_2
from registry.component import Component, dump, parse
from registry.errors import ComponentError, Problem
from runner.spec import Login


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A job in our form; `form` names the one that it was in, `notes` what of it got lost.

    `logins` are what it brought to pull its images with, which are not in `yaml`; `masked` is its
    own text without secrets, empty where it has none.
    """

    form: str
    yaml: str
    notes: tuple[Problem, ...]
    logins: tuple[Login, ...] = ()
    masked: str = ""


def convert(text: str) -> Conversion | None:
    """The job that a text of another form stands for; None for a text that is in none of them.

    Raises InvalidInputError or ComponentError with each place that is wrong in its own form.
    """
    value = jobs_v1.read_v1(text)
    if value is not None:
        return _conversion(jobs_v1.FORM, *jobs_v1.converted_v1(value))
    component = _component(text)
    if component is None or not component.is_protocol_2:
        return None
    made = _conversion(protocol_2.FORM, *protocol_2.converted_2(component.document))
    masked = protocol_2.masked(component.document)
    return replace(made, logins=tuple(protocol_2.logins_of(component.document)),
                   masked=dump(masked) if masked else "")


def _component(text: str) -> Component | None:
    """None for a text that is no component, unless it means to be one of protocol 2."""
    try:
        return parse(text)
    except ComponentError:
        if all(mark in text for mark in protocol_2.MARKS):
            raise
        return None


def _conversion(form: str, document: dict, notes: list[Problem]) -> Conversion:
    return Conversion(form=form, yaml=dump(document), notes=tuple(notes))
