"""What every response carries: headers that keep a browser safe, and the request's number."""
from __future__ import annotations

import secrets

from flask import Flask, Response, g, request
from flask.sessions import SecureCookieSessionInterface, SessionMixin

PAGE_POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
    "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"))
FILE_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
# A script or style makes no document of its own; a page asks for several, and bytes add up.
PART_TYPES = ("text/css", "text/javascript")
PART_HEADERS = ("X-Content-Type-Options", "Cross-Origin-Resource-Policy")


class SessionCookies(SecureCookieSessionInterface):
    """The cookie is marked Secure exactly where the request came over https.

    It holds the whole session, so the answer that comes last says what is in it. What a script
    asked may be answered after a form that was sent later, and would bring back the cookie from
    before, without the message that the form has left: only pages prolong a session.
    """

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure

    def should_set_cookie(self, app: Flask, session: SessionMixin) -> bool:
        is_page = request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        return session.modified or (session.permanent and is_page)


def register(app: Flask) -> None:
    app.session_interface = SessionCookies()
    app.add_template_global(style_nonce)

    @app.before_request
    def number_request() -> None:
        g.request_id = secrets.token_hex(8)

    @app.after_request
    def add_headers(response: Response) -> Response:
        for name in PART_HEADERS if response.mimetype in PART_TYPES else HEADERS:
            response.headers.setdefault(name, HEADERS[name])
        if "style_nonce" in g:
            response.headers["Content-Security-Policy"] = PAGE_POLICY.replace(
                "style-src 'self'", f"style-src 'self' 'nonce-{g.style_nonce}'")
        response.headers["X-Request-Id"] = g.get("request_id", "")
        if request.endpoint != "static":
            response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


def style_nonce() -> str:
    """What a style element of this response must carry: for the editor, which writes its own."""
    if "style_nonce" not in g:
        g.style_nonce = secrets.token_urlsafe(16)
    return g.style_nonce


def as_file(response: Response) -> Response:
    """Mark what a job wrote: whatever it is, it runs nothing on our pages."""
    response.headers["Content-Security-Policy"] = FILE_POLICY
    return response
