"""From what a page or program sends to the job spec that the runner gets."""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Mapping, Sequence

from registry.accounts import User
from registry.component import parse
from registry.conversion import convert
from registry.errors import (
    InvalidInputError,
    NotFoundError,
    Problem,
    RunnerUnavailableError,
)
from registry.resolver import Resolved, resolve
from registry.runs import PRIVATE
from registry.views.services import services
from runner.sentence import Sentence
from runner.spec import JobSpec, Login, known_job_spec

# In a job's origin: the text was changed after it came from there.
EDITED = "edited"


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A job to run: a component of the marketplace, a text, or a text that began as a component.

    `reference` and `yaml` are empty where there is none; `parameters` replace defaults; `name`
    None keeps the job's own.
    """

    reference: str = ""
    yaml: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None


def resolved(user: User, submission: Submission) -> Resolved:
    """Resolve it; raises InvalidInputError or ComponentError with every problem."""
    if not submission.reference and not submission.yaml:
        raise InvalidInputError(Sentence(
            "There is nothing to run. Give the `reference` of a job in the marketplace, or a job "
            "as `yaml`."))
    catalog = services().catalog
    entry = catalog.get(submission.reference, user_id=user.id) if submission.reference else None
    text, notes = in_our_form(submission.yaml or (entry.text if entry else ""))
    component = parse(text)
    found = resolve(component, catalog=catalog, user=user.name, entry=entry, user_id=user.id,
                    parameters=submission.parameters, name=submission.name or None)
    found = replace(found, advice=(*notes, *found.advice))
    if entry and component.text not in (entry.text, in_our_form(entry.text)[0]):
        origin = {**found.spec.origin, EDITED: "yes"}
        return replace(found, spec=replace(found.spec, origin=origin))
    return found


def in_our_form(text: str) -> tuple[str, tuple[Problem, ...]]:
    """A job of another form as the YAML that we run, with what of it got lost; ours as it is.

    Raises InvalidInputError or ComponentError where it is wrong in its own form.
    """
    made = convert(text)
    return (made.yaml, made.notes) if made else (text, ())


def logins_of(submission: Submission) -> tuple[Login, ...]:
    """What a job of another form brings along to pull its images with."""
    made = convert(submission.yaml) if submission.yaml else None
    return made.logins if made else ()


def submit(user: User, spec: JobSpec, key: str | None, brought: Sequence[Login] = ()
           ) -> Mapping[str, Any]:
    """Hand a job to the runner, and count it; the same key is the same job, counted once.

    The user's logins to the registries of its images go with it, and before them what it has
    `brought` itself. Raises RunnerUnavailableError,
    and InvalidInputError where a login cannot be opened.
    """
    if services().runs.is_private(spec, user_id=user.id):
        spec = replace(spec, origin={**spec.origin, PRIVATE: "yes"})
    logins = services().image_logins.for_job(spec, user_id=user.id)
    job = services().runner.submit(spec, key, [*brought, *logins])
    services().runs.note(job["id"], spec, user_id=user.id)
    return job


def outlook(user: User, spec: JobSpec, brought: Sequence[Login] = ()) -> dict[str, Any]:
    """What a job would find now; registries of its images are asked as for itself. As `submit`."""
    logins = services().image_logins.for_job(spec, user_id=user.id)
    return services().runner.outlook(spec, [*brought, *logins])


def again(user: User, receipt: Mapping[str, Any], key: str | None) -> Mapping[str, Any]:
    """Run what a receipt tells of once more, for this user.

    Raises NotFoundError where an input is from a source that the user may not see, or that is
    gone, and RunnerUnavailableError.
    """
    spec = replace(known_job_spec(receipt["spec"]), user=user.name)
    catalog = services().catalog
    seen = {catalog.store(source.id).url for source in services().sources.visible(user_id=user.id)}
    for item in (item for role in spec.task_roles for item in role.inputs):
        if item.uri.startswith(catalog.home.absolute().as_uri()) and item.uri not in seen:
            raise NotFoundError(Sentence(
                "The input {target} of this job came from a source that is not here any more, so "
                "nothing was run.", target=item.target))
    return submit(user, spec, key)


def fit_of(spec: JobSpec) -> dict[str, Any] | None:
    """Whether this machine can run it; None where the runner does not answer."""
    try:
        return services().runner.explain(spec)
    except RunnerUnavailableError:
        return None
