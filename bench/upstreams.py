"""Repositories on the stand-in for GitHub with a made-up history, and syncs of them."""
from __future__ import annotations

import resource
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from bench.components import Generator
from registry import db, memory
from registry.catalog import Catalog
from registry.component import parse
from registry.config import Settings
from registry.github_sync import GitHubSync
from registry.search import SearchIndex
from registry.sources import Sources
from registry.sync import Sync
from tests.fakes.github.history import Commit
from tests.fakes.github.records import Repository, User
from tests.fakes.github.server import GitHubServer

FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a history is; every component has equally many versions."""

    components: int = 1000
    versions: int = 5000
    commits: int = 3000


@dataclass(frozen=True, kw_only=True)
class Synced:
    """One sync of all sources: seconds of reading and recording, of the index, and peak memory.

    `cpu_s` is what reading and recording took of the processor; it and the peak are those of the
    process and of the one that reads ahead for it together.
    """

    read_s: float
    cpu_s: float
    index_s: float
    peak_mb: float
    new: int
    errors: tuple[str, ...]


def history(size: Size) -> tuple[list[Commit], list[str]]:
    """The commits, oldest first, and all texts in them: first components, then their changes."""
    made = Generator(size.components * 5, seed=4).made[:size.components]
    each = size.versions // size.components
    changes = [(one, number) for number in range(each) for one in made]
    ends = [len(changes) * (place + 1) // size.commits for place in range(size.commits)]
    commits, texts, start = [], [], 0
    for place, end in enumerate(ends):
        files: dict[str, str] = {}
        for one, number in changes[start:end]:
            files[one.path] = one.text(number)
            texts.append(files[one.path])
            if number == 0:
                files[one.path.replace("component.yaml", "README.md")] = one.readme
        commits.append(Commit(files=files, message=f"Change {place}",
                              at=FIRST_DAY + timedelta(hours=place)))
        start = end
    return commits, texts


def parse_s(texts: list[str]) -> float:
    """What it takes of the processor to parse them all, once each."""
    begin = time.process_time()
    for text in texts:
        parse(text)
    return time.process_time() - begin


def create_small(github: GitHubServer, owner: User, count: int) -> list[Repository]:
    """So many repositories with one component each."""
    made = Generator(count * 5, seed=5).made[:count]
    return [github.world.create(owner, f"parts-{number}", {one.path: one.text(0)})
            for number, one in enumerate(made)]


def settings(home: Path, url: str) -> Settings:
    return Settings.from_environ({"PAISHARE_HOME": str(home), "PAISHARE_GITHUB_URL": url})


def add_sources(found: Settings, names: dict[str, int]) -> None:
    """Public sources by name and repository's number, as the page adds them."""
    found.home.mkdir(parents=True, exist_ok=True)
    engine = db.create_engine(found.database_url)
    db.upgrade(engine)
    now = datetime.now(UTC).replace(tzinfo=None)
    with engine.begin() as connection:
        connection.execute(db.sources.insert(), [
            {"name": name, "kind": "github", "location": name, "repo_id": number, "commits": 0,
             "is_private": False, "created_at": now, "sync_requested_at": None}
            for name, number in names.items()])
    engine.dispose()


def sync_all(home: Path, url: str) -> Synced:
    """Sync every source once as the sync process does; alone in one, so that its peak is its own.
    """
    memory.prepare()
    found = settings(home, url)
    engine = db.create_engine(found.database_url)
    catalog = Catalog(engine, found.git_dir)
    github = GitHubSync(engine, catalog, found)
    sync = Sync(engine, catalog, SearchIndex(found.search_dir), github)
    watch = Memory()
    begin, cpu = time.perf_counter(), cpu_s()
    reports = github.run(Sources(engine).all())
    read, cpu = time.perf_counter(), cpu_s() - cpu
    sync.index()
    end = time.perf_counter()
    watch.stop()
    engine.dispose()
    return Synced(read_s=read - begin, cpu_s=cpu, index_s=end - read,
                  new=sum(len(each.new) for each in reports),
                  peak_mb=max(watch.peak_mb, used()[0].ru_maxrss / 1024),
                  errors=tuple(each.error for each in reports if each.error))


class Memory(threading.Thread):
    """Looks again and again at how much memory this process and its children hold together."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0
        self._is_over = threading.Event()
        self.start()

    def run(self) -> None:
        own = _text(Path("/proc/self/cmdline"))  # a child that has it too has this one's memory yet
        while not self._is_over.wait(0.02):
            children = [number for task in Path("/proc/self/task").iterdir()
                        for number in _text(task / "children").split()
                        if _text(Path("/proc", number, "cmdline")) != own]
            pages = [_text(Path("/proc", number, "statm")).split() for number in (
                "self", *children)]
            self.peak_mb = max(self.peak_mb, sum(
                int(each[1]) for each in pages if each) * resource.getpagesize() / 2**20)

    def stop(self) -> None:
        self._is_over.set()
        self.join()


def _text(path: Path) -> str:
    """Empty where the process has ended meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""


def used() -> list[resource.struct_rusage]:
    """What this process took, and what its children that have ended did."""
    return [resource.getrusage(which) for which in (
        resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def cpu_s() -> float:
    return sum(each.ru_utime + each.ru_stime for each in used())


def recorded(found: Settings) -> int:
    """How many versions the catalog has."""
    engine = db.create_engine(found.database_url)
    with engine.connect() as connection:
        count = connection.scalar(sa.select(sa.func.count()).select_from(db.versions)) or 0
    engine.dispose()
    return count
