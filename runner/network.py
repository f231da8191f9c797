"""Connections to the outside that end at an address which was checked, and nowhere else."""
from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Mapping

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util.connection import create_connection
from urllib3.util.retry import Retry

from runner.errors import StagingError
from runner.sentence import Sentence
from runner.uris import mask, split_web

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 30
ASK_S = 2
RETRIES = Retry(total=3, backoff_factor=0.3, status_forcelist=(429, 500, 502, 503, 504),
                raise_on_status=False, retry_after_max=10)
_LASTING_ERRORS = (requests.exceptions.SSLError, requests.exceptions.TooManyRedirects,
                   requests.exceptions.InvalidSchema, requests.exceptions.InvalidURL)
_STATUS_HINTS = {
    401: Sentence("It asks for a login, which jobs cannot give: is it private? Use one that all "
                  "may read"),
    403: Sentence("It may not be read by everyone. Use one that all may read"),
    404: Sentence("There is nothing at this address. Check it in a browser"),
    410: Sentence("It was taken away for good. Look for another copy"),
}
_NAT64 = IPv6Network("64:ff9b::/96")
# Where clouds hand out the machine's own credentials, beside 169.254.169.254.
_METADATA = frozenset(map(ip_address, (
    "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")))


class Network:
    """`allow_loopback`: whether jobs may reach servers of this machine by 127.0.0.1 or ::1."""

    def __init__(self, *, allow_loopback: bool = False) -> None:
        self._allow_loopback = allow_loopback

    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """Every address of a host; raises StagingError when it has none or one is forbidden."""
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise StagingError(Sentence(
                "The host {host} is not known ({error}). Check its name and the network of this "
                "machine.", host=host, error=error), is_platform=True) from error
        addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            if not self.is_allowed(address):
                raise StagingError(Sentence(
                    "The host {host} is at {address}, an address that jobs may not reach. Use a "
                    "server that others can reach too.", host=host, address=address))
        return addresses

    def is_allowed(self, address: str) -> bool:
        """Whether jobs may reach an address, also where an IPv6 address stands for an IPv4 one."""
        ip = _embedded(ip_address(address))
        if ip.is_loopback:
            return self._allow_loopback
        return not (ip.is_link_local or ip.is_multicast or ip.is_unspecified
                    or ip in _METADATA or (ip.version == 4 and ip.is_reserved))

    def session(self) -> requests.Session:
        """A session whose every connection, redirects included, is checked.

        It takes no proxy, password or certificate from the runner's surroundings.
        """
        session = requests.Session()
        self.guard(session)
        return session

    def guard(self, session: requests.Session) -> None:
        """Make a session one as `session` gives."""
        session.trust_env = False
        session.max_redirects = 10
        adapter = _CheckedAdapter(self)
        session.mount("http://", adapter)
        session.mount("https://", adapter)

    def brief_session(self) -> requests.Session:
        """One for what somebody waits for: nothing is tried again, few redirects are followed."""
        session = self.session()
        session.max_redirects = 3
        for scheme in ("http://", "https://"):
            session.mount(scheme, _CheckedAdapter(self, Retry(total=0)))
        return session

    def size(self, uri: str) -> int | None:
        """How many bytes a file of the web has; None where its server does not say so at once."""
        try:
            split_web(uri)
            with self.brief_session() as session:
                answer = session.head(uri, headers={"Accept-Encoding": "identity",
                                                    "User-Agent": "paishare"},
                                      timeout=ASK_S, allow_redirects=True)
        except (StagingError, requests.RequestException):
            return None
        length = answer.headers.get("content-length", "")
        return int(length) if answer.status_code == 200 and length.isdigit() else None

    @staticmethod
    def get(session: requests.Session, uri: str, headers: Mapping[str, str]) -> requests.Response:
        """Ask for a URI, its body not yet read; raises StagingError when nobody answers."""
        try:
            return session.get(uri, headers=headers, stream=True,
                               timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S))
        except _LASTING_ERRORS as error:
            raise StagingError(Sentence(
                "{uri} cannot be fetched: {error}. Check the address.", uri=mask(uri),
                error=_innermost(error))) from error
        except requests.RequestException as error:
            raise StagingError(Sentence(
                "{uri} is out of reach ({error}). Check the address and the network of this "
                "machine.", uri=mask(uri), error=_innermost(error)), is_platform=True) from error


def refusal(uri: str, status: int) -> StagingError:
    """What an HTTP status of 400 or more means for the job that needs the URI."""
    is_platform = status >= 500 or status == 429
    hint = _STATUS_HINTS.get(
        status, Sentence("Try again later") if is_platform
        else Sentence("Check the address in a browser"))
    return StagingError(Sentence(
        "{uri} answers with HTTP status {status}. {hint}.", uri=mask(uri), status=status,
        hint=hint), is_platform=is_platform)


def _innermost(error: Exception) -> str:
    """The first cause: what requests wraps around it repeats the address three times."""
    cause: BaseException = error
    while inner := (cause.__cause__ or cause.__context__):
        cause = inner
    return mask(str(cause)) or type(cause).__name__


def _embedded(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(ip, IPv6Address):
        if ip in _NAT64:
            return IPv4Address(int(ip) & 0xFFFFFFFF)
        return ip.ipv4_mapped or ip.sixtofour or ip
    return ip


class _CheckedAdapter(HTTPAdapter):
    def __init__(self, network: Network, retries: Retry = RETRIES) -> None:
        self._network = network
        super().__init__(max_retries=retries)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _checked_pools(self._network)


def _checked_pools(network: Network) -> dict[str, type[HTTPConnectionPool]]:
    class CheckedHTTPConnection(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return _connect(self, network)

    class CheckedHTTPSConnection(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return _connect(self, network)

    class CheckedHTTPPool(HTTPConnectionPool):
        ConnectionCls = CheckedHTTPConnection

    class CheckedHTTPSPool(HTTPSConnectionPool):
        ConnectionCls = CheckedHTTPSConnection

    return {"http": CheckedHTTPPool, "https": CheckedHTTPSPool}


def _connect(connection: HTTPConnection, network: Network) -> socket.socket:
    """A socket to the first address that answers; the name is not looked up a second time."""
    failure: Exception | None = None
    for address in network.addresses(connection.host, connection.port):
        try:
            return create_connection(
                (address, connection.port), connection.timeout,
                source_address=connection.source_address,
                socket_options=connection.socket_options)
        except TimeoutError:
            failure = ConnectTimeoutError(connection, f"{connection.host} does not answer")
        except OSError as error:
            failure = NewConnectionError(connection, f"{connection.host}: {error}")
    raise failure or NewConnectionError(connection, f"{connection.host} has no address")
