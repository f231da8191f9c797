"""The pages that everybody meets, what to measure on them, and their first keys."""
PAGES = ["/", "/?q=hello", "/?q=nothing-like-it", "/c/job/hello", "/c/data/points",
         "/c/job/hostile", "/use/job/hello?param.epochs=x", "/submit", "/jobs", "/sources",
         "/publish", "/publish/new?type=data",
         "/settings/profile", "/settings/github", "/settings/tokens", "/settings/registries",
         "/settings/appearance", "/settings/notifications", "/machine", "/api/docs",
         "/admin/sources", "/admin/users", "/admin/limits", "/admin/system",
         "/compare", "/compare?a=hello@1.0.0&b=hello",
         "/changelog?of=job/hello", "/changelog?of=job/hostile", "/used-by?of=data/points"]
SMALL_TARGETS = """() => [...document.querySelectorAll("a, button, input, select, summary")]
    .filter((each) => each.checkVisibility({visibilityProperty: true}) && each.type !== "hidden"
            && !each.matches(".unseen, .visually-hidden") && !each.classList.contains("skip"))
    .filter((each) => !each.parentElement.matches("p, dd, small, li, td, span, strong, h3"))
    .map((each) => [each.outerHTML.slice(0, 90), each.getBoundingClientRect()])
    .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"""
UNNAMED = """() => [...document.querySelectorAll("input, select, textarea")]
    .filter((each) => each.type !== "hidden" && !each.labels.length && !each.ariaLabel)
    .map((each) => each.outerHTML)"""
CONTRAST = """() => {
    const light = (text) => {
        const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
        const part = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        return [0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b), a];
    };
    const ground = (each) => {
        for (; each; each = each.parentElement) {
            const style = getComputedStyle(each);
            const colour = style.backgroundColor;
            if (style.backgroundImage !== "none" || colour.startsWith("color")) return null;
            const [value, alpha] = light(colour);
            if (alpha === 1) return value;
        }
        return null;
    };
    const low = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const each = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !each.checkVisibility()) continue;
        const behind = ground(each);
        if (behind === null) continue;
        const [text] = light(getComputedStyle(each).color);
        const ratio = (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
        if (ratio < 4.5) low.add(`${ratio.toFixed(1)} ${each.outerHTML.slice(0, 80)}`);
    }
    return [...low];
}"""


def test_the_first_stop_of_the_keyboard_leads_to_the_content(page):
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_slash_goes_to_the_search_but_not_while_one_writes(page):
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("a/b")
    assert page.get_by_label("Search the marketplace").input_value() == "a/b"


def test_the_text_of_a_component_is_copied_as_it_is(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto("/c/data/points")
    page.get_by_role("button", name="Copy the YAML").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("type: data\nname: points\n") and copied.endswith("points.csv\n")


def test_no_tab_lies_over_another_on_a_phone_and_the_chosen_one_is_in_sight(site, open_page):
    page = open_page("ann", viewport={"width": 360, "height": 740})
    page.context.add_cookies([{"name": "language", "value": "zh", "url": site.url}])
    page.goto("/settings/notifications")
    assert page.locator("html").get_attribute("lang").startswith("zh")
    tabs = page.locator(".nav-underline > *").evaluate_all(
        "tabs => tabs.map(tab => [tab.scrollWidth - tab.clientWidth, "
        "tab.getBoundingClientRect().right])")
    assert len(tabs) == 6 and all(over <= 0 for over, _ in tabs)
    assert tabs[-1][1] <= 360
