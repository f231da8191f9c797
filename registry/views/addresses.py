"""Addresses of this server as others reach it: in feeds, webhooks and what programs are told."""
from __future__ import annotations

from typing import Any

from flask import request, url_for

from registry.views.services import services


def origin() -> str:
    """What every address begins with: as the operator set it, else as this request came."""
    return services().public_url or request.host_url.rstrip("/")


def address_of(endpoint: str, **values: Any) -> str:
    """The whole address of a page or route, as `url_for` takes it."""
    return f"{origin()}{url_for(endpoint, **values)}"
