"""Pictures of the pages as they are, from the whole product with jobs that ran: docs/images/*.png.

    python tools/screenshots.py [FOLDER]        after `python -m runner build-image`
"""
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from tests.browser.conftest import CHROMIUM  # noqa: E402
from tests.functional.product import Product  # noqa: E402

WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 360, "height": 740}
# Name, address, how it is looked at; {first}, {done} and {running} are jobs.
SHOTS = (("home", "/", {}), ("home-dark-zh", "/", {"color_scheme": "dark", "locale": "zh-CN"}),
         ("home-phone", "/", {"viewport": PHONE}),
         ("component", "/c/job/digits_classifier", {}),
         ("compare", "/jobs/compare/{first}...{done}", {}),
         ("submit", "/use/job/digits_classifier", {}),
         ("submit-dark-zh", "/use/job/digits_classifier",
          {"color_scheme": "dark", "locale": "zh-CN"}),
         ("jobs", "/jobs", {}), ("job", "/jobs/{done}", {}),
         ("job-dark-zh", "/jobs/{done}", {"color_scheme": "dark", "locale": "zh-CN"}),
         ("job-phone", "/jobs/{running}", {"viewport": PHONE}),
         ("publish", "/publish/new?type=data", {}), ("machine", "/machine", {}),
         ("settings", "/settings/appearance", {}), ("admin", "/admin/system", {}),
         ("api", "/api/docs", {}))


def jobs(product: Product) -> dict[str, str]:
    """Two of one template that succeeded, one that is served, and another for the list."""
    wanted = {"first": ("digits_classifier", {"epochs": 5}),
              "done": ("digits_classifier", {"epochs": 30}), "other": ("distributed_digits", {}),
              "running": ("digits_service", {})}
    started = {key: product.post("/jobs", reference=f"job/{name}", parameters=chosen)["id"]
               for key, (name, chosen) in wanted.items()}
    for key in ("first", "done", "other"):
        product.wait(started[key])
    product.wait(started["running"], "RUNNING")
    return started


def take(browser: Browser, product: Product, shown: dict[str, str], folder: Path) -> None:
    for name, path, looks in SHOTS:
        context = browser.new_context(base_url=product.url,
                                      **{"viewport": WIDE, "locale": "en-GB", **looks})
        page = context.new_page()
        log_in(page, product.password)
        page.goto(path.format(**shown))
        page.wait_for_timeout(1500)  # the editor, charts and lines of a log come by themselves
        picture = folder / f"{name}.png"
        page.screenshot(path=picture)
        with Image.open(picture) as taken:  # 256 colours: a third of the bytes, and looks the same
            taken.convert("RGB").quantize(dither=Image.Dither.NONE).save(picture, optimize=True)
        print(picture)
        context.close()


def log_in(page: Page, password: str) -> None:
    page.goto("/login")
    page.locator("[name=username]").fill("admin")
    page.locator("[name=password]").fill(password)
    page.locator("[name=password]").press("Enter")
    page.locator("#me").wait_for()


def main() -> None:
    folder = Path(sys.argv[1] if sys.argv[1:] else ROOT / "docs" / "images")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        product = Product(Path(temporary) / "home")
        try:
            product.start()
            product.wait_for_component("job/digits_classifier")
            take(browser, product, jobs(product), folder)
        finally:
            product.close()
            browser.close()


if __name__ == "__main__":
    main()
