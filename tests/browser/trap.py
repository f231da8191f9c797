"""A page in which nothing that others wrote may run, ask, lead away or become an element."""
from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

FOREIGN = """(root) => {
    const page = root ?? document;
    const odd = "iframe frame frameset object embed base portal marquee animate set math xss xmp"
        + " foreignobject annotation-xml listing audio video applet image noembed template";
    const leads = new RegExp("^(href|src|action|formaction|data|poster|background|xlink:href"
        + "|(data-)?hx-(get|post|put|patch|delete))$");
    const acts = /^(on|(data-)?hx-(on|vals|ws|sse|ext))|^srcdoc$|^_$|[^\\w:.@-]/i;
    const found = Object.keys(Object.prototype).map((each) => `Object.prototype.${each}`);
    const ids = new Set();
    for (const each of page.querySelectorAll("*")) {
        const say = (why) => found.push(`${why}: ${each.outerHTML.slice(0, 200)}`);
        const name = each.localName;
        if (odd.split(" ").includes(name) || each.hasAttribute("http-equiv")) say("element");
        if (name === "script" && !each.src && each.type !== "application/json") say("script");
        if (name === "style" && !each.nonce) say("style");
        if (each.id && ids.has(each.id)) say("id twice");
        ids.add(each.id);
        for (const {name: key, value} of each.attributes) {
            if (acts.test(key)) say(key);
            if (!leads.test(key) || !URL.canParse(value, "http://this.test/")) continue;
            const {protocol, host, pathname} = new URL(value, "http://this.test/");
            const isOurs = host === "this.test" || host === location.host;
            const isDrawn = each.rel === "icon" && value.startsWith("data:image/svg+xml,");
            if (!["http:", "https:", "mailto:"].includes(protocol) && !isDrawn) say("protocol");
            if (key !== "href" && !isOurs) say("elsewhere");
            if (isOurs && pathname.startsWith("/canary")) say("canary");
        }
    }
    if (page.title && page.getElementById("main")?.localName !== "main") found.push("no main");
    return found;
}"""


class Trap:
    """Records what a page did: payloads that ran, requests, and pages that it went to."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.ran: list[str] = []
        page.context.expose_binding("ran", lambda _, number=None: self.ran.append(str(number)))
        page.context.on("request", self._on_request)
        page.context.on("page", lambda other: self.ran.append(f"opened {other.url}"))

    def visit(self, path: str, status: int = 200) -> None:
        """Open the page, and see that it is still the one afterwards."""
        answer = self.page.goto(path)
        assert answer.status == status, (path, answer.status)
        self.check(path)
        assert self.page.url == answer.url, path

    def check(self, place: str) -> None:
        """Nothing has happened up to now in the page that is open."""
        found = self.page.evaluate(FOREIGN)
        assert not found, (place, found[:5])
        assert not self.ran, (place, self.ran)
        assert len(self.page.frames) == 1, place

    def _on_request(self, request: Any) -> None:
        url = urlsplit(request.url)
        if url.hostname == "canary.test" or url.path.startswith("/canary"):
            self.ran.append(f"asked {request.url}")
