"""The HTTP API's routes to publish a component to GitHub by a pull request."""
from __future__ import annotations

from typing import Any

from registry.preview import Wanted
from registry.publication import Publication
from registry.views.api_openapi import Api
from registry.views.auth import required_user
from registry.views.models import publications as models
from registry.views.models.base import Empty
from registry.views.programs import API_PREFIX
from registry.views.publications import confirmed, looked_again, preview_json, publication_json
from registry.views.services import services

api = Api("api_publications", API_PREFIX)


@api.route("GET", "/publications", result=models.Publications)
def list_publications() -> dict[str, Any]:
    """List one's own publications, the last touched first; nobody else sees them."""
    found = services().publications.of_user(required_user().id)
    return {"publications": [publication_json(each) for each in found]}


@api.route("POST", "/publications", body=models.NewPublication, status=201,
           result=models.PublicationDraft, errors=(403, 404))
def draft_publication(body: models.NewPublication) -> dict[str, Any]:
    """Make a draft: check the component, and look up on GitHub what it would change there.

    Nothing is written on GitHub before the draft is confirmed. What GitHub refuses stands in
    `problem`; the draft is kept.
    """
    return preview_json(services().drafts.make(required_user().id, _wanted(body)))


@api.route("GET", "/publications/<int:number>", result=models.PublicationState, errors=(404,))
def show_publication(number: int) -> dict[str, Any]:
    """How far a publication is: its steps, its pull request, and until it is found here."""
    return publication_json(_own(number))


@api.route("GET", "/publications/<int:number>/preview", result=models.PublicationDraft,
           errors=(404,))
def preview_publication(number: int) -> dict[str, Any]:
    """What a draft would change, as it was looked up last."""
    return preview_json(_own(number))


@api.route("PUT", "/publications/<int:number>", body=models.NewPublication,
           result=models.PublicationDraft, errors=(403, 404, 409))
def rewrite_publication(number: int, body: models.NewPublication) -> dict[str, Any]:
    """Give it another text: it is a draft again, and keeps the pull request that it has."""
    return preview_json(services().drafts.make(required_user().id, _wanted(body), id_=number))


@api.route("POST", "/publications/<int:number>/confirm", body=models.Confirmation,
           result=models.PublicationState, errors=(403, 404, 409))
def confirm_publication(number: int, body: models.Confirmation) -> dict[str, Any]:
    """Agree to a draft: fork, commit, branch and pull request are made from now on.

    A draft that changed since `seen` was given is refused with 409.
    """
    return publication_json(confirmed(_own(number), seen=body.seen))


@api.route("POST", "/publications/<int:number>/retry", body=Empty,
           result=models.PublicationState, errors=(404, 409))
def retry_publication(number: int, body: Empty) -> dict[str, Any]:
    """Have it go on now; of a draft, look it up on GitHub again."""
    return publication_json(looked_again(_own(number)))


@api.route("POST", "/publications/<int:number>/withdraw", body=Empty,
           result=models.PublicationState, errors=(404, 409))
def withdraw_publication(number: int, body: Empty) -> dict[str, Any]:
    """Give it up; what is on GitHub already stays there."""
    return publication_json(services().publications.withdraw(_own(number)))


def _own(number: int) -> Publication:
    return services().publications.get(required_user().id, number)


def _wanted(body: models.NewPublication) -> Wanted:
    return Wanted(repository=body.repository, text=body.yaml, path=body.path, title=body.title,
                  body=body.body, is_signed_off=body.is_signed_off)
