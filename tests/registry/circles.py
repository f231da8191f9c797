"""Who sees what, tried out: a registry with private repositories, and one without what is hidden.

What a user is answered must be, byte for byte, what a registry answers in which the repositories
that this user may not see never existed. Such registries are made as they are needed.
"""
from __future__ import annotations

import difflib
import random
import re
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Callable
from urllib.parse import quote

import sqlalchemy as sa

from registry import db, visibility
from registry.catalog import Catalog
from registry.config import Settings
from registry.db import github_tokens, repo_access, runs, sources, users, versions
from registry.marks import Marks
from registry.outbox import Outbox
from registry.search import SearchIndex
from registry.sources import Sources
from registry.sync import Sync
from tests.fakes.web_home import HELLO, WebHome, write_home, write_repository

VISITOR, ADMIN = "", "admin"
USERS = (VISITOR, "ann", "bob", ADMIN)
REPOSITORIES = {"acme/alpha": "quorvex", "acme/beta": "blintar", "bob/gamma": "zumbrel",
                "acme/open": "fendrick"}  # each with a word that stands nowhere else
PUBLIC_AT_FIRST = "acme/open"
OWNERS = dict(zip(REPOSITORIES, ("ann", "bob") * 2))
TELLS_OWNERS = ("sources.index", "api_sources.remove_source", "api_sources.pause_source",
                "api_sources.resume_source")
TELLS_ADMINS = (*TELLS_OWNERS, "admin_sources.index", "departures.ask")
GRANTS = ("", "none", "fresh", "soft", "expired")  # "": nothing is known
TOKENS = ("", "works", "dead", "ended", "newer")  # "": GitHub is not connected
AGES = {"none": 1, "fresh": 1, "soft": 45, "expired": 75}
LONG_AGO, LATER = datetime(2026, 1, 1), datetime(2100, 1, 1)
VOLATILE = (
    re.compile(rb'name="(csrf_token|key)" value="[^"]*"'), re.compile(rb'<meta name="csrf[^>]*>'),
    re.compile(rb'data-nonce="[\w-]+"'),
    re.compile(rb'<p class="(?:notice|alert)">Your access to .*?</p>'),
    re.compile(rb"request [0-9a-f]{16}"), re.compile(rb"never used|used <time.*?</time>"))
HEADERS = ("Content-Type", "Location", "Cache-Control", "Vary", "ETag", "Last-Modified",
           "X-Template-Commit", "X-Template-Source")


def component(type: str, name: str, word: str, version: str, more: str = "") -> str:
    return (f"type: {type}\nname: {name}\nversion: {version}\ncontributor: {word} team\n"
            f"description: About {word} and shared things.\ntags: [{word}, common]\n{more}")


def files_of(word: str, version: str) -> dict[str, str]:
    """Names of its own, and some that the other repositories have as well."""
    job = ("prerequisites:\n  - data/points\n  - {name: busybox, type: dockerimage, version: "
           f'"1", uri: "registry.example/{word}:1"}}\nparameters: {{{word}_rate: 0.1}}\ntasks:\n'
           "  - {role: main, dockerimage: busybox, data: points, resource: {instances: 1, "
           "resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 2}}, command: [run]}\n")
    uri = f"uri: https://data.example/{word}.csv\n"
    return {
        f"job/{word}-train.yaml": component("job", f"{word}-train", word, version, job),
        "job/train.yaml": component("job", "train", word, version, job),
        "data/points.yaml": component("data", "points", word, version, uri),
        f"data/{word}.yaml": component("data", word, word, version, uri),
        f"dockerimage/{word}-image.yaml": component(
            "dockerimage", f"{word}-image", word, version, f"uri: registry.example/{word}:1\n"),
        f"script/{word}-tool.yaml": component("script", f"{word}-tool", word, version,
                                              f"uri: https://code.example/{word}.git@main\n"),
        "README.md": f"# {word}\n", "data/README.md": f"All of {word}.\n",
        f"job/{word}-broken.yaml": f"type: job\nname: {word}\ntasks: 5\n"}


def write_template(folder: Path) -> Path:
    """A home with a folder for all and four repositories of GitHub, indexed; returns it."""
    home = folder / "home"
    write_home(home, {"job/hello.yaml": HELLO, **files_of("everyone", "1.0.0")})
    settings = Settings.from_environ({"PAISHARE_HOME": str(home)})
    engine = db.create_engine(settings.database_url)
    catalog, index = Catalog(engine, settings.git_dir), SearchIndex(settings.search_dir)
    for number, (name, word) in enumerate(REPOSITORIES.items()):
        path = folder / name.replace("/", "-")
        write_repository(path, files_of(word, "1.0.0"), files_of(word, "1.1.0"))
        Sources(engine).add_folder(str(path), name=f"x{number}", owner_id=2 + number % 2)
    Sync(engine, catalog, index).run_once()
    with engine.begin() as connection:
        for number, name in enumerate(REPOSITORIES):
            connection.execute(sources.update().where(sources.c.name == f"x{number}").values(
                name=name, kind="github", location=name, repo_id=100 + number,
                is_private=name != PUBLIC_AT_FIRST, checked_at=sources.c.synced_at))
    _say_things(engine, catalog)
    Outbox(engine, index).rebuild()
    engine.dispose()
    return home


def _say_things(engine: sa.Engine, catalog: Catalog) -> None:
    """Marks, a purge, and jobs in which components of several repositories took part."""
    with engine.begin() as connection:
        connection.execute(sources.update().where(sources.c.kind == "github").values(
            kind="local"))
    marks = Marks(engine)
    for name, word in REPOSITORIES.items():
        marks.deprecate(catalog.get(f"{name}:data/{word}"), reason=f"{word} is old",
                        successor="data/points", user_id=1, is_whole=True)
        marks.yank(catalog.get(f"{name}:script/{word}-tool@1.1.0"), reason=f"{word} breaks",
                   user_id=1)
        marks.purge(catalog.get(f"{name}:dockerimage/{word}-image@1.0.0"),
                    reason=f"{word} leaked", user_id=1)
    with engine.begin() as connection:
        connection.execute(sources.update().where(sources.c.repo_id.is_not(None)).values(
            kind="github", sync_requested_at=None))
        rows = connection.execute(sa.select(
            versions.c.source_id, versions.c.type, versions.c.name, versions.c.version).where(
                versions.c.is_latest)).all()
        connection.execute(runs.insert(), [
            {**row._mapping, "job_id": f"j{number % 3}", "user_id": None,
             "created_at": datetime(2026, 1, 1)} for number, row in enumerate(rows)])


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request; `target` names a repository where only its hidden ones may be tried."""

    endpoint: str
    path: str
    method: str = "GET"
    body: Any = None
    target: str = ""


@dataclass(frozen=True, kw_only=True)
class Answered:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, kw_only=True)
class State:
    """Which repositories are private, which tokens users have, and what was seen of them."""

    private: frozenset[str]
    tokens: dict[str, str]
    grants: dict[tuple[str, str], str]

    def sees(self, user: str, repository: str) -> bool:
        """The oracle: it knows nothing of the registry's code."""
        if repository not in self.private:
            return True
        return self.tokens.get(user) == "works" and \
            self.grants.get((user, repository)) in ("fresh", "soft")


def random_state(chance: random.Random) -> State:
    people = USERS[1:]
    return State(
        private=frozenset(name for name in REPOSITORIES if chance.random() < 0.7),
        tokens={user: chance.choice(TOKENS + ("works",) * 4) for user in people},
        grants={(user, name): chance.choice(GRANTS + ("fresh", "soft"))
                for user in people for name in REPOSITORIES})


class Registry:
    """A home with its application; the same tokens and cookies work in all of its copies."""

    def __init__(self, template: Path, folder: Path) -> None:
        self.web = WebHome(template, folder)
        self.engine, self.client = self.web.engine, self.web.app.test_client(use_cookies=False)
        found = Settings.from_environ(self.web.environ)
        self.outbox = Outbox(self.engine, SearchIndex(found.search_dir))
        with self.engine.connect() as connection:
            self.ids = {row.name: row.id for row in connection.execute(sa.select(users))}

    def ask(self, asked: Asked, headers: dict[str, str]) -> Answered:
        answer = self.client.open(asked.path, method=asked.method, json=asked.body,
                                  headers=headers)
        body = answer.get_data()
        for pattern in VOLATILE:
            body = pattern.sub(b"", body)
        return Answered(status=answer.status_code, body=body, headers=tuple(
            (name, value) for name, value in answer.headers if name in HEADERS))

    def become(self, state: State) -> None:
        """As if all of that had been seen and heard of GitHub."""
        with self.engine.begin() as connection:
            for number, name in enumerate(REPOSITORIES):
                visibility.set_private(connection, 100 + number, name in state.private)
            connection.execute(github_tokens.delete())
            connection.execute(repo_access.delete())
            for user, token in state.tokens.items():
                if token:
                    connection.execute(github_tokens.insert().values(
                        token_row(self.ids[user], token)))
            for (user, name), grant in state.grants.items():
                if grant:
                    connection.execute(repo_access.insert().values(
                        user_id=self.ids[user], repo_id=100 + list(REPOSITORIES).index(name),
                        level="none" if grant == "none" else "read",
                        checked_at=ago(AGES[grant])))
        self.outbox.drain()

    def lose(self, names: list[str]) -> None:
        """Have repositories never been there."""
        with self.engine.begin() as connection:
            ids = connection.scalars(sa.select(sources.c.id).where(
                sources.c.name.in_(names))).all()
            connection.execute(sources.delete().where(sources.c.id.in_(ids)))
        for id_ in ids:
            shutil.rmtree(self.web.home / "git" / f"{id_}.git")
        self.outbox.rebuild()


def _lines(answered: Answered) -> list[str]:
    return [str(answered.status), *map(str, answered.headers),
            *answered.body.decode(errors="replace").replace(",", ",\n").splitlines()]


def token_row(user_id: int, state: str) -> dict[str, Any]:
    return {"user_id": user_id, "sealed": b"", "key_id": "x", "login": f"user{user_id}",
            "github_id": user_id, "kind": "classic", "scopes": ["repo"], "last_four": "abcd",
            "expires_at": LONG_AGO if state == "ended" else None,
            "verified_at": LATER if state == "newer" else LONG_AGO, "last_used_at": LONG_AGO,
            "problem": "TOKEN_DEAD" if state == "dead" else None}


def ago(minutes: float) -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=minutes)


class Circles:
    """The registry, those that lack what is hidden, and everything that can be asked of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._template = write_template(folder)
        first = Registry(self._template, self._new_folder())
        self.headers = {user: self._headers(first.web, user) for user in USERS}
        assert first.web.services.dumps.public_key  # made now, for all of them
        first.web.close()
        self._template = first.web.home  # with the tokens, and the key that signs the cookies
        self.registry = Registry(self._template, self._new_folder())
        self._etags: dict[str, str] = {}
        self._others: dict[tuple[frozenset[str], frozenset[str]], Registry] = {}
        self.requests = {name: [replace(asked, endpoint=name) for asked in make()]
                         for name, make in ENDPOINTS.items()}

    def close(self) -> None:
        for each in (self.registry, *self._others.values()):
            each.web.close()

    def endpoints(self) -> dict[str, set[str]]:
        """Every endpoint of the application with its methods."""
        found: dict[str, set[str]] = {}
        for rule in self.registry.web.app.url_map.iter_rules():
            found.setdefault(rule.endpoint, set()).update(rule.methods or ())
        return found

    def difference(self, state: State, user: str, asked: Asked) -> str:
        """How the answer differs from that of a registry without what is hidden; empty: not at all.

        The registry must be in that state. A time of day in an answer gets a second chance.
        """
        for headers in self._ways_to_ask(user, asked):
            for _ in range(3):
                other = self.without_hidden(state, user).ask(asked, headers)
                found = self.registry.ask(asked, headers)
                if found == other:
                    break
            if found != other:
                return self._told(user, asked, found, other)
            self._etags[asked.path] = dict(found.headers).get("ETag", "")
        return ""

    def _ways_to_ask(self, user: str, asked: Asked) -> list[dict[str, str]]:
        """Plainly; and as one who knows the ETag of what somebody was answered last."""
        known = self._etags.get(asked.path)
        own = self.headers[user]
        return [own, {**own, "If-None-Match": known}] if known else [own]

    @staticmethod
    def _told(user: str, asked: Asked, found: Answered, other: Answered) -> str:
        lines = difflib.unified_diff(_lines(other), _lines(found), "without it", "as it is",
                                     lineterm="", n=1)
        return "\n".join([f"{user or 'a visitor'}: {asked.method} {asked.path}", *lines])

    def without_hidden(self, state: State, user: str) -> Registry:
        seen = frozenset(name for name in REPOSITORIES if state.sees(user, name))
        key = seen, seen & state.private
        if key not in self._others:
            other = self._others[key] = Registry(self._template, self._new_folder())
            other.lose([name for name in REPOSITORIES if name not in seen])
        other = self._others[key]
        other.become(replace(state, private=key[1], grants={
            (each, name): "fresh" for each in USERS[1:] for name in seen}))
        return other

    def choose(self, chance: random.Random, state: State) -> tuple[str, Asked]:
        """Who asks, and what; each route as often as the others."""
        while True:
            user, endpoint = chance.choice(USERS), chance.choice(sorted(self.requests))
            asked = chance.choice(self.requests[endpoint])
            if self.may_try(state, user, asked):
                return user, asked

    def may_try(self, state: State, user: str, asked: Asked) -> bool:
        """What would change something is only tried on what the user may not see.

        An admin is told the names of what is hidden, and whoever added it; both may remove it.
        """
        is_told = (user == ADMIN and asked.endpoint in TELLS_ADMINS
                   or user == OWNERS.get(asked.target) and asked.endpoint in TELLS_OWNERS
                   or user in OWNERS.values() and asked.endpoint == "sources.index")
        return not is_told and not (asked.target and state.sees(user, asked.target))

    def _headers(self, web: WebHome, user: str) -> dict[str, str]:
        if not user:
            return {}
        browser = web.browser(user)
        cookie = browser.cookie("paishare")
        token = web.services.accounts.create_token(web.services.accounts.user_named(user), "all")
        return {"Cookie": f"paishare={cookie.value}", "Authorization": f"Bearer {token}"}

    def _new_folder(self) -> Path:
        folder = self._folder / f"copy{len(list(self._folder.glob('copy*')))}"
        folder.mkdir()
        return folder


# --- what is asked --------------------------------------------------------------------------------

WORDS = ("everyone", *REPOSITORIES.values())
NAMES = tuple(REPOSITORIES)
TYPED = tuple((type, name) for word in WORDS for type, name in (
    ("job", f"{word}-train"), ("data", word), ("dockerimage", f"{word}-image"),
    ("script", f"{word}-tool"))) + (("job", "train"), ("data", "points"), ("job", "nothing"))
QUERIES = (
    "", "train", "points", "shared", "common", "versions:all", "-points", "type:job gpu:>=1",
    "is:deprecated", "uses:points", '"shared things"',
    *(text for word in REPOSITORIES.values() for text in (
        word, word[:4], word[:-1] + "q", f"by:{word}", f'"{word} team"', f"tag:{word}",
        f"param:{word}_rate", f"image:{word}", f"name:{word}", f"{word} versions:all",
        f"uses:registry.example/{word}:1")), *(f"source:{name}" for name in NAMES))
SORTS = ("relevance", "updated", "used", "name")


def _query(path: str, **values: Any) -> str:
    found = "&".join(f"{key}={quote(str(value), safe='')}" for key, value in values.items()
                     if value not in ("", None))
    return f"{path}?{found}" if found else path


def _get(*paths: str) -> Callable[[], list[Asked]]:
    return lambda: [Asked(endpoint="", path=path) for path in paths]


def _searches(path: str, **more: Any) -> Callable[[], list[Asked]]:
    return _get(*(_query(path, q=query, **more) for query in QUERIES))


def _references() -> list[str]:
    found = [f"{type}/{name}" for type, name in TYPED]
    found += [f"{type}/{name}@{version}" for type, name in TYPED
              for version in ("1.0.0", "1.1.0", "latest", "^1")]
    return found + [f"{source}:{type}/{name}" for source in (*NAMES, "no/where")
                    for type, name in TYPED]


def _refer(path: str, key: str = "ref", **more: Any) -> Callable[[], list[Asked]]:
    return _get(*(_query(path, **{key: reference}, **more) for reference in _references()))


def _components(pattern: str, **more: Any) -> Callable[[], list[Asked]]:
    """A path for each type and name, alone, with each source and with some versions."""
    return _get(*(_query(pattern.format(type=type, name=name), source=source, **more)
                  for type, name in TYPED for source in ("", *NAMES)))


def _sources(pattern: str, method: str = "GET", body: Any = None) -> Callable[[], list[Asked]]:
    return lambda: [Asked(endpoint="", path=pattern.format(name=name), method=method, body=body,
                          target="" if method == "GET" else name) for name in NAMES]


def _posts(path: str, make: Callable[[str], Any], *, method: str = "POST", is_read: bool = False
           ) -> Callable[[], list[Asked]]:
    return lambda: [Asked(endpoint="", path=path, method=method, body=make(f"{name}:{type}/{each}"),
                          target="" if is_read else name)
                    for name, word in REPOSITORIES.items() for type, each in (
                        ("job", f"{word}-train"), ("data", word), ("job", "train"))]


def _feeds() -> list[Asked]:
    return [Asked(endpoint="", path=f"/by/{quote(f'{word} team')}/feed.atom") for word in WORDS]


def _compared(path: str) -> Callable[[], list[Asked]]:
    pairs = [(f"{name}:{type}/{each}@1.0.0", f"{name}:{type}/{each}") for name in NAMES
             for type, each in TYPED]
    pairs += [("job/train@1.0.0", "job/train@1.1.0"), ("acme/alpha:job/train", "job/train")]
    return _get(*(_query(path, a=a, b=b) for a, b in pairs))


def _ids(pattern: str, method: str = "GET") -> Callable[[], list[Asked]]:
    return lambda: [Asked(endpoint="", path=pattern.format(id=id_), method=method)
                    for id_ in (1, 2, 3, 999)]


ENDPOINTS: dict[str, Callable[[], list[Asked]]] = {
    "marketplace.index": lambda: [
        *_searches("/")(), *_searches("/", type="data")(),
        *_get(*(_query("/", q="train", sort=sort) for sort in SORTS))()],
    "marketplace.show": lambda: [
        *_components("/c/{type}/{name}")(), *_components("/c/{type}/{name}@1.0.0")(),
        *_get(*(f"/c/{name}" for _, name in TYPED))(), *_get(*(
            f"/c/{source}/{type}/{name}{more}" for source in NAMES for type, name in TYPED[:4]
            for more in ("", "/v/1.0.0", "/versions.atom", "/compare/1.0.0...1.1.0")))()],
    "submit.use": lambda: [
        *_components("/use/{type}/{name}")(), *_get(*(f"/use/{name}" for _, name in TYPED))()],
    "submit.index": lambda: [*_get("/submit")(), *_refer("/submit", "again")(), *_get(*(
        f"/submit?use={source}/{type}/{name}" for source in NAMES for type, name in TYPED[:4]))()],
    "versions.compare": _compared("/compare"), "versions.changelog": _refer("/changelog", "of"),
    "versions.used_by": _refer("/used-by", "of"),
    "feeds.query": _searches("/feed.atom"), "feeds.contributor": _feeds,
    "feeds.component": _components("/c/{type}/{name}/feed.atom"),
    "sources.index": _get("/sources"), "sources.show": _sources("/sources/{name}"),
    "jobs.index": _get("/jobs", "/jobs?all=1"),
    **{f"settings.{name}": _get(f"/settings/{name}") for name in (
        "profile", "github", "tokens", "registries", "appearance", "notifications")},
    "machine.show": _get("/machine"), "machine.fit": _refer("/machine/fit", "of"),
    "admin.index": _get("/admin"),
    "admin.limits": _get("/admin/limits"), "admin_sources.index": _get("/admin/sources"),
    "departures.ask": _get("/admin/users/ann/delete", "/admin/users/bob/delete"),
    "settings.index": _get("/settings"), "auth.login": _get("/login"),
    "publish.index": _get("/publish", "/publish?all=1"),
    "publish.new": lambda: [*_get("/publish/new")(), *_refer("/publish/new", "component")()],
    "publish.show": _ids("/publish/{id}"), "publish.edit": _ids("/publish/{id}/edit"),
    "publish.patch": _ids("/publish/{id}/patch"),
    "publish.live": _ids("/publish/{id}/live"), "api_page.index": _get("/api"),
    "api_page.show": _get("/api/docs"), "api_page.whole": _get("/api/openapi.json"),
    "api_docs.show_openapi": _get("/api/v3/openapi.json"),
    "api_components.search_components": lambda: [
        *_searches("/api/v3/components", explain="true")(),
        *_get(*(_query("/api/v3/components", sort=sort, page_size=100) for sort in SORTS))()],
    "api_components.complete_name": _get(*(
        _query("/api/v3/complete", q=text) for word in WORDS for text in (
            word[:2], word[:4], word, f"source:{word[:1]}", f"by:{word[:3]}", f"tag:{word[:3]}",
            f"image:registry.example/{word[:2]}", f"uses:{word[:3]}", f"param:{word[:3]}",
            "source:", "by:", "tag:", "t", "p"))),
    "api_components.show_component": lambda: [
        *_components("/api/v3/components/{type}/{name}")(),
        *_components("/api/v3/components/{type}/{name}", version="1.0.0")()],
    "api_components.list_versions": _components("/api/v3/components/{type}/{name}/versions"),
    "api_components.resolve_reference": _refer("/api/v3/resolve", "reference"),
    "api_components.list_schemas": _get("/api/v3/schemas"),
    "api_components.validate": lambda: [Asked(
        endpoint="", path="/api/v3/validate", method="POST",
        body={"yaml": files_of(word, "1.0.0")["job/train.yaml"]}) for word in WORDS],
    "api_relations.compare_versions": _compared("/api/v3/compare"),
    "api_relations.show_changelog": _components("/api/v3/components/{type}/{name}/changelog"),
    "api_relations.list_companions": _components("/api/v3/components/{type}/{name}/together"),
    "api_relations.list_users": _components("/api/v3/components/{type}/{name}/used-by"),
    "api_relations.list_uses": _components("/api/v3/components/{type}/{name}/uses"),
    "api_relations.list_recommendations": _get(
        "/api/v3/recommendations", "/api/v3/recommendations?type=data"),
    "api_sources.list_sources": _get("/api/v3/sources"),
    "api_sources.show_source": _sources("/api/v3/sources/{name}/status"),
    "api_sources.list_problems": _sources("/api/v3/sources/{name}/problems"),
    "api_sources.show_webhook": _sources("/api/v3/sources/{name}/webhook"),
    "api_sources.create_webhook": _sources("/api/v3/sources/{name}/webhook", "POST"),
    "api_sources.remove_source": _sources("/api/v3/sources/{name}", "DELETE"),
    "api_sources.pause_source": _sources("/api/v3/sources/{name}/pause", "POST"),
    "api_sources.resume_source": _sources("/api/v3/sources/{name}/resume", "POST"),
    "api_sources.sync_source": _sources("/api/v3/sources/{name}/sync", "POST"),
    "api_sources.agree_to_head": _sources("/api/v3/sources/{name}/agree", "POST",
                                          {"head": "a" * 40}),
    "api_sources.keep_what_is_shown": _sources("/api/v3/sources/{name}/keep", "POST"),
    "api_sources.use_my_token": _sources("/api/v3/sources/{name}/sponsor", "PUT"),
    "api_sources.show_health": _get("/api/v3/health"),
    "api_account.show_user": _get("/api/v3/user"),
    "api_account.show_github": _get("/api/v3/user/github"),
    "api_account.list_registries": _get("/api/v3/user/registries"),
    "api_publications.list_publications": _get("/api/v3/publications"),
    "api_publications.show_publication": _ids("/api/v3/publications/{id}"),
    "api_publications.preview_publication": _ids("/api/v3/publications/{id}/preview"),
    "api_jobs.list_jobs": _get("/api/v3/jobs", "/api/v3/jobs?all=true"),
    "api_jobs.convert_job": lambda: [Asked(endpoint="", path="/api/v3/convert", method="POST",
                                           body={"text": HELLO})],
    "api_jobs.fetch_job": lambda: [Asked(endpoint="", path="/api/v3/fetch", method="POST",
                                         body={"address": "https://127.0.0.1/job.yaml"})],
    "api_jobs.outlook": _posts("/api/v3/outlook", lambda reference: {"reference": reference},
                               is_read=True),
    "api_jobs.resolve": _posts("/api/v3/resolve", lambda reference: {"reference": reference},
                               is_read=True),
    "api_jobs.submit_job": _posts("/api/v3/jobs", lambda reference: {"reference": reference}),
    "api_marks.set_mark": _posts("/api/v3/marks", lambda reference: {
        "reference": f"{reference}@1.0.0", "kind": "yanked", "reason": "for no reason"}),
    "api_marks.remove_mark": _posts("/api/v3/marks", lambda reference: {
        "reference": f"{reference}@1.0.0", "kind": "yanked"}, method="DELETE"),
    "api_marks.purge_version": _posts("/api/v3/purges", lambda reference: {
        "reference": f"{reference}@1.0.0", "reason": "for no reason"}),
    "api_dumps.list_dumps": _get("/api/v3/dumps"),
    "api_dumps.download_dump": _get("/api/v3/dumps/latest"),
    "api_dumps.show_dump_key": _get("/api/v3/dumps/key"),
}
for _prefix, _name in (("/api/v2", "openpai"), ("/rest-server/api/v2", "openpai_by_proxy")):
    ENDPOINTS |= {
        f"{_name}.search_templates": _searches(f"{_prefix}/template", pageno=1),
        f"{_name}.list_templates": _get(*(
            f"{_prefix}/template/{type}" for type in ("job", "data", "script", "dockerimage"))),
        f"{_name}.show_template": _components(_prefix + "/template/{type}/{name}")}
OWN = "what it shows or changes is the user's own alone"
JOBS = "of one job, which is its submitter's; see test_views_jobs.py"
FORM = "the form of a route of the API that is tried"
NOT_TRIED = {
    "static": "no user sees another file than the others",
    "badges.picture": "one picture for everybody",
    "api_sources.show_hash": "one number over everything, for an admin",
    "api_sources.create_source": "asks GitHub with the user's own token; see test_sources.py",
    "api_webhooks.receive_delivery": "for GitHub, which signs; it tells nothing",
    "monitoring.show": "what jobs use, for an admin; it names no component",
    "submit.submit": FORM, "submit.check_text": FORM, "marks.change": FORM,
    **{f"sources.{name}": FORM for name in ("add", "agree", "create_webhook", "keep", "pause",
                                            "remove", "resume", "sync", "use_my_token")},
    **{f"publish.{name}": OWN for name in (
        "begin", "confirm", "raise_version", "rewrite", "rebuild", "retry", "withdraw")},
    **{f"api_publications.{name}_publication": OWN for name in (
        "draft", "rewrite", "confirm", "retry", "withdraw")},
    **{f"settings.{name}": OWN for name in ("connect_github", "verify_github", "disconnect_github",
                                            "change_password", "create_token", "revoke_token",
                                            "add_registry", "remove_registry")},
    **{f"api_account.{name}": OWN for name in ("create_token", "revoke_token", "connect_github",
                                               "disconnect_github", "change_password",
                                               "put_registry", "remove_registry")},
    "openpai_account.set_github_token": OWN, "openpai_account_by_proxy.set_github_token": OWN,
    "openpai.publish_template": OWN, "openpai_by_proxy.publish_template": OWN,
    "api_publish.publish_component": OWN, "auth.logout": OWN,
    "appearance.choose": OWN,
    "admin.users": "users and when they used their tokens, for an admin",
    "admin.system": "the machine, its disk and its logs, for an admin",
    **{f"admin.{name}": FORM for name in (
        "create_user", "set_password", "set_admin", "lock", "unlock", "revoke_token",
        "change_limits", "pause", "resume")},
    "departures.delete": FORM, **{f"admin_sources.{name}": FORM for name in (
        "add", "add_example", "pause", "remove", "resume", "sync")},
    "api_sources.show_machine": "the machine, not the catalogue",
    **{f"api_jobs.{name}": JOBS for name in (
        "show_job", "stop_job", "release_job", "read_log", "read_raw_log", "search_log",
        "read_metrics",
        "read_merged_log", "read_merged_text",
        "show_receipt", "compare_receipts", "list_artifacts", "get_artifact", "run_again",
        "show_queue", "pause_queue", "resume_queue")},
    **dict.fromkeys(("api_terminals.give_ticket", "terminals.show", "terminals.connect"), JOBS),
    **{f"live.{name}": JOBS for name in ("job", "jobs", "log")},
    **{f"api_files.{name}": JOBS for name in ("get_archive", "preview_file")},
    **{f"job_files.{name}": JOBS for name in ("log", "task", "text", "files", "file")},
    **{f"jobs.{name}": JOBS for name in ("show", "live", "search", "stop", "again", "receipt",
                                         "release", "chosen", "compare")},
}
OPENPAI = ("openpai_jobs", "openpai_users")  # its jobs and users, with the same rules as ours
