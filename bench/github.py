"""Sources on GitHub: first sync, polls, webhooks and publishing, before the stand-in for GitHub."""
from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Callable, Iterator

import requests

from bench import upstreams
from bench.table import print_table, save
from bench.upstreams import Size, Synced
from registry import db, home, lock, server
from registry.accounts import Accounts
from registry.config import Settings
from registry.supervisor import Supervisor
from tests.fakes.github.records import Repository, Seen
from tests.fakes.github.server import GitHubServer
from tests.functional.product import free_port
from tests.functional.runner_process import wait_for

PASSWORD = "correct horse battery"
LS_REFS = b"0014command=ls-refs\n00010014ref-prefix HEAD\n0009peel\n0000"
GIT = {"Git-Protocol": "version=2", "Content-Type": "application/x-git-upload-pack-request"}
SCRIPT = """\
type: script
name: {name}
version: 1.{number}.0
contributor: Ann
description: Puts things in order.
uri: https://example.org/{name}.py
"""
HEADINGS = ["what", "measured", "at most", "", "beside it"]
Figures = dict[str, float]


# --- first sync and polls ---------------------------------------------------------------------

def first_sync(size: Size, rounds: int) -> Figures:
    """Cloning and syncing the same repository by turns; each sync in a process and a home anew."""
    commits, texts = upstreams.history(size)
    clones, syncs = [], []
    with stand_in() as (github, folder):
        repository = github.world.create(github.world.add_user("ann"), "generated")
        github.world.commits(repository, commits)
        repository.git.run("gc", "--quiet")
        for number in range(rounds):
            clones.append(clone(github.clone_url(repository), folder / f"clone-{number}"))
            syncs.append(sync_first(github, repository, folder / f"home-{number}", size))
        asked = {"rest": len(github.world.rest()) / rounds, "exchanges": sum(
            each.command != "advertise" for each in github.world.exchanges()) / rounds}
    return {
        "clone_s": statistics.median(wall for wall, _ in clones),
        "clone_cpu_s": statistics.median(cpu for _, cpu in clones),
        "parse_s": upstreams.parse_s(texts),
        "read_s": statistics.median(each.read_s for each in syncs),
        "cpu_s": statistics.median(each.cpu_s for each in syncs),
        "index_s": statistics.median(each.index_s for each in syncs),
        "peak_mb": max(each.peak_mb for each in syncs), **asked}


def clone(url: str, folder: Path) -> tuple[float, float]:
    """Seconds of `git clone --bare`, by the clock and of the processor."""
    begin = time.perf_counter()
    process = subprocess.Popen(["git", "clone", "--quiet", "--bare", url, str(folder)])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime


def sync_first(github: GitHubServer, repository: Repository, folder: Path, size: Size) -> Synced:
    found = upstreams.settings(folder, github.url)
    upstreams.add_sources(found, {repository.full_name: repository.id})
    with alone() as pool:
        synced = pool.submit(upstreams.sync_all, folder, github.url).result()
    assert not synced.errors and upstreams.recorded(found) == size.versions, synced
    return synced


def polls(count: int) -> Figures:
    """Sources that are up to date, looked at once more; and the same requests alone."""
    with stand_in() as (github, folder):
        made = upstreams.create_small(github, github.world.add_user("ann"), count)
        found = upstreams.settings(folder / "home", github.url)
        upstreams.add_sources(found, {each.full_name: each.id for each in made})
        with alone() as pool:
            first = pool.submit(upstreams.sync_all, found.home, github.url).result()
            assert not first.errors and first.new == count, first
            github.world.seen.clear()
            again = pool.submit(upstreams.sync_all, found.home, github.url).result()
        seen = list(github.world.seen)
        assert not again.errors and again.new == 0
        bare_s = ask_all(github, made)
    return {"poll_s": again.read_s + again.index_s, "bare_s": bare_s, "first_s": first.read_s,
            "exchanges": len(seen) / count, "bytes": max(map(bytes_of, seen))}


def bytes_of(seen: Seen) -> int:
    return seen.received + seen.size


def ask_all(github: GitHubServer, made: list[Repository]) -> float:
    """Where each repository is, asked eight at once by a client that does nothing else."""
    session = requests.Session()

    def ask(repository: Repository) -> None:
        session.post(f"{github.clone_url(repository)}/git-upload-pack", data=LS_REFS, timeout=60,
                     headers=GIT).raise_for_status()
    begin = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, made))
    return time.perf_counter() - begin


@contextlib.contextmanager
def stand_in() -> Iterator[tuple[GitHubServer, Path]]:
    with tempfile.TemporaryDirectory() as name:
        github = GitHubServer(Path(name) / "github")
        try:
            yield github, Path(name)
        finally:
            github.close()


def alone() -> ProcessPoolExecutor:
    """One process of its own, so that its memory is that of what it does."""
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


# --- the product --------------------------------------------------------------------------------

class Registry:
    """The product's processes web, sync and github, and the API as one user of it."""

    def __init__(self, found: Settings) -> None:
        self._url = f"{server.address(found)}/api/v3"
        self._http = requests.Session()

    def is_up(self) -> bool:
        try:
            return bool(self._http.get(f"{self._url}/openapi.json", timeout=5).ok)
        except requests.RequestException:
            return False

    def log_in(self, name: str, token: str) -> None:
        """As a user who connects GitHub with the token."""
        found = self.ask("POST", "/token", username=name, password=PASSWORD)
        self._http.headers["Authorization"] = f"Bearer {found['token']}"
        self.ask("PUT", "/user/github", token=token)

    def ask(self, method: str, path: str, **body: Any) -> Any:
        answer = self._http.request(method, self._url + path, json=body or None, timeout=60)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def version_of(self, name: str) -> str:
        """As search shows it now; empty where it finds nothing."""
        hits = self.ask("GET", f"/components?q={name}")["components"]
        return next((hit["version"] for hit in hits if hit["name"] == name), "")


@contextlib.contextmanager
def product(github: GitHubServer, folder: Path) -> Iterator[Registry]:
    """Serves a home of its own, with the user ann, until the end."""
    found = replace(upstreams.settings(folder / "home", github.url), port=free_port())
    home.make(found.home)
    home.prepare(found)
    engine = db.create_engine(found.database_url)
    Accounts(engine).create_user("ann", PASSWORD)
    engine.dispose()
    with lock.held(found, server.address(found)) as held, \
            server.listening(found) as listener:
        programs = [replace(each, environ={**each.environ, "PAISHARE_GITHUB_URL": github.url})
                    for each in server.programs(found, listener.fileno(), held.fd)
                    if each.name in ("web", "sync", "github")]
        with Supervisor(programs, say=print):
            registry = Registry(found)
            wait_for(registry.is_up, "web answers", 60)
            yield registry


def pushes(count: int) -> Figures:
    """From a push, its webhook included, until search shows the new version."""
    times = []
    with stand_in() as (github, folder), product(github, folder) as registry:
        ann = github.world.add_user("ann")
        repository = github.world.create(ann, "parts", {"script/tidy.yaml": tidy(0)})
        registry.log_in("ann", github.world.classic_token(ann, "repo", "admin:repo_hook").value)
        source = registry.ask("POST", "/sources", location="ann/parts")["name"]
        hook = registry.ask("GET", f"/sources/{source}/webhook")
        github.world.add_hook(repository, hook["url"], hook["secret"])
        wait_for(lambda: registry.version_of("tidy") == "1.0.0", "the first sync", 60)
        for number in range(1, count + 1):
            begin = time.perf_counter()
            github.world.commit(repository, {"script/tidy.yaml": tidy(number)})
            assert github.hooks.deliveries[-1].status == 202
            wait_for(shows(registry, f"1.{number}.0"), "the push is searchable", 60)
            times.append(time.perf_counter() - begin)
    return {"p50_s": statistics.median(times), "p95_s": p95(times), "max_s": max(times)}


def tidy(number: int, name: str = "tidy") -> str:
    return SCRIPT.format(name=name, number=number)


def shows(registry: Registry, version: str) -> Callable[[], bool]:
    return lambda: registry.version_of("tidy") == version


def publishing(count: int) -> Figures:
    """From the click that confirms a preview until the pull request is open."""
    times, asked = [], []
    with stand_in() as (github, folder), product(github, folder) as registry:
        ann, bob = (github.world.add_user(name) for name in ("ann", "bob"))
        for number in range(count):
            github.world.create(bob, f"parts-{number}", {"script/tidy.yaml": tidy(0)})
        registry.log_in("ann", github.world.classic_token(ann, "public_repo").value)
        for number in range(count):
            draft = registry.ask("POST", "/publications", yaml=tidy(0, "neat"),
                                 repository=f"bob/parts-{number}")
            github.world.seen.clear()
            begin = time.perf_counter()
            registry.ask("POST", f"/publications/{draft['id']}/confirm", seen=draft["seen"])
            wait_for(lambda: len(github.world.pulls) > number, "the pull request is open", 60)
            times.append(time.perf_counter() - begin)
            asked.append([f"{each.method} {each.path}" for each in github.world.rest()
                          if f"/parts-{number}" in each.path])
    print("\n".join(["The requests of one publication:", *asked[0]]))
    return {"p50_s": statistics.median(times), "max_s": max(times),
            "requests": max(map(len, asked))}


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[18] if len(times) > 1 else times[0]


# --- all of it ----------------------------------------------------------------------------------

def sync_rows(sync: Figures) -> list[list[str]]:
    """What was promised of a first sync, what was measured, and whether it holds."""
    return [
        row("first sync, s", sync["read_s"], 3 * sync["clone_s"] + sync["parse_s"],
            "clone {clone_s:.2f}, parse {parse_s:.2f}; then index {index_s:.2f}".format(**sync)),
        row("of the processor, s", sync["cpu_s"], 3 * sync["clone_cpu_s"] + sync["parse_s"],
            "clone {clone_cpu_s:.2f}, parse {parse_s:.2f}".format(**sync)),
        row("its peak memory, MB", sync["peak_mb"], 300, "of both its processes, index included"),
        row("its REST requests", sync["rest"], 0, f"{sync['exchanges']:.0f} exchanges of Git")]


def later_rows(poll: Figures, push: Figures, publish: Figures) -> list[list[str]]:
    """The same of all that comes after it."""
    return [
        row("no-change poll of all, s", poll["poll_s"], 10,
            f"the bare requests {poll['bare_s']:.2f}"),
        row("most bytes of one", poll["bytes"], 1024, f"{poll['exchanges']:.0f} exchange each"),
        row("push to searchable, p95 s", push["p95_s"], 3,
            f"p50 {push['p50_s']:.2f}, most {push['max_s']:.2f}"),
        row("click to pull request, s", publish["max_s"], 3, f"p50 {publish['p50_s']:.2f}"),
        row("its requests", publish["requests"], 8, "")]


def row(what: str, figure: float, target: float, note: str) -> list[str]:
    return [what, f"{figure:.4g}", f"{target:.4g}", "met" if figure <= target else "MISSED", note]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--versions", type=int, default=5000)
    parser.add_argument("--commits", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=2, help="of cloning and syncing")
    parser.add_argument("--first-sync", action="store_true", help="only that, and save nothing")
    parser.add_argument("--sources", type=int, default=500, help="that are polled")
    parser.add_argument("--pushes", type=int, default=20)
    parser.add_argument("--publications", type=int, default=5)
    options = parser.parse_args()
    size = Size(components=options.components, versions=options.versions, commits=options.commits)
    sync = first_sync(size, options.rounds)
    print_table("First sync", HEADINGS, sync_rows(sync))
    if options.first_sync:
        return
    later = {"poll": polls(options.sources), "push": pushes(options.pushes),
             "publish": publishing(options.publications)}
    print_table("Sources on GitHub", HEADINGS, later_rows(**later))
    save("github", {"sync": sync, **later})


if __name__ == "__main__":
    main()
