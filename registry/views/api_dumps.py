"""The HTTP API's routes about dumps: the key that checks them, and the newest one itself."""
from __future__ import annotations

from typing import Any

from flask import Response, send_file

from registry.signing import key_id
from registry.views import auth
from registry.views.api_openapi import Access, Api
from registry.views.models import dumps as models
from registry.views.programs import API_PREFIX
from registry.views.security import as_file
from registry.views.services import services
from registry.views.text import iso

api = Api("api_dumps", API_PREFIX)


@api.route("GET", "/dumps/key", access=Access.PUBLIC, result=models.DumpKey)
def show_dump_key() -> dict[str, Any]:
    """The public key that checks this server's dumps."""
    public_key = services().dumps.public_key
    return {"public_key": public_key, "key_id": key_id(public_key)}


@api.route("GET", "/dumps", result=models.Dumps, errors=(403,))
def list_dumps() -> dict[str, Any]:
    """The dumps of the whole catalog that are kept, newest first; for an admin."""
    auth.required_admin("list the dumps")
    return {"dumps": [{"name": each.path.name, "size": each.size, "made_at": iso(each.made_at)}
                      for each in services().dumps.kept()]}


@api.route("GET", "/dumps/latest", media="application/gzip", errors=(403, 404))
def download_dump() -> Response:
    """The newest dump, to be restored with `paishare import`; for an admin."""
    auth.required_admin("download a dump")
    newest = services().dumps.newest()
    return as_file(send_file(newest.path, mimetype="application/gzip", as_attachment=True,
                             download_name=newest.path.name, etag=False))
