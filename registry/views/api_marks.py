"""The HTTP API's routes about what owners say of versions: yanked, deprecated, purged."""
from __future__ import annotations

from typing import Any

from registry.views import mark_access
from registry.views.api_openapi import Api
from registry.views.entries import find_entry, resolved_json
from registry.views.models import components as models
from registry.views.programs import API_PREFIX

api = Api("api_marks", API_PREFIX)


@api.route("POST", "/marks", body=models.NewMark, status=201, result=models.ResolvedReference,
           errors=(403, 404, 409, 410))
def set_mark(body: models.NewMark) -> dict[str, Any]:
    """Yank a version, or deprecate a version or component; for the source's owner or an admin.

    A yanked version is hidden from `latest`, ranges and lists, and still found by its exact text
    or commit. A second mark of the same kind takes the place of the first.
    """
    entry = mark_access.mark(body.kind, body.reference, reason=body.reason,
                             successor=body.successor)
    return resolved_json(find_entry(entry.exact_reference))


@api.route("DELETE", "/marks", query=models.MarkQuery, status=204, errors=(403, 404, 409, 410))
def remove_mark(query: models.MarkQuery) -> None:
    """Take a mark back; for the source's owner or an admin."""
    mark_access.unmark(query.kind, query.reference)


@api.route("POST", "/purges", body=models.NewPurge, status=201, result=models.Purge,
           errors=(403, 404, 409, 410))
def purge_version(body: models.NewPurge) -> dict[str, Any]:
    """Delete the text of one version for good; for an admin. Its references answer 410 then.

    Nothing brings it back: not a sync, not a copy of the catalog that is read in.
    """
    entry = mark_access.purge(body.reference, reason=body.reason)
    return {"reference": entry.reference, "source": entry.source, "commit": entry.commit,
            "blob": entry.blob}
