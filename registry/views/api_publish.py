"""The HTTP API's route to publish a component."""
from __future__ import annotations

from typing import Any

from registry.disclosure import secrets_in
from registry.views.api_openapi import Api
from registry.views.auth import required_user
from registry.views.models import components as models
from registry.views.models.publications import Publication
from registry.views.programs import API_PREFIX
from registry.views.services import services

api = Api("api_publish", API_PREFIX)


@api.route("POST", "/components", body=models.YamlText, status=201, result=Publication,
           errors=(409, 410))
def publish_component(body: models.YamlText) -> dict[str, Any]:
    """Publish a component to one's own shelf, a Git repository on this server.

    It is found as soon as the shelf is synced, which begins at once. A version that is there
    never changes: the same bytes again are no error, other bytes are refused with 409.
    """
    published = services().shelves.publish(required_user(), body.yaml)
    component = published.component
    return {"reference": component.reference, "source": published.source, "type": component.type,
            "name": component.name, "version": component.version, "commit": published.commit,
            "is_known": published.is_known,
            "warnings": [problem.as_json() for problem in
                         (*component.warnings, *secrets_in(component.text))]}
