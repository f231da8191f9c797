"""Searches over HTTP, with one client and with four, while a sync writes and while none does."""
from __future__ import annotations

import argparse
import contextlib
import http.client
import random
import statistics
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Callable, Iterator
from urllib.parse import quote, urlsplit

import psutil
import sqlalchemy as sa

from bench import words
from bench.components import Generator, Made
from bench.table import print_table, save
from registry import db, home, lock, server
from registry.catalog import Catalog
from registry.config import Settings
from registry.search import SearchIndex
from registry.sources import Sources
from registry.supervisor import Program, Supervisor
from registry.sync import Sync
from tests.functional.product import free_port
from tests.functional.runner_process import wait_for

VERSIONS, WORKERS, SECONDS = 10_000, 2, 12.0
WRITE_EVERY_S, WRITTEN = 1.0, 5
PATHS = ("/api/v3/components?q={}", "/?q={}", "/api/v3/complete?q={}")
TARGET_MS = {10_000: 20.0, 100_000: 40.0}  # p95 of 100 requests a second by four clients
PACE = 25.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """Clients that each ask every `each_s`; None: as soon as the last question is answered."""

    clients: int
    each_s: float | None = None

    def __str__(self) -> str:
        pace = f", {self.clients / self.each_s:.0f}/s" if self.each_s else ""
        return f"{self.clients} client{'s' * (self.clients > 1)}{pace}"


LOADS = (Load(clients=1), Load(clients=4), Load(clients=4, each_s=1 / PACE))


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What one load was told: milliseconds of each answer, and what was no answer."""

    times: list[float]
    errors: list[str]
    seconds: float


# --- the server and what writes -------------------------------------------------------------

@contextlib.contextmanager
def served(folder: Path, generator: Generator) -> Iterator[Settings]:
    """The product's own processes web and sync, over one large Git repository, in two workers."""
    generator.write_repository(folder / "generated.git")
    settings = replace(Settings.from_environ({"PAISHARE_HOME": str(folder / "home")}),
                       port=free_port())
    home.make(settings.home)
    home.prepare(settings)
    sync_once(settings, folder / "generated.git")
    with lock.held(settings, server.address(settings)) as held, \
            server.listening(settings) as listener:
        programs = server.programs(settings, listener.fileno(), held.fd)
        chosen = [_with_workers(each) for each in programs if each.name in ("web", "sync")]
        with Supervisor(chosen, say=print):
            wait_for(lambda: is_up(settings), "web answers", 60)
            yield settings


def sync_once(settings: Settings, repository: Path) -> None:
    engine = db.create_engine(settings.database_url)
    catalog = Catalog(engine, settings.git_dir)
    Sources(engine).add_folder(str(repository), name="generated", owner_id=None)
    Sync(engine, catalog, SearchIndex(settings.search_dir)).run_once()
    engine.dispose()


def _with_workers(program: Program) -> Program:
    """As the product starts it, but with two web workers and a look at every source each second."""
    argv = list(program.argv)
    if "--workers" in argv:
        argv[argv.index("--workers") + 1] = str(WORKERS)
    return replace(program, argv=argv, environ={
        **program.environ, "PAISHARE_SYNC_INTERVAL_S": str(WRITE_EVERY_S)})


def is_up(settings: Settings) -> bool:
    try:
        return fetch(http.client.HTTPConnection(settings.host, settings.port), PATHS[0]) == ""
    except OSError:
        return False


class Writer(threading.Thread):
    """Commits new versions of a few components about once a second, until told to stop."""

    def __init__(self, repository: Path, generator: Generator) -> None:
        super().__init__()
        self.repository, self.generator = repository, generator
        self.commits = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        choose = random.Random(4).sample
        while not self.stopping.wait(WRITE_EVERY_S):
            self.commits += 1
            changed = [replace(made, versions=made.versions + 1)
                       for made in choose(self.generator.made, WRITTEN)]
            stream = "".join([
                f"commit refs/heads/main\ncommitter A <a@b> {int(time.time())} +0000\n"
                "data 1\nx\nfrom refs/heads/main^0\n", *(self._file(made) for made in changed)])
            subprocess.run(["git", "-C", str(self.repository), "fast-import", "--quiet"],
                           input=stream.encode(), check=True)

    def _file(self, made: Made) -> str:
        text = made.text(0).replace('version: "1.0.0"', f'version: "3.{self.commits}.0"')
        return f"M 100644 inline {made.path}\ndata {len(text.encode())}\n{text}\n"


# --- the clients ----------------------------------------------------------------------------

def ask(address: tuple[str, int], number: int, seconds: float, each_s: float | None) -> Answers:
    """One client: the pages and routes of search by turns, with queries of all sorts."""
    choose = random.Random(number).choice
    connection = http.client.HTTPConnection(*address, timeout=30)
    times, errors = [], []
    begin = time.perf_counter()
    while (now := time.perf_counter()) < begin + seconds:
        path = PATHS[len(times) % len(PATHS)].format(quote(_query(choose)))
        error = fetch(connection, path)
        times.append((time.perf_counter() - now) * 1000)
        errors += [error] if error else []
        if each_s:
            time.sleep(max(0.0, begin + len(times) * each_s - time.perf_counter()))
    connection.close()
    return Answers(times=times, errors=errors, seconds=time.perf_counter() - begin)


def _query(choose: Callable[[Any], Any]) -> str:
    framework, task, dataset = (choose(each).word for each in (
        words.FRAMEWORKS, words.TASKS, words.DATASETS))
    return choose((framework, f"{framework} {task}", f"{framework} {dataset[:3]}",
                   f"{dataset} type:job", f"how to do {task} on {dataset}"))


def fetch(connection: http.client.HTTPConnection, path: str) -> str:
    """Ask, and read all of the answer; what is wrong with it, or nothing."""
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return f"{path}: {error!r}"
    if answer.status != 200:
        return f"{path}: {answer.status}"
    return f"{path}: not ready" if b'"is_ready":false' in body else ""


def load(settings: Settings, wanted: Load, seconds: float) -> Answers:
    address = urlsplit(server.address(settings))
    with ProcessPoolExecutor(wanted.clients, mp_context=get_context("spawn")) as pool:
        list(pool.map(abs, range(wanted.clients)))  # all of them are started
        given = [pool.submit(ask, (address.hostname, address.port), number, seconds,
                             wanted.each_s) for number in range(wanted.clients)]
        answers = [each.result() for each in given]
    return Answers(times=[ms for each in answers for ms in each.times],
                   errors=[error for each in answers for error in each.errors],
                   seconds=max(each.seconds for each in answers))


# --- all of it ------------------------------------------------------------------------------

def measure(versions: int, seconds: float) -> dict[str, dict[str, float]]:
    """Every load, quiet and while versions are written."""
    found: dict[str, dict[str, float]] = {}
    generator = Generator(versions)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder, generator) as settings:
            load(settings, LOADS[0], seconds / 4)
            for what in ("quiet", "writing"):
                for wanted in LOADS:
                    with writing(folder, generator, what == "writing") as writer:
                        before = recorded(settings)
                        answers = load(settings, wanted, seconds)
                        new = recorded(settings) - before
                    found[f"{wanted}, {what}"] = {
                        **figures(answers), "commits": writer.commits if writer else 0,
                        "versions": new}
            found["memory"] = {"web worker, MB": worker_mb()}
    return found


@contextlib.contextmanager
def writing(folder: Path, generator: Generator, is_wanted: bool) -> Iterator[Writer | None]:
    if not is_wanted:
        yield None
        return
    writer = Writer(folder / "generated.git", generator)
    writer.start()
    try:
        yield writer
    finally:
        writer.stopping.set()
        writer.join()


def recorded(settings: Settings) -> int:
    """How many versions the catalog has: the proof that the sync really wrote."""
    engine = db.create_engine(settings.database_url)
    with engine.connect() as connection:
        count = connection.scalar(sa.select(sa.func.count()).select_from(db.versions)) or 0
    engine.dispose()
    return count


def worker_mb() -> float:
    """The largest process of the web server."""
    below = psutil.Process().children(recursive=True)
    return max(each.memory_info().rss for each in below
               if "gunicorn" in " ".join(each.cmdline())) / 2**20


def figures(answers: Answers) -> dict[str, float]:
    cuts = statistics.quantiles(answers.times, n=100)
    for error in answers.errors[:5]:
        print(f"ERROR {error}")
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "errors": len(answers.errors),
            "per_s": len(answers.times) / answers.seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=VERSIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each load")
    options = parser.parse_args()
    found = measure(options.versions, options.seconds)
    rows = []
    for wanted in LOADS:
        quiet = found[f"{wanted}, quiet"]
        for what in ("quiet", "writing"):
            each = found[f"{wanted}, {what}"]
            rows.append([str(wanted), what, *(f"{each[name]:.1f}" for name in (
                "p50", "p95", "p99", "per_s")), f"{each['errors']:.0f}", f"{each['versions']:.0f}",
                f"{each['p95'] / quiet['p95']:.2f}"])
    print_table(f"Searches over HTTP, {options.versions} versions, {WORKERS} web workers, ms",
                ["load", "sync", "p50", "p95", "p99", "per s", "errors", "new versions",
                 "p95 / quiet"], rows)
    paced, most = found[f"{LOADS[2]}, writing"], TARGET_MS.get(options.versions)
    if most:
        print(f"p95 at 100 a second while writing: {paced['p95']:.1f} ms (target {most:g} ms: "
              f"{'met' if paced['p95'] <= most else 'MISSED'}); a web worker holds "
              f"{found['memory']['web worker, MB']:.0f} MB.")
    save(f"traffic-{options.versions}", found)


if __name__ == "__main__":
    main()
