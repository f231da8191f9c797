"""What a text tells whoever can read it: passwords, places that nobody else reaches, data. Pure."""
from __future__ import annotations

import ipaddress
import re
from typing import Any, Callable, Iterator

from registry.errors import ComponentError, Problem
from registry.yaml_text import read
from runner.sentence import Sentence

MAX_TOLD = 20  # of one kind: more lines say nothing new
MAX_VALUE = 8_000  # characters of one value
MAX_ITEMS = 500  # of one list
MAX_CODED = 1_000  # characters of base64 or hex in one piece
_WORDS = frozenset({"description", "readme"})  # may be as long as they are
_TOKEN = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{30,}"
    r"|sk-[A-Za-z0-9_-]{32,}|AIza[\w-]{35}|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abprs]-[0-9A-Za-z-]{10,}"
    r"|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----")
_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@\"']+:(?P<value>[^/\s@\"']+)@", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:password|passwd|secret|token|api_?key|access_?key|credential)s?[\"']?\s*[:=]\s*[\"']?"
    r"(?P<value>[^\s\"',;{}()<>]{8,})", re.IGNORECASE)
# A value that comes from elsewhere when the job runs, a word in sentences, or an address of one.
_NO_SECRET = re.compile(r"[$%<*]|\.\.\.|…|^[a-z_.-]+$|^https?:|^[\w.]*/")
_IPV4 = re.compile(r"(?<![\w.-])(?<![<>=~!]=)\d{1,3}(?:\.\d{1,3}){3}(?![\w.+]*[\w+])(?!-\w)")
_IPV6 = re.compile(r"(?<![\w:.])f[cde][0-9a-f]{2}:[0-9a-f:]{2,}", re.IGNORECASE)
_NETWORKS = tuple(map(ipaddress.ip_network, (
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
    "fc00::/7", "fe80::/10")))
_HERE = re.compile(r"docker\.internal$|cluster\.local$", re.IGNORECASE)  # says no network's name
_HOST = re.compile(
    r"(?<![\w.-])(?P<place>(?:[a-z0-9-]+\.)+"
    r"(?:local|lan|internal|intranet|corp|localdomain|private|home\.arpa))(?=[:/])", re.IGNORECASE)
_SHORT_HOST = re.compile(  # a name without a dot, as a network's own name server knows them
    r"\b(?:https?|s?ftp|ssh|git|hdfs|wss?|tcp|rsync|redis|mongodb|postgres(?:ql)?|mysql|amqp|ldap)"
    r"://(?:[^/\s@\"']*@)?(?!localhost\b)(?P<place>[a-z][a-z0-9-]*)(?=[:/\"'\s]|$)", re.IGNORECASE)
_REGISTRY = re.compile(
    r"\buri:\s*[\"']?(?!localhost\b)(?P<place>[a-z][a-z0-9-]*:\d{2,5})(?=/)", re.IGNORECASE)
_SHARE = re.compile(
    r"\b(?:smb|nfs|cifs|afp)://[^\s\"']+|\\\\[A-Za-z][\w.-]*\\[\w$.-]+"
    r"|\bmount(?:\.(?:nfs|cifs)|\s+-t\s+(?:nfs|cifs)4?)\s[^\n]*", re.IGNORECASE)
_FOLDER = re.compile(r"(?<![\w.$}/-])(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)(?P<name>[\w.-]+)")
_FILE = re.compile(r"\bfile://(?:localhost)?(?=/)[^\s\"']+")
# The users of images that many build on; their folders are in the container.
_OF_IMAGES = frozenset("app coder jovyan node openpai pai ray root runner ubuntu user vscode worker"
                       .split())
_CODED = re.compile(rf"[A-Za-z0-9+/=_-]{{{MAX_CODED},}}")


def secrets_in(text: str) -> tuple[Problem, ...]:
    """Lines that look like a password, token or key; what it is, the sentences do not repeat."""
    return _told(text, _secrets, lambda found: Sentence(
        "This looks like a password or key. Whoever can read the repository can use it; "
        "take it out, and make it useless where it comes from."))


def private_places_in(text: str) -> tuple[Problem, ...]:
    """Addresses inside a network, file shares, and folders of somebody's own machine."""
    return (
        *_told(text, _addresses, lambda found: Sentence(
            "`{place}` is an address inside a network: it tells of that network, and nobody "
            "outside can reach it. Make it a parameter, or give a public address.", place=found)),
        *_told(text, _matches(_SHARE), lambda found: Sentence(
            "`{place}` is a file share: it tells of a network, and nobody outside can reach it. "
            "Make it a storage that the server names, or data with a public address.",
            place=found[:100])),
        *_told(text, _folders, lambda found: Sentence(
            "`{place}` is a folder of one person's machine: it tells their name, and other "
            "machines have no such folder. Take it out, or make it a parameter.", place=found)),
        *_told(text, _matches(_FILE), lambda found: Sentence(
            "`{place}` is a file of this machine, which others do not have. Put it into the "
            "repository, or give an address that everybody reaches.", place=found[:100])))


def data_in(text: str) -> tuple[Problem, ...]:
    """Values that are data rather than words of a component."""
    try:
        document = read(text)
    except ComponentError:
        return ()
    large = [(document.places[steps], words) for steps, words in _large(document.value)]
    coded = [(found.start(), _written_out(len(found[0]))) for found in _CODED.finditer(text)
             if not any(place.start <= found.start() < place.end for place, _ in large)]
    told = [*((place.start, words) for place, words in large), *coded]
    return tuple(_problem(text, start, words) for start, words in told[:MAX_TOLD])


def _secrets(text: str) -> Iterator[tuple[int, str]]:
    """Where they stand alone: what they are is kept out of every sentence."""
    for found in _TOKEN.finditer(text):
        yield found.start(), ""
    for pattern in (_LOGIN, _NAMED):
        for found in pattern.finditer(text):
            if not _NO_SECRET.search(found["value"]):
                yield found.start("value"), ""


def _addresses(text: str) -> Iterator[tuple[int, str]]:
    for pattern in (_IPV4, _IPV6):
        for found in pattern.finditer(text):
            if _is_private(found[0]):
                yield found.start(), found[0]
    for pattern in (_HOST, _SHORT_HOST, _REGISTRY):
        for found in pattern.finditer(text):
            if not _HERE.search(found["place"]):
                yield found.start("place"), found["place"]


def _is_private(text: str) -> bool:
    """Of somebody's network; `127.0.0.1` is the task's own, and `0.0.0.0` is any."""
    try:
        address = ipaddress.ip_address(text.rstrip(":"))
    except ValueError:
        return False
    return any(address in network for network in _NETWORKS)


def _folders(text: str) -> Iterator[tuple[int, str]]:
    for found in _FOLDER.finditer(text):
        if found["name"].lower() not in _OF_IMAGES:
            yield found.start(), found[0]


def _matches(pattern: re.Pattern[str]) -> Callable[[str], Iterator[tuple[int, str]]]:
    return lambda text: ((found.start(), found[0]) for found in pattern.finditer(text))


def _large(value: Any, steps: tuple[str | int, ...] = ()
           ) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The steps to each value that is too large to be read, with what to say of it."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in _WORDS:
                yield from _large(each, (*steps, key))
    elif isinstance(value, list):
        if len(value) > MAX_ITEMS:
            yield steps, Sentence(
                "This list has {count} items. Everybody who clones the repository gets them, for "
                "ever: put them into a file, and give its address as `data`.", count=len(value))
        else:
            for at, each in enumerate(value):
                yield from _large(each, (*steps, at))
    elif isinstance(value, str) and len(value) > MAX_VALUE:
        yield steps, _written_out(len(value))


def _written_out(length: int) -> str:
    return Sentence(
        "These are {count} characters of data, written out. Everybody who clones the repository "
        "gets them, for ever: put them into a file, and give its address as `data` or `script`.",
        count=length)


def _told(text: str, look: Callable[[str], Iterator[tuple[int, str]]],
          words: Callable[[str], str]) -> tuple[Problem, ...]:
    """One problem for each line and what was found in it, in the order of the text."""
    found = {(text.count("\n", 0, start), what): start for start, what in sorted(look(text))}
    return tuple(_problem(text, start, words(what))
                 for (_, what), start in list(found.items())[:MAX_TOLD])


def _problem(text: str, start: int, message: str) -> Problem:
    line = text.count("\n", 0, start) + 1
    return Problem(line=line, column=start - text.rfind("\n", 0, start), severity="warning",
                   message=message)
