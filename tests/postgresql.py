"""A real PostgreSQL server for the tests: Debian's package, a folder and a socket of its own."""
from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from registry import db

USER = "postgres"
PASSWORD = "hünter/2@#%"
READY_S = 60.0
OLDEST = 15  # the first whose locales can be ICU's, which are there on every machine
MISSING = (f"PostgreSQL {OLDEST} or newer is missing: `tools/setup.sh postgres` installs what the "
           "distribution has, as root")
# Durability and background work are of no use to a server that lives as long as the tests.
OPTIONS = {"listen_addresses": "", "fsync": "off", "synchronous_commit": "off",
           "full_page_writes": "off", "autovacuum": "off", "wal_level": "minimal",
           "max_wal_senders": "0", "shared_buffers": "32MB", "logging_collector": "off"}


def programs() -> Path | None:
    """The folder of the newest server that is installed; None: there is none."""
    found = {float(path.name): path / "bin" for path in Path("/usr/lib/postgresql").glob("*")
             if (path / "bin" / "initdb").exists() and float(path.name) >= OLDEST}
    on_path = shutil.which("initdb")
    if found or not on_path:
        return found[max(found)] if found else None
    return Path(on_path).resolve().parent


class Server:
    """One server; its locale orders text by language, as that of most servers does."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._numbers = itertools.count(1)
        self._user = USER if os.geteuid() == 0 else None  # the server refuses to run as root
        self.folder = Path(tempfile.mkdtemp(prefix="paishare-pg-", dir="/tmp"))
        self.log = self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Until it answers and holds a database with all tables, which new ones are copies of."""
        (self.folder / "password").write_text(PASSWORD)
        if self._user:
            for path in (self.folder, self.folder / "password"):
                shutil.chown(path, self._user)
        subprocess.run(
            [self._programs / "initdb", "-D", self.folder / "data", "-U", USER, "-A",
             "scram-sha-256", "--pwfile", self.folder / "password", "--no-sync", "-E", "UTF8",
             "--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en"],
            check=True, user=self._user, cwd=self.folder, stdout=subprocess.DEVNULL)
        self.resume()
        engine = db.create_engine(self.new_database("whole", "template1"))
        db.upgrade(engine)
        engine.dispose()

    def resume(self) -> None:
        """Until it answers. It ends with us, even when we are killed."""
        user = ["--reuid", self._user, "--regid", self._user, "--init-groups"] if self._user else []
        options = [part for name, value in OPTIONS.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "QUIT", *user, self._programs / "postgres", "-D",
                 self.folder / "data", "-k", self.folder, *options],
                stdout=log, stderr=log, cwd=self.folder)
        self._admin = sa.create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT",
                                       poolclass=sa.NullPool)
        give_up_at = time.monotonic() + READY_S
        while not self._answers():
            assert self.process.poll() is None and time.monotonic() < give_up_at, \
                self.log.read_text()
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with self._admin.connect():
                return True
        except sa.exc.OperationalError:
            return False

    def url(self, database: str, password: str = PASSWORD) -> str:
        return (f"postgresql+psycopg://{USER}:{quote(password, safe='')}@/{database}"
                f"?host={self.folder}")

    def new_database(self, name: str = "", template: str = "whole") -> str:
        """The URL of a new database with all tables; of an empty one by `template1`."""
        name = name or f"registry{next(self._numbers)}"
        self._say(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        return self.url(name)

    def drop(self, url: str) -> None:
        self._say(f"DROP DATABASE {sa.make_url(url).database} WITH (FORCE)")

    def _say(self, sentence: str) -> None:
        with self._admin.connect() as connection:
            connection.execute(sa.text(sentence))

    def pause(self) -> None:
        """Go away, with every connection; the data stay for `resume`."""
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(READY_S)

    def stop(self) -> None:
        self.pause()
        shutil.rmtree(self.folder)


class Databases:
    """New databases with all tables; `server` None: SQLite's files below `folder`."""

    def __init__(self, folder: Path, server: Server | None) -> None:
        self._folder, self._server = folder, server
        self._numbers = itertools.count(1)
        self._made: list[str] = []

    def new(self) -> str:
        """The URL of a new database."""
        if self._server is None:
            path = self._folder / f"registry{next(self._numbers)}.db"
            shutil.copy(self._whole(), path)
            return f"sqlite:///{path}"
        self._made.append(self._server.new_database())
        return self._made[-1]

    def _whole(self) -> Path:
        """A file with all tables, made once."""
        path = self._folder / "whole.db"
        if not path.exists():
            engine = db.create_engine(f"sqlite:///{path}")
            db.upgrade(engine)
            engine.dispose()
        return path

    def drop(self, url: str) -> None:
        """Make room; of SQLite's files pytest keeps the last ones."""
        if self._server:
            self._server.drop(url)
            self._made.remove(url)

    def drop_all(self) -> None:
        for url in list(self._made):
            self.drop(url)


@pytest.fixture(scope="session")
def postgresql():
    """A server for as long as the tests run; without PostgreSQL they are skipped."""
    found = programs()
    if found is None:
        pytest.skip(MISSING)
    server = Server(found)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def databases(request, tmp_path_factory):
    """Every test that asks for it runs on SQLite and on PostgreSQL."""
    is_file = request.param == "sqlite"
    made = Databases(tmp_path_factory.mktemp("databases"),
                     None if is_file else request.getfixturevalue("postgresql"))
    yield made
    made.drop_all()


@pytest.fixture
def database_url(databases):
    """A new database for one test."""
    url = databases.new()
    yield url
    databases.drop(url)
