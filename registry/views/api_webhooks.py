"""The HTTP API's route that GitHub tells of pushes and other changes: signed, and only a hint."""
from __future__ import annotations

import re
from typing import Any

from flask import request

from registry.errors import InvalidInputError, UnauthorizedError
from registry.views.api_openapi import Access, Api
from registry.views.models import sources as models
from registry.views.programs import API_PREFIX
from registry.views.services import services
from registry.webhooks import event_of, is_signed

MAX_BYTES = 5 << 20
_DELIVERY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
api = Api("api_webhooks", API_PREFIX)


@api.route("POST", "/hooks/github/<int:source_id>", access=Access.PUBLIC, status=202,
           headers={"X-Hub-Signature-256": "`sha256=` and the HMAC of the body in hexadecimal "
                                           "digits, made with the webhook's secret.",
                    "X-GitHub-Event": "What happened, such as `push`.",
                    "X-GitHub-Delivery": "The number of this delivery; it is taken once."},
           result=models.Taken, errors=(401, 404, 413))
def receive_delivery(source_id: int) -> dict[str, Any]:
    """Hear from GitHub what happened in the repository of a source; for webhooks.

    Takes the body as GitHub signed it, 5 MiB at most. Whatever it says is looked up at GitHub
    before anything changes; only what became private is hidden at once.
    """
    request.max_content_length = MAX_BYTES
    body = request.get_data(parse_form_data=False)
    signature = request.headers.get("X-Hub-Signature-256", "")
    if not is_signed(services().deliveries.secret(source_id), body, signature):
        raise UnauthorizedError("The signature is wrong. Give the webhook on GitHub the secret "
                                "that the source's page shows to its owner.")
    delivery = request.headers.get("X-GitHub-Delivery", "")
    if not _DELIVERY.fullmatch(delivery):
        raise InvalidInputError("The header X-GitHub-Delivery is missing or wrong.")
    event = event_of(request.headers.get("X-GitHub-Event", ""), body)
    return {"is_new": services().deliveries.take(source_id, delivery, event)}
