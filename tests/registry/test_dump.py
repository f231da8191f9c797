"""Dumps: the same bytes for the same catalog, signed, and all of it again elsewhere."""
import gzip
import hashlib
import io
import json
import shutil
import stat
import tarfile
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from registry import db, home, restore
from registry.accounts import Accounts
from registry.catalog import Catalog
from registry.component import parse
from registry.config import Settings
from registry.dump import DumpClock, Dumps, snapshot
from registry.errors import (
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidInputError,
    RegistryError,
)
from registry.fingerprint import fingerprint
from registry.marks import Marks
from registry.resolver import resolve
from registry.search import SearchIndex
from registry.signing import SigningKey
from registry.sources import Sources
from registry.sync import Sync
from tests.registry.marketplace import Marketplace, data, image
from tests.registry.repository import Repository, git

JOB = """\
type: job
name: train
version: {version}
contributor: ann
description: Trains on points.
parameters: {{epochs: 3}}
prerequisites: [points, busybox@1.0.0]
tasks:
  - role: main
    dockerimage: busybox
    data: points
    resource: {{instances: 1, resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: ["echo $$epochs$$"]
"""
NOW = datetime(2026, 5, 1, 3)


def settings_of(folder):
    return Settings.from_environ({"PAISHARE_HOME": str(folder)})


class Home:
    """A catalog below one folder, as a process opens it."""

    def __init__(self, folder):
        self.settings = settings_of(folder)
        self.engine = db.create_engine(self.settings.database_url)
        self.catalog = Catalog(self.engine, self.settings.git_dir)
        self.sources = Sources(self.engine)
        self.index = SearchIndex(self.settings.search_dir)
        self.sync = Sync(self.engine, self.catalog, self.index)
        self.dumps = Dumps(self.engine, self.catalog, folder)

    @property
    def hash(self):
        with self.engine.connect() as connection:
            return fingerprint(connection)

    def answers(self):
        """What readers ask for: searches, versions, pages, jobs ready to run."""
        entries = [self.catalog.get(each) for each in (
            "train", "job/train@1.0.0", "data/points@1.0.0", "data/points", "busybox")]
        hits = [self.index.search(query).hits for query in ("", "points", "train", "about")]
        return entries, hits, self.specs()

    def specs(self):
        """Both versions of the job, resolved; where the home lies is left out."""
        found = []
        for version in ("1.0.0", "1.1.0"):
            entry = self.catalog.get(f"job/train@{version}")
            spec = resolve(parse(entry.text), catalog=self.catalog, user="ann", entry=entry).spec
            found.append(json.dumps(spec.as_json()).replace(str(self.settings.home), "HOME"))
        return found


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A home with one source of three commits, an event, a mark and a user."""
    folder = tmp_path_factory.mktemp("origin")
    repository = Repository(folder / "examples")
    repository.commit({"job/train.yaml": JOB.format(version="1.0.0"),
                       "data/points.yaml": data("points", uri="../files/points.csv"),
                       "dockerimage/busybox.yaml": image("busybox", uri="busybox:1"),
                       "files/points.csv": "1,2\n", "job/broken.yaml": "type: job\n"})
    repository.commit({"job/train.yaml": JOB.format(version="1.1.0"),
                       "files/points.csv": "3,4\n",
                       "data/points.yaml": data("points", "2.0.0", uri="../files/points.csv")})
    market = Marketplace(folder / "home")
    market.add(repository.path, "examples")
    market.run()
    with market.engine.begin() as connection:
        connection.execute(db.users.insert().values(
            name="ann", password_hash="SECRET-HASH", is_admin=False, session_epoch=0,
            created_at=NOW))
        place = {"source_id": 1, "type": "data", "name": "points", "created_at": NOW}
        connection.execute(db.marks.insert().values(
            **place, version="1.0.0", kind="deprecated", reason="Old.", successor="data/points",
            user_id=1))
        connection.execute(db.runs.insert().values(**place, version="1.0.0", job_id="7",
                                                   user_id=1))
    market.close()
    shutil.rmtree(folder / "home" / "search")  # rows were added behind the outbox
    found = Home(folder / "home")
    found.sync.index()
    return found


@pytest.fixture(scope="module")
def dump(origin, tmp_path_factory):
    path = tmp_path_factory.mktemp("dump") / "catalog.tar.gz"
    origin.dumps.export(path)
    return path


def test_an_empty_home_gets_the_same_catalog_and_gives_the_same_answers(origin, dump, tmp_path):
    away = origin.settings.home.parent / "away"
    (origin.settings.home.parent / "examples").rename(away)
    try:
        manifest = restore.restore(settings_of(tmp_path / "twin"), dump, public_key=None)
        twin = Home(tmp_path / "twin")
        report, = twin.sync.run_once()
        assert "is not there" in report.error and "stays" in report.error
        assert twin.hash == origin.hash == manifest.catalog_hash
        assert twin.answers() == origin.answers()
        assert [each.reference for each in twin.catalog.versions("data", "points")] == [
            "data/points@2.0.0", "data/points@1.0.0"]
        assert twin.sources.problems(1) == origin.sources.problems(1)
    finally:
        away.rename(origin.settings.home.parent / "examples")


def test_the_same_catalog_gives_the_same_bytes_there_and_here(origin, dump, tmp_path):
    origin.dumps.export(tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == dump.read_bytes()
    restore.restore(settings_of(tmp_path / "twin"), dump, public_key=origin.dumps.public_key)
    shutil.copy(origin.settings.home / "dump.key", tmp_path / "twin" / "dump.key")
    Home(tmp_path / "twin").dumps.export(tmp_path / "twin.tar.gz")
    assert (tmp_path / "twin.tar.gz").read_bytes() == dump.read_bytes()


def test_postgresql_takes_a_dump_of_sqlite_and_gives_the_same_bytes(
        origin, dump, tmp_path, postgresql):
    url = postgresql.new_database()
    settings = Settings.from_environ({"PAISHARE_HOME": str(tmp_path / "twin"),
                                      "PAISHARE_DATABASE_URL": url})
    restore.restore(settings, dump, public_key=None)
    shutil.copy(origin.settings.home / "dump.key", tmp_path / "twin" / "dump.key")
    engine = db.create_engine(url)
    catalog = Catalog(engine, settings.git_dir)
    Dumps(engine, catalog, settings.home).export(tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == dump.read_bytes()
    (tmp_path / "more").mkdir()
    assert Sources(engine).add_folder(str(tmp_path / "more"), name="more", owner_id=None).id == 2
    engine.dispose()
    postgresql.drop(url)


def test_a_dump_is_a_plain_tar_that_says_what_it_holds(dump):
    with tarfile.open(dump) as archive:
        manifest = json.load(archive.extractfile("manifest.json"))
        assert archive.getnames() == ["manifest.json", "manifest.sig", *(
            member["name"] for member in manifest["members"])]
    assert manifest["format"] == 1
    counts = {"sources": 1, "versions": 5, "file_problems": 1, "marks": 1, "purges": 0,
              "events": 5, "runs": 1}
    assert manifest["counts"] | counts == manifest["counts"]


def test_nothing_about_users_is_in_a_dump(dump):
    content = gzip.decompress(dump.read_bytes())
    for word in (b"SECRET-HASH", b"password", b"user_id", b"owner_id", b"token"):
        assert word not in content


def test_an_import_goes_into_an_empty_catalog_only(origin, dump, tmp_path):
    settings = settings_of(tmp_path / "twin")
    restore.restore(settings, dump, public_key=None)
    with pytest.raises(ConflictError, match="has 1 sources already.*Set PAISHARE_HOME to a new"):
        restore.restore(settings, dump, public_key=None)


def test_a_home_that_was_imported_keeps_its_bundled_source(origin, dump, tmp_path):
    settings = settings_of(tmp_path / "twin")
    restore.restore(settings, dump, public_key=None)
    engine = Home(tmp_path / "twin").engine
    with engine.begin() as connection:
        connection.execute(db.sources.update().values(name=home.BUNDLED, location="/gone"))
    assert home.prepare(settings)
    assert [(each.name, each.location) for each in Home(tmp_path / "twin").sources.visible()] == [
        (home.BUNDLED, "/gone")]


def test_what_was_purged_is_in_no_dump_and_stays_gone_elsewhere(tmp_path):
    repository = Repository(tmp_path / "examples")
    repository.commit({"data/points.yaml": data("points", description="A secret.")})
    repository.commit({"data/points.yaml": data("points", "1.1.0")})
    market = Marketplace(tmp_path / "home")
    market.add(repository.path, "examples")
    market.run()
    admin = Accounts(market.engine).create_user("admin", "correct horse", is_admin=True)
    Marks(market.engine).purge(market.catalog.get("data/points@1.0.0"), reason="By law.",
                               user_id=admin.id)
    blob = git(repository.path, "rev-parse", "HEAD~1:data/points.yaml")
    Home(tmp_path / "home").dumps.export(tmp_path / "dump")
    market.close()
    restore.restore(settings_of(tmp_path / "twin"), tmp_path / "dump", public_key=None)
    twin = Home(tmp_path / "twin")
    assert b"A secret." not in gzip.decompress((tmp_path / "dump").read_bytes())
    objects = git(tmp_path / "twin" / "git" / "1.git", "cat-file", "--batch-check",
                  "--batch-all-objects")
    assert blob not in objects and "blob" in objects
    for _ in range(2):
        with pytest.raises(GoneError, match="By law"):
            twin.catalog.get("data/points@1.0.0")
        report, = twin.sync.run_once()
        assert report.error is None
    assert twin.catalog.get("data/points").version == "1.1.0"


# --- dumps that are not sound --------------------------------------------------------------------

def members_of(dump):
    with tarfile.open(dump) as archive:
        return [(item.name, archive.extractfile(item).read()) for item in archive]


def write(path, members, *, types=None):
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.type = (types or {}).get(name, tarfile.REGTYPE)
            archive.addfile(info, io.BytesIO(content))
    return path


def signed(files, key, **changes):
    """The members with another manifest, signed again."""
    manifest = json.loads(files[0][1]) | {"public_key": key.public} | changes
    content = json.dumps(manifest).encode()
    return [("manifest.json", content), ("manifest.sig", key.sign(content).encode()),
            *files[2:]]


def refused(tmp_path, path, error, match, **how):
    """Nothing of it may stay, and a good dump can be imported afterwards."""
    settings = settings_of(tmp_path / "refused")
    with pytest.raises(error, match=match):
        restore.restore(settings, path, **{"public_key": None, **how})
    assert Home(settings.home).sources.all() == []
    assert sorted(each.name for each in settings.home.iterdir()
                  if not each.name.startswith("registry.db")) == ["serve.lock"]


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.9, 0.999])
def test_a_dump_that_was_cut_off_is_refused(dump, tmp_path, share):
    content = dump.read_bytes()
    (tmp_path / "cut").write_bytes(content[:int(len(content) * share)])
    refused(tmp_path, tmp_path / "cut", InvalidInputError, "cut off|no dump")


def test_a_changed_bit_is_noticed_wherever_it_is(dump, tmp_path):
    content = dump.read_bytes()
    for place in range(20, len(content), max(1, len(content) // 25)):
        changed = bytearray(content)
        changed[place] ^= 4
        (tmp_path / "changed").write_bytes(changed)
        with pytest.raises(InvalidInputError, match="Nothing was imported"):
            restore.restore(settings_of(tmp_path / "twin"), tmp_path / "changed", public_key=None)


def test_a_member_that_was_exchanged_is_noticed(dump, tmp_path):
    members = [(name, content.replace(b"points", b"paints") if name.startswith("tables/v")
                else content) for name, content in members_of(dump)]
    refused(tmp_path, write(tmp_path / "x", members), InvalidInputError,
            "tables/versions.ndjson has not the bytes that were signed")


def test_a_manifest_that_was_changed_is_noticed(dump, tmp_path):
    (name, manifest), *rest = members_of(dump)
    changed = [(name, manifest.replace(b'"format": 1', b'"format": 1 ')), *rest]
    refused(tmp_path, write(tmp_path / "x", changed), InvalidInputError, "its manifest was changed")


def test_the_key_that_was_given_decides(dump, origin, tmp_path):
    other = SigningKey.of_home(tmp_path / "other")
    refused(tmp_path, dump, ForbiddenError, "signed with another key", public_key=other.public)
    refused(tmp_path, dump, InvalidInputError, "is no public key", public_key="nonsense")
    restore.restore(settings_of(tmp_path / "twin"), dump, public_key=origin.dumps.public_key)


@pytest.mark.parametrize("format, age", [(2, "newer"), (0, "older")])
def test_another_format_is_named(dump, tmp_path, format, age):
    key = SigningKey.of_home(tmp_path / "other")
    path = write(tmp_path / "x", signed(members_of(dump), key, format=format))
    refused(tmp_path, path, InvalidInputError, f"has the {age} format {format}; this PAIShare")


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "git/../../evil.pack", "tables/a/b",
                                  "registry.db", "git/1.idx", 5, None, ["x"]])
def test_no_member_lands_where_a_name_says(dump, tmp_path, name):
    key = SigningKey.of_home(tmp_path / "other")
    members = members_of(dump)
    listed = [*json.loads(members[0][1])["members"],
              {"name": name, "size": 4, "sha256": "0" * 64}]
    path = write(tmp_path / "x", [*signed(members, key, members=listed), (str(name), b"evil")])
    refused(tmp_path, path, InvalidInputError, "members or facts that no dump has")


def test_a_member_that_is_no_plain_file_is_refused(dump, tmp_path):
    members = members_of(dump)
    path = write(tmp_path / "x", members, types={members[2][0]: tarfile.SYMTYPE})
    refused(tmp_path, path, InvalidInputError, "no plain file")


def test_what_unpacks_to_more_than_there_is_room_for_is_refused(dump, tmp_path):
    key = SigningKey.of_home(tmp_path / "other")
    members = members_of(dump)
    listed = [{**each, "size": 1 << 60} for each in json.loads(members[0][1])["members"]]
    path = write(tmp_path / "x", signed(members, key, members=listed))
    refused(tmp_path, path, RegistryError, "needs .* MB .*free. Make room")


@pytest.mark.parametrize("position", [0, 1])
def test_a_bomb_is_not_unpacked(dump, tmp_path, position):
    members = members_of(dump)
    members[position] = (members[position][0], bytes(40 << 20))
    refused(tmp_path, write(tmp_path / "x", members), InvalidInputError, "is no dump of PAIShare")


def test_more_than_the_manifest_lists_is_refused(dump, tmp_path):
    path = write(tmp_path / "x", [*members_of(dump), ("tables/more.ndjson", bytes(4096))])
    refused(tmp_path, path, InvalidInputError, "more in it than its manifest lists")


def rewritten(dump, key, name, content):
    """A dump with one other member, soundly signed."""
    members = [(each, content(old) if each == name else old) for each, old in members_of(dump)]
    listed = [{"name": each, "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}
              for each, text in members[2:]]
    return signed(members, key, members=listed)


@pytest.mark.parametrize("name, change, match", [
    ("tables/versions.ndjson", lambda old: b"{}}\n" + old, "Line 1 of tables/versions.ndjson"),
    ("tables/versions.ndjson", lambda old: b"[]\n" + old, "fit together"),
    ("tables/versions.ndjson", lambda old: b'{"novel": 1}\n' + old, "unknown column novel"),
    ("tables/versions.ndjson", lambda old: b"", "fit together"),
    ("tables/versions.ndjson", lambda old: old + old.splitlines()[0] + b"\n", "fit together"),
    ("tables/versions.ndjson", lambda old: b"[" * 100_000 + b"\n", "Line 1"),
    ("tables/versions.ndjson", lambda old: old.replace(b'"1.1.0"', b'"1.0.9"'), "catalogue hash"),
    ("git/1.json", lambda old: b"{}", "git/1.json of the dump"),
    ("git/1.pack", lambda old: b"PACK" + bytes(40), "no whole pack"),
    ("git/1.pack", lambda old: old[:-30], "no whole pack"),
], ids=range(10))
def test_a_signed_dump_that_makes_no_sense_is_refused(dump, tmp_path, name, change, match):
    key = SigningKey.of_home(tmp_path / "other")
    path = write(tmp_path / "x", rewritten(dump, key, name, change))
    refused(tmp_path, path, RegistryError, match)


def test_a_file_that_is_none_is_told_so(tmp_path):
    (tmp_path / "text").write_text("hello")
    refused(tmp_path, tmp_path / "text", InvalidInputError, "cut off or damaged")
    refused(tmp_path, tmp_path / "nothing", InvalidInputError, "cannot be read: No such file")


# --- keys and the clock --------------------------------------------------------------------------

def test_the_key_is_made_once_for_its_owner_alone(tmp_path):
    public = SigningKey.of_home(tmp_path / "home").public
    path = tmp_path / "home" / "dump.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SigningKey.of_home(tmp_path / "home").public == public
    assert public.startswith("ed25519:") and len(public) == 52
    assert path.read_text() not in repr(SigningKey.of_home(tmp_path / "home"))
    path.write_text("nonsense")
    with pytest.raises(RegistryError, match="holds no key"):
        SigningKey.of_home(tmp_path / "home")


def test_seven_dumps_are_kept_and_the_next_is_due_a_day_later(origin):
    try:
        for day in range(9):
            assert origin.dumps.is_due(24, NOW + timedelta(days=day))
            origin.dumps.make(NOW + timedelta(days=day))
            assert not origin.dumps.is_due(24, NOW + timedelta(days=day, hours=23))
        assert [each.made_at.day for each in origin.dumps.kept()] == [9, 8, 7, 6, 5, 4, 3]
        names = {each.name for each in (origin.settings.home / "dumps").iterdir()}
        assert names == {each.path.name for each in origin.dumps.kept()}
    finally:
        shutil.rmtree(origin.settings.home / "dumps")


def test_a_file_that_cannot_be_written_is_said_with_what_to_do(origin, tmp_path):
    with pytest.raises(RegistryError, match="cannot be written: No such file.*Name a file in"):
        origin.dumps.export(tmp_path / "nowhere" / "x.tar.gz")


def test_the_clock_makes_a_dump_when_one_is_due_and_not_before(origin, caplog):
    try:
        clock = DumpClock(origin.dumps, interval_h=24)
        clock.look()
        clock.wait()
        made, = origin.dumps.kept()
        clock.look()
        clock.wait()
        DumpClock(origin.dumps, interval_h=24).look()
        DumpClock(origin.dumps, interval_h=0).look()
        assert origin.dumps.kept() == [made]
    finally:
        shutil.rmtree(origin.settings.home / "dumps")


def test_a_clock_of_zero_hours_makes_none(origin):
    DumpClock(origin.dumps, interval_h=0).look()
    assert origin.dumps.kept() == []


def test_a_dump_that_fails_is_logged_and_not_tried_again_at_once(origin, caplog, monkeypatch):
    tries = []

    def fail(now):
        tries.append(now)
        raise RegistryError("The disk is full.")
    monkeypatch.setattr(origin.dumps, "make", fail)
    clock = DumpClock(origin.dumps, interval_h=24)
    for _ in range(3):
        clock.look()
        clock.wait()
    assert len(tries) == 1
    assert "The nightly dump failed; the next try is in an hour: The disk is full." in caplog.text


def test_what_killed_processes_left_is_removed(origin, dump, tmp_path):
    for folder in (origin.settings.home / "dumps" / ".export-x", tmp_path / "twin" / ".import-x"):
        (folder / "tables").mkdir(parents=True)
    try:
        origin.dumps.make(NOW)
        restore.restore(settings_of(tmp_path / "twin"), dump, public_key=None)
        assert not [*(origin.settings.home / "dumps").glob(".*")]
        assert not [*(tmp_path / "twin").glob(".*")]
    finally:
        shutil.rmtree(origin.settings.home / "dumps")


def test_a_dump_is_of_one_moment_whatever_is_written_meanwhile(database_url):
    engine = db.create_engine(database_url)
    db.upgrade(engine)
    row = {"kind": "local", "location": "/x", "commits": 0, "created_at": NOW}
    count = sa.select(sa.func.count()).select_from(db.sources)
    with engine.begin() as connection:
        connection.execute(db.sources.insert().values(name="first", **row))
    with snapshot(engine) as reading:
        assert reading.scalar(count) == 1
        with engine.begin() as connection:
            connection.execute(db.sources.insert().values(name="second", **row))
        assert reading.scalar(count) == 1
    with engine.connect() as connection:
        assert connection.scalar(count) == 2
    engine.dispose()
