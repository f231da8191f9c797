"""The badge "Run on PAIShare": its picture, and what an author puts into a README."""
from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, url_for
from flask.typing import ResponseReturnValue

from registry.views.addresses import address_of

# The same for every component, so that whoever fetches it learns nothing of any.
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="122" height="20" role="img" '
    'aria-label="Run on PAIShare"><rect width="122" height="20" rx="4" fill="#1b2330"/>'
    '<path d="M46 0h72a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H46Z" fill="#1d57c2"/>'
    '<path d="M9 5.500v9l7-4.500Z" fill="#fff"/><g fill="#fff" font-size="11" '
    'font-family="Verdana,DejaVu Sans,sans-serif"><text x="19" y="14">Run</text>'
    '<text x="53" y="14">PAIShare</text></g></svg>')
DAY_S = 86400

blueprint = Blueprint("badges", __name__)


@blueprint.get("/badge.svg")
def picture() -> ResponseReturnValue:
    """Pages elsewhere show it, so they may fetch it."""
    return Response(PICTURE, mimetype="image/svg+xml", headers={
        "Cache-Control": f"public, max-age={DAY_S}",
        "Cross-Origin-Resource-Policy": "cross-origin"})


def badge_of(page: str, use: str) -> dict[str, Any]:
    """What the page of a component offers: addresses, and the badge in three forms.

    `page` and `use` are whole addresses: of this version, and of the way to run it.
    """
    image, alt = address_of("badges.picture"), "Run on PAIShare"
    return {"page": page, "image": url_for("badges.picture"), "texts": {
        "Markdown": f"[![{alt}]({image})]({use})",
        "HTML": f'<a href="{use}"><img src="{image}" alt="{alt}"></a>',
        "reStructuredText": f".. image:: {image}\n   :target: {use}\n   :alt: {alt}"}}
