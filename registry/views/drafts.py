"""A job that is being prepared on the submit page: its text, its parameters, what is wrong."""
from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from dataclasses import dataclass, field, replace
from typing import Any, Mapping

from werkzeug.datastructures import FileStorage, MultiDict

from registry.accounts import User
from registry.component import Component, parse
from registry.conversion import Conversion, convert
from registry.errors import (
    ConflictError,
    GoneError,
    InvalidInputError,
    NotFoundError,
    Problem,
)
from registry.placeholders import as_text
from registry.views.submissions import Submission, fit_of, in_our_form, resolved
from runner.sentence import Sentence
from runner.spec import JobSpec

PARAMETER, SHORT_PARAMETER, BEFORE = "param.", "p.", "before."
_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")


@dataclass(frozen=True, kw_only=True)
class Field:
    """One parameter in the form; `before` is what an untouched form sends."""

    name: str
    kind: str
    value: str
    before: str
    is_from_link: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What the page holds. `values` are the parameters that differ from the text's defaults.

    `key` makes sending the same draft twice one job; `linked` names what a link has set;
    `conversion` is how the text was brought into our form just now.
    """

    reference: str = ""
    yaml: str = ""
    name: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    linked: frozenset[str] = frozenset()
    key: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    conversion: Conversion | None = None

    @property
    def submission(self) -> Submission:
        return Submission(reference=self.reference, yaml=self.yaml, parameters=self.values,
                          name=self.name or None)

    def idempotency_key(self, user: User) -> str:
        """The same for the same text, parameters and page; another after any change."""
        content = json.dumps([user.id, self.key, self.reference, self.yaml, self.name,
                              sorted(self.values.items())])
        return f"page/{hashlib.sha256(content.encode()).hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What is known of a draft; `component` None: its text is no job yet; `spec` None: nor can
    it run. `advice` is what owners say of the versions that it uses.
    """

    component: Component | None = None
    spec: JobSpec | None = None
    problems: tuple[Problem, ...] = ()
    advice: tuple[Problem, ...] = ()
    fit: Mapping[str, Any] | None = None

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity == "error"]


def draft_of_form(form: MultiDict[str, str]) -> Draft:
    """The draft as the page sent it; a parameter that nobody touched follows the text."""
    linked = frozenset(form.getlist("linked"))
    posted = {name.removeprefix(PARAMETER): _lines(value) for name, value in form.items()
              if name.startswith(PARAMETER)}
    values = {name: value for name, value in posted.items()
              if name in linked or value != _lines(form.get(f"{BEFORE}{name}", ""))}
    key = form.get("key", "")
    draft = Draft(reference=form.get("reference", ""), yaml=_lines(form.get("yaml", "")),
                  name=form.get("name", "").strip(), values=values, linked=linked)
    return replace(draft, key=key) if _KEY.fullmatch(key) else draft


def converted(draft: Draft) -> Draft:
    """The draft with its text in our form; one that is wrong in its own form stays, to be shown."""
    try:
        made = convert(draft.yaml)
    except InvalidInputError:
        return draft
    return replace(draft, yaml=made.yaml, conversion=made) if made else draft


def draft_of_file(file: FileStorage) -> Draft:
    """A new draft of an uploaded text; what is no UTF-8 is shown as such, and refused later."""
    return Draft(yaml=_lines(file.read().decode("utf-8", "replace").removeprefix("\ufeff")))


def draft_of_job(job: Mapping[str, Any]) -> Draft:
    """A draft that says again what a job ran."""
    spec = job["spec"]
    origin = spec["origin"]
    name, _, _ = origin.get("reference", "").partition("@")
    reference = f"{origin['source']}:{name}@{origin['commit']}" if name else ""
    return Draft(reference=reference, yaml=spec["yaml"], name=spec["name"],
                 values={key: as_text(value) for key, value in spec["parameters"].items()
                         if value is not None})


def check(user: User, draft: Draft) -> Check:
    """Read and resolve the draft, and ask the runner whether the job fits this machine."""
    if not draft.yaml.strip():
        return Check()
    try:
        in_our_form(draft.yaml)
        component = parse(draft.yaml)
    except InvalidInputError as error:
        return Check(problems=error.problems)
    unknown = [Problem(path=f"parameters.{name}", message=Sentence(
        "The link sets `{name}`, but the job has no such parameter. It has: {names}.",
        name=name[:80], names=", ".join(component.parameters) or Sentence("none")))
        for name in sorted(draft.linked - set(component.parameters))]
    known = replace(draft, values={name: value for name, value in draft.values.items()
                                   if name in component.parameters})
    try:
        made = resolved(user, known.submission)
    except (InvalidInputError, NotFoundError, ConflictError, GoneError) as error:
        found = error.problems or (Problem(message=error.message),)
        return Check(component=component, problems=(*unknown, *found, *component.warnings))
    return Check(component=component, spec=made.spec, fit=fit_of(made.spec),
                 problems=(*unknown, *component.warnings), advice=made.advice)


def fields_of(draft: Draft, found: Check) -> list[Field]:
    """The form: the parameters of the text or, while it cannot be read, those that were there."""
    if found.component is None:
        return [Field(name=name, kind="text", value=value, before="", is_from_link=False)
                for name, value in draft.values.items()]
    fields = []
    for name, default in found.component.parameters.items():
        before = as_text(default) if default is not None else ""
        fields.append(Field(
            name=name, kind=_kind(default, before), value=draft.values.get(name, before),
            before=before, is_from_link=name in draft.linked,
            problems=tuple(problem.message for problem in found.errors
                           if problem.path == f"parameters.{name}")))
    return fields


def _kind(default: Any, text: str) -> str:
    if isinstance(default, bool):
        return "choice"
    if isinstance(default, int):
        return "whole"
    if isinstance(default, float):
        return "number" if math.isfinite(default) else "text"
    return "long" if len(text) > 80 or "\n" in text else "text"


def _lines(text: str) -> str:
    """Line ends as YAML files have them: browsers send each as two characters."""
    return text.replace("\r\n", "\n")
