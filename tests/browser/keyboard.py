"""A person who has a keyboard and no mouse: goes by Tab, and must see where the focus is."""
from __future__ import annotations

from typing import Any

# What is wrong with each place that the focus comes to, said once it has come there.
WATCH = """() => {
    window.unseen = [];
    window.stops = 0;
    window.rounds = 0;
    const isMarked = (each) => [null, "::after"].some((part) => {
        const style = getComputedStyle(each, part);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1
            || style.boxShadow !== "none";
    });
    const isUncovered = (each) => {
        const {left, right, top, bottom, width, height} = each.getBoundingClientRect();
        if (!width || !height || bottom < 1 || top > innerHeight - 1) return false;
        const across = [0.1, 0.5, 0.9].map((part) => left + width * part);
        const down = [0.1, 0.5, 0.9].map((part) => Math.max(top, 0)
            + (Math.min(bottom, innerHeight) - Math.max(top, 0)) * part);
        return across.some((x) => down.some((y) => {
            const there = document.elementFromPoint(x, y);
            return there && (each.contains(there) || there.contains(each));
        }));
    };
    addEventListener("focusin", ({target}) => {
        window.stops += 1;
        if (target.matches(".skip")) window.rounds += 1;
        const box = target.closest(".editor") ?? target;
        const say = (why) => window.unseen.push(`${why}: ${target.outerHTML.slice(0, 160)}`);
        if (target.tabIndex > 0) say("out of turn");
        requestAnimationFrame(() => {
            if (document.activeElement !== target) return;
            if (!isMarked(target) && !isMarked(box)) say("not marked");
            if (!isUncovered(target)) say("covered");
        });
    });
}"""
WHERE = """(target) => target === document.activeElement ? "here"
    : document.activeElement?.closest(".cm-editor") ? "in the editor" : "elsewhere"
"""
BATCH = 8
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Keyboard:
    """Presses keys on a page; `reach` goes from stop to stop until the one that is meant."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.press = page.keyboard.press
        self.type = page.keyboard.type
        page.add_init_script(f"({WATCH})()")

    def reach(self, target: Any, *, back: bool = False, most: int = 120) -> None:
        """Press Tab until the focus is on `target`, seen at each stop on the way."""
        target.wait_for()
        for _ in range(most):
            at = target.evaluate(WHERE)
            if at == "here":
                break
            if at == "in the editor":  # which takes Tab for itself until Escape is pressed
                self.press("Escape")
            self.press("Shift+Tab" if back else "Tab")
        else:
            raise AssertionError(f"{target} is not reached by Tab.")
        self.check()

    def button(self, name: str, *, key: str = "Enter") -> None:
        """Go to the button of this name and press it."""
        self.reach(self.page.get_by_role("button", name=name, exact=True).filter(visible=True))
        self.press(key)

    def link(self, name: str) -> None:
        """Go to the link of this name and follow it."""
        self.reach(self.page.get_by_role("link", name=name).first)
        self.press("Enter")

    def walk(self, most: int = 400) -> int:
        """Go through the whole page and begin it again; how many stops there were."""
        for _ in range(most // BATCH):
            for _ in range(BATCH):
                self.press("Tab")
            if self.page.evaluate("window.rounds") > 1:
                break
            if self.page.evaluate(WHERE, None) == "in the editor":
                self.press("Escape")
        else:
            raise AssertionError("The focus does not leave the page.")
        self.check()
        return int(self.page.evaluate("window.stops"))

    def check(self) -> None:
        """The focus was seen wherever it came."""
        self.page.evaluate(NEXT_FRAME)
        found = self.page.evaluate("window.unseen")
        assert not found, (self.page.url, found)
