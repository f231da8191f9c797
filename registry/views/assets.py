"""Scripts and styles that `frontend/` builds: addresses, how long they are kept, compression."""
from __future__ import annotations

import json
from functools import cache
from typing import Any

from flask import Flask, Response, request, url_for
from flask_compress import Compress
from markupsafe import Markup

from registry.config import PACKAGE

FOLDER = "dist"
# The raw log of a task is not here: it is read while it grows, and compression would hold it back.
COMPRESSED = ("text/html", "text/css", "text/javascript", "application/javascript",
              "application/json", "application/atom+xml", "image/svg+xml")
YEAR_S = 365 * 86400


def register(app: Flask) -> None:
    app.config.update(COMPRESS_MIMETYPES=list(COMPRESSED), COMPRESS_ALGORITHM=["br", "gzip"],
                      COMPRESS_ALGORITHM_STREAMING=["br", "gzip"], COMPRESS_BR_LEVEL=6,
                      COMPRESS_MIN_SIZE=860)
    app.add_template_global(style)
    app.add_template_global(script)
    Compress(app)
    app.after_request(_keep)


def style(name: str) -> Markup:
    """The element that loads a built style: `style("site.scss")`."""
    return Markup('<link rel="stylesheet" href="{}">').format(_address(_manifest()[name]["file"]))


def script(name: str) -> Markup:
    """The elements of a built script, of its imports and its style: `script("site.js")`."""
    built = _manifest()[name]
    parts = [Markup('<link rel="modulepreload" href="{}">').format(_address(each))
             for each in built["imports"]]
    if built["style"]:
        parts.append(Markup('<link rel="stylesheet" href="{}">').format(_address(built["style"])))
    parts.append(Markup('<script type="module" src="{}"></script>').format(
        _address(built["file"])))
    return Markup("\n  ").join(parts)


def _address(file: str) -> str:
    return url_for("static", filename=f"{FOLDER}/{file}")


@cache
def _manifest() -> dict[str, Any]:
    return json.loads((PACKAGE / "static" / FOLDER / "manifest.json").read_text("utf-8"))


def _is_built() -> bool:
    return request.endpoint == "static" and request.path.startswith(f"/static/{FOLDER}/")


def _keep(response: Response) -> Response:
    """A built file is named by its content: a browser never needs to ask for it again."""
    if _is_built() and response.status_code == 200:
        response.headers["Cache-Control"] = f"public, max-age={YEAR_S}, immutable"
    return response
