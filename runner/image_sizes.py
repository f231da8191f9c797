"""How large the layers of an image are, as its registry says: read from its manifest."""
from __future__ import annotations

import base64
import json
import platform
import re
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import requests

from runner.errors import StagingError
from runner.network import ASK_S, Network
from runner.spec import DOCKER_HUB, Image, Login

HUB_HOST = "registry-1.docker.io"
REMEMBERED_S = 300.0
MAX_BYTES = 4 << 20
KINDS = ("application/vnd.oci.image.index.v1+json",
         "application/vnd.docker.distribution.manifest.list.v2+json",
         "application/vnd.oci.image.manifest.v1+json",
         "application/vnd.docker.distribution.manifest.v2+json")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, kw_only=True)
class Layer:
    """`size` is what the registry sends; `diff_id` the digest of what it unpacks to.

    An empty `diff_id`: nobody else has it, or nobody says.
    """

    diff_id: str
    size: int


class ImageSizes:
    """Asks briefly, as its user where there is a login; what it was told it remembers a while."""

    def __init__(self, network: Network, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._network, self._clock = network, clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, Login | None], tuple[float, Sequence[Layer] | None]] = {}

    def of(self, image: Image, login: Login | None = None) -> Sequence[Layer] | None:
        """All layers from the lowest on, and what describes them; None where nobody says."""
        asked = (image.uri, login)
        with self._lock:
            now_s = self._clock()
            self._known = {key: each for key, each in self._known.items() if each[0] > now_s}
            if asked in self._known:
                return self._known[asked][1]
        layers = self._asked(image, login)
        with self._lock:
            self._known[asked] = (now_s + REMEMBERED_S, layers)
        return layers

    def _asked(self, image: Image, login: Login | None) -> Sequence[Layer] | None:
        host, repository, reference = _parts(image)
        scheme = "http" if re.match(r"(127\.|localhost(:|$))", host) else "https"
        try:
            with self._network.brief_session() as session:
                visit = _Visit(session, f"{scheme}://{host}/v2/{repository}", login)
                manifest = visit.read(f"manifests/{reference}")
                if "manifests" in manifest:
                    manifest = visit.read(f"manifests/{_digest_for_us(manifest['manifests'])}")
                sizes = [int(layer["size"]) for layer in manifest["layers"]]
                return (*(Layer(diff_id=diff_id, size=size) for diff_id, size in zip(
                    visit.diff_ids(manifest["config"], len(sizes)), sizes)),
                    Layer(diff_id="", size=int(manifest["config"]["size"])))
        except (StagingError, requests.RequestException, LookupError, TypeError, ValueError):
            return None


class _Visit:
    """What one repository of a registry tells whoever logs in so; None is nobody."""

    def __init__(self, session: requests.Session, address: str, login: Login | None) -> None:
        self._session, self._address, self._login = session, address, login
        self._headers = {"Accept": ", ".join(KINDS), "User-Agent": "paishare"}

    def read(self, path: str) -> dict[str, Any]:
        """Raises requests.RequestException, StagingError or ValueError where there is none."""
        address = f"{self._address}/{path}"
        answer = self._get(address)
        if answer.status_code == 401 and "Authorization" not in self._headers:
            self._headers["Authorization"] = self._authorization(answer)
            answer = self._get(address)
        answer.raise_for_status()
        return _small_json(answer)

    def diff_ids(self, config: dict[str, Any], count: int) -> Sequence[str]:
        """What each layer unpacks to; of a config that does not say so of all, nothing."""
        try:
            found = self.read(f"blobs/{config['digest']}")["rootfs"]["diff_ids"]
        except (requests.RequestException, LookupError, TypeError, ValueError):
            found = ()
        return list(map(str, found)) if len(found) == count else [""] * count

    def _authorization(self, answer: requests.Response) -> str:
        """Raises LookupError where the registry asks for what nobody can give."""
        challenge = answer.headers.get("WWW-Authenticate", "")
        if challenge.lower().startswith("basic"):
            return self._basic()["Authorization"]
        return f"Bearer {self._token(dict(_CHALLENGE.findall(challenge)))}"

    def _basic(self) -> dict[str, str]:
        if self._login is None:
            return {}
        text = f"{self._login.username}:{self._login.secret}".encode()
        return {"Authorization": f"Basic {base64.b64encode(text).decode()}"}

    def _token(self, asked: dict[str, str]) -> str:
        """Of whom the registry names; no login goes there over a connection that others read."""
        is_safe = asked["realm"].startswith("https://") or self._address.startswith("http://")
        given = self._session.get(
            asked["realm"], params={key: asked[key] for key in ("service", "scope")
                                    if key in asked},
            headers=self._basic() if is_safe else {}, timeout=ASK_S, stream=True)
        found = _small_json(given)
        return str(found.get("token") or found["access_token"])

    def _get(self, address: str) -> requests.Response:
        return self._session.get(address, headers=self._headers, timeout=ASK_S, stream=True)


def _small_json(answer: requests.Response) -> dict[str, Any]:
    """Raises ValueError for what is too large, or no JSON object."""
    text = b""
    for piece in answer.iter_content(1 << 16):
        text += piece
        if len(text) > MAX_BYTES:
            raise ValueError("too large")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def _digest_for_us(manifests: list[dict[str, Any]]) -> str:
    """Raises LookupError where no image is for machines such as this one."""
    wanted = ARCHITECTURES.get(platform.machine(), platform.machine())
    return [str(each["digest"]) for each in manifests
            if each["platform"]["architecture"] == wanted
            and each["platform"]["os"] == "linux"][0]


def _parts(image: Image) -> tuple[str, str, str]:
    """Host, repository, and tag or digest of the image's name."""
    name, at, digest = image.uri.partition("@")
    first, slash, rest = name.partition("/")
    is_server = slash and ("." in first or ":" in first or first == "localhost")
    host, path = (first, rest) if is_server else (HUB_HOST, name)
    repository, _, tag = path.partition(":")
    if image.server == DOCKER_HUB:
        host = HUB_HOST
        repository = repository if "/" in repository else f"library/{repository}"
    return host, repository, digest if at else tag or "latest"
