"""Texts of the public web, fetched by address: only from where anybody could fetch them."""
from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Callable, Collection, Iterator, Sequence
from urllib.parse import quote, urljoin, urlsplit

from registry.errors import InvalidInputError, RegistryError
from registry.redaction import redacted
from runner.sentence import Sentence

MAX_BYTES = 256_000
TOTAL_S = 10.0
TURN_S = 2.0
MAX_REDIRECTS = 3
AT_ONCE = 4
CHUNK_BYTES = 1 << 14
PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)
_NAT64 = IPv6Network("64:ff9b::/96")
# Global by the registry of addresses, but where clouds keep services of their own.
_CLOUD = tuple(map(ip_network, ("168.63.129.16/32", "192.0.0.0/24")))
_GITHUB_FILE = re.compile(r"(?P<repository>/[^/]+/[^/]+)/blob/(?P<file>.+)")
_GITLAB_FILE = re.compile(r"(?P<repository>/.+)/-/blob/(?P<file>.+)")
_GIST = re.compile(r"/[^/]+/[0-9a-f]+/?")

Resolve = Callable[[str, int], Sequence[str]]


class WebError(InvalidInputError):
    """Nothing can be taken from an address; the message says why, and what to do instead."""

    code = "WebError"


@dataclass(frozen=True, kw_only=True)
class _Target:
    """One request: where to, and whether the operator named this server."""

    scheme: str
    host: str
    port: int
    path: str
    is_named: bool


def addresses_of(host: str, port: int) -> Sequence[str]:
    """Every address of a host; raises OSError or UnicodeError where it has none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


class PublicWeb:
    """Any number of threads may use it; a few at once are served.

    `origins`, such as `https://git.example.org`, are servers that are asked wherever they are;
    all others over https alone, at public addresses. `resolve` finds the addresses of a host: it
    is asked once for each request, and the connection goes where it says.
    """

    def __init__(self, origins: Collection[str] = (), *, resolve: Resolve = addresses_of) -> None:
        self._origins = frozenset(origins)
        self._resolve = resolve
        self._turns = threading.BoundedSemaphore(AT_ONCE)

    def text(self, address: str) -> str:
        """What stands at an address; that of a page which shows a file on GitHub means the file.

        Raises WebError.
        """
        if not self._turns.acquire(timeout=TURN_S):
            raise WebError(Sentence(
                "Several others import from the web right now. Try again in a moment."))
        try:
            return self._follow(raw_address(address.strip()))
        finally:
            self._turns.release()

    def _follow(self, address: str) -> str:
        give_up_at = time.monotonic() + TOTAL_S
        for _ in range(MAX_REDIRECTS + 1):
            with self._answer(self._target(address), give_up_at) as answer:
                if answer.status not in _REDIRECTS:
                    return _text(answer, urlsplit(address).hostname or "")
                address = urljoin(address, answer.getheader("Location") or "")
        raise WebError(Sentence(
            "The address leads from one to the next without end. Give that of the file itself."))

    def _target(self, address: str) -> _Target:
        """Raises WebError for an address that this server does not ask."""
        shown = redacted(address)[:200]
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise WebError(Sentence(
                "`{shown}` is no address. It must look like https://example.org/job.yaml.",
                shown=shown)) from None
        if not host or parts.scheme not in PORTS:
            raise WebError(Sentence(
                "`{shown}` is no address of the web. It must look like "
                "https://example.org/job.yaml.", shown=shown))
        if parts.username is not None or parts.password is not None:
            raise WebError(Sentence(
                "The address holds a login, which this server does not send. Download the file "
                "yourself, then import it as a file."))
        port = port or PORTS[parts.scheme]
        is_named = f"{parts.scheme}://{host}:{port}" in {_with_port(each) for each in self._origins}
        if not is_named and (parts.scheme, port) != ("https", PORTS["https"]):
            raise WebError(Sentence(
                "`{shown}` is not read: this server reads addresses that begin with https:// and "
                "name no port. Download the file yourself, then import it as a file.",
                shown=shown))
        query = f"?{parts.query}" if parts.query else ""
        return _Target(scheme=parts.scheme, host=host, port=port, is_named=is_named,
                       path=quote(f"{parts.path or '/'}{query}", safe="/%:@!$&'()*+,;=~?"))

    def _answer(self, target: _Target, give_up_at: float) -> closing[_Answer]:
        """The begin of an answer, no redirect followed; it ends at the latest at `give_up_at`."""
        try:
            return closing(_Answer(target, self._checked(target), give_up_at))
        except ssl.SSLCertVerificationError as error:
            raise WebError(Sentence(
                "{host} cannot prove that it is {host}: {reason}. Check the address.",
                host=target.host, reason=error.verify_message)) from error
        except (OSError, HTTPException, UnicodeError) as error:
            raise _silence(target.host, give_up_at) from error

    def _checked(self, target: _Target) -> Sequence[str]:
        """The addresses of a host, all of them public; raises WebError."""
        try:
            found = self._resolve(target.host, target.port)
        except (OSError, UnicodeError) as error:
            raise WebError(Sentence(
                "The host {host} is not known. Check the address.", host=target.host)) from error
        if not target.is_named and not all(map(is_public, found)):
            raise WebError(Sentence(
                "The host {host} is not on the public web, so this server does not read from it. "
                "Download the file yourself, then import it as a file; or an admin names the "
                "server in PAISHARE_IMPORT_FROM.", host=target.host))
        return found


class _Answer:
    """An answer on its way, from one of `addresses` and no other; close it."""

    def __init__(self, target: _Target, addresses: Sequence[str], give_up_at: float) -> None:
        self._host, self._give_up_at = target.host, give_up_at
        left = max(0.0, give_up_at - time.monotonic())
        plain = _connected(addresses, target.port, give_up_at)
        # What drips slowly keeps within each timeout: this ends it as a whole.
        self._kept = plain.dup()
        self._alarm = threading.Timer(left, self._cut)
        self._alarm.daemon = True
        self._alarm.start()
        self._connection = HTTPConnection(target.host, target.port)
        try:
            self._connection.sock = plain
            if target.scheme == "https":
                self._connection.sock = ssl.create_default_context().wrap_socket(
                    plain, server_hostname=target.host)
            self._connection.request("GET", target.path, headers={
                "Host": _host_header(target), "User-Agent": "paishare", "Connection": "close",
                "Accept": "text/plain, */*", "Accept-Encoding": "identity"})
            self._response: HTTPResponse = self._connection.getresponse()
        except BaseException:
            self.close()
            plain.close()
            raise
        self.status = self._response.status
        self.getheader = self._response.getheader

    def pieces(self) -> Iterator[bytes]:
        """Raises WebError where it breaks off."""
        try:
            while piece := self._response.read1(CHUNK_BYTES):
                yield piece
            if self._response.length:
                raise ConnectionError("the answer broke off")
        except (OSError, HTTPException) as error:
            raise _silence(self._host, self._give_up_at) from error
        if time.monotonic() > self._give_up_at:
            raise _silence(self._host, self._give_up_at)

    def close(self) -> None:
        self._alarm.cancel()
        self._connection.close()
        self._kept.close()

    def _cut(self) -> None:
        with suppress(OSError):
            self._kept.shutdown(socket.SHUT_RDWR)


def _connected(addresses: Sequence[str], port: int, give_up_at: float) -> socket.socket:
    """Raises OSError."""
    failure = OSError("the host has no address")
    for address in addresses:
        left = give_up_at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            return socket.create_connection((address, port), left)
        except OSError as error:
            failure = error
    raise failure


def _text(answer: _Answer, host: str) -> str:
    if answer.status in (401, 403, 404, 410):
        raise WebError(Sentence(
            "{host} has no such file for everybody to read (HTTP status {status}). Check the "
            "address; of a private file, import a copy as a file.", host=host,
            status=answer.status))
    if answer.status != 200:
        raise WebError(Sentence(
            "{host} answers with HTTP status {status}. Try again later.", host=host,
            status=answer.status))
    if (answer.getheader("Content-Type") or "").startswith("text/html"):
        raise WebError(Sentence(
            "The address leads to a web page, not to a file. Give the address of the file itself, "
            "often behind a button such as Raw or Download."))
    data = b""
    for piece in answer.pieces():
        data += piece
        if len(data) > MAX_BYTES:
            raise WebError(Sentence(
                "What is there is larger than 256 kB. A job is a small text: keep data in a file "
                "of its own and give its address."))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WebError(Sentence("What is there is no text in UTF-8, so it is no job.")) from None


def _silence(host: str, give_up_at: float) -> RegistryError:
    if time.monotonic() >= give_up_at:
        return WebError(Sentence(
            "{host} took longer than {seconds} seconds. Try again later, or download the file "
            "and import it as a file.", host=host, seconds=round(TOTAL_S)))
    return WebError(Sentence(
        "{host} does not answer, or breaks off. Check the address, and try again.", host=host))


def is_public(address: str) -> bool:
    """Whether anybody could reach an address, also where it stands for another one."""
    ip = ip_address(address)
    return all(each.is_global and not each.is_multicast
               and not any(each in net for net in _CLOUD if net.version == each.version)
               for each in _meant(ip))


def _meant(ip: IPv4Address | IPv6Address) -> tuple[IPv4Address | IPv6Address, ...]:
    if isinstance(ip, IPv4Address):
        return (ip,)
    if ip in _NAT64:
        return (IPv4Address(int(ip) & 0xFFFFFFFF),)
    if ip.ipv4_mapped:
        return (ip.ipv4_mapped,)
    return (ip, *((ip.sixtofour,) if ip.sixtofour else ()), *(ip.teredo or ()))


def raw_address(address: str) -> str:
    """The file that a page on GitHub, GitLab or of a gist shows; any other address as it is."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    host = parts.hostname
    if found := _GITLAB_FILE.fullmatch(parts.path):
        path = f"{found['repository']}/-/raw/{found['file']}"
        return parts._replace(path=path, query="", fragment="").geturl()
    if found := _GITHUB_FILE.fullmatch(parts.path):
        if host in ("github.com", "www.github.com"):
            return f"https://raw.githubusercontent.com{found['repository']}/{found['file']}"
        path = f"{found['repository']}/raw/{found['file']}"
        return parts._replace(path=path, query="", fragment="").geturl()
    if host == "gist.github.com" and _GIST.fullmatch(parts.path):
        return f"https://gist.github.com{parts.path.rstrip('/')}/raw"
    return address


def _with_port(origin: str) -> str:
    parts = urlsplit(origin)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or PORTS[parts.scheme]}"


def _host_header(target: _Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host.encode("idna").decode()
    return host if target.port == PORTS[target.scheme] else f"{host}:{target.port}"
