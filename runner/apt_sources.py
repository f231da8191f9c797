"""The package sources of this machine, as apt's own files tell them."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, NamedTuple

DEFAULT_MIRROR = "http://deb.debian.org/debian"


class AptSource(NamedTuple):
    """One repository of apt: its address, its suites and its components."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]


def debian_mirror(etc: Path = Path("/etc")) -> str:
    """The mirror that this machine installs Debian from, Debian's own if it is no Debian."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', _text(etc / "os-release"), re.MULTILINE))
    if release.get("ID") != "debian":
        return DEFAULT_MIRROR
    for source in apt_sources(etc / "apt"):
        if (release.get("VERSION_CODENAME") in source.suites and "main" in source.components
                and re.match(r"https?://.*/debian(/\d{8}T\d{6}Z)?/?$", source.uri)):
            return source.uri.rstrip("/")
    return DEFAULT_MIRROR


def apt_sources(apt: Path) -> Iterator[AptSource]:
    """Every enabled package source; Debian's own files come first, those of others behind."""
    others = sorted((apt / "sources.list.d").glob("*"),
                    key=lambda path: (not path.name.startswith("debian"), path.name))
    for path in (apt / "sources.list", *others):
        if path.suffix == ".list":
            yield from _one_line_sources(_text(path))
        elif path.suffix == ".sources":
            yield from _deb822_sources(_text(path))


def _one_line_sources(text: str) -> Iterator[AptSource]:
    for uri, suite, components in re.findall(
            r"^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)([^#\n]*)", text, re.MULTILINE):
        yield AptSource(uri, (suite,), tuple(components.split()))


def _deb822_sources(text: str) -> Iterator[AptSource]:
    without_comments = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    for stanza in re.split(r"\n\s*\n", without_comments):
        fields = {name.lower(): value.split() for name, value in re.findall(
            r"^([\w-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE)}
        if "deb" in fields.get("types", ()) and fields.get("enabled") != ["no"]:
            for uri in fields.get("uris", ()):
                yield AptSource(uri, tuple(fields.get("suites", ())),
                                tuple(fields.get("components", ())))


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""
