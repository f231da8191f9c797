"""axe-core finds nothing: each page, both languages, light and dark, wide and narrow."""
import pytest

from tests.browser.conftest import PHONE
from tests.browser.test_layout import PAGES
from tests.frontend import installed

WIDE = {"width": 1280, "height": 900}
RULES = """() => new Promise(requestAnimationFrame).then(() => axe.run(document, {
    runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
                                    "best-practice"]},
    rules: {"target-size": {enabled: true}}, resultTypes: ["violations"]})
    .then(({violations}) => violations.flatMap((each) => each.nodes.map(
        (node) => `${each.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`))))"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    folder = installed(tmp_path_factory.mktemp("axe"))
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_page_keeps_anybody_out(open_page, axe, language):
    page = open_page("admin", reduced_motion="reduce")
    page.context.add_cookies([{"name": "language", "value": language,
                               "url": page.url.partition("/c")[0]}])
    found = []
    for path in PAGES:
        page.goto(path)
        page.evaluate(axe)
        for scheme in ("light", "dark"):
            for size in (WIDE, PHONE):
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size(size)
                found += [f"{path} {scheme} {size['width']}: {each}"
                          for each in page.evaluate(RULES)]
    assert not found, "\n".join(found)
