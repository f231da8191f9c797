"""How much a registry would send of an image that everybody may have: read from its manifest."""
from __future__ import annotations

import json
import platform
import re
import threading
import time
from typing import Any, Callable

import requests

from runner.errors import StagingError
from runner.network import ASK_S, Network
from runner.spec import DOCKER_HUB, Image

HUB_HOST = "registry-1.docker.io"
REMEMBERED_S = 300.0
MAX_BYTES = 4 << 20
KINDS = ("application/vnd.oci.image.index.v1+json",
         "application/vnd.docker.distribution.manifest.list.v2+json",
         "application/vnd.oci.image.manifest.v1+json",
         "application/vnd.docker.distribution.manifest.v2+json")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class ImageSizes:
    """Asks as nobody, briefly; what it was told it remembers for some minutes."""

    def __init__(self, network: Network, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._network, self._clock = network, clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, int | None]] = {}

    def of(self, image: Image) -> int | None:
        """Bytes of all layers, some of which may be here; None where nobody says."""
        with self._lock:
            now_s = self._clock()
            self._known = {uri: each for uri, each in self._known.items() if each[0] > now_s}
            if image.uri in self._known:
                return self._known[image.uri][1]
        size = self._asked(image)
        with self._lock:
            self._known[image.uri] = (now_s + REMEMBERED_S, size)
        return size

    def _asked(self, image: Image) -> int | None:
        host, repository, reference = _parts(image)
        scheme = "http" if re.match(r"(127\.|localhost(:|$))", host) else "https"
        try:
            with self._network.brief_session() as session:
                visit = _Visit(session, f"{scheme}://{host}/v2/{repository}/manifests")
                manifest = visit.manifest(reference)
                if "manifests" in manifest:
                    manifest = visit.manifest(_digest_for_us(manifest["manifests"]))
            return sum(int(layer["size"]) for layer in manifest["layers"])
        except (StagingError, requests.RequestException, LookupError, TypeError, ValueError):
            return None


class _Visit:
    """The manifests of one repository."""

    def __init__(self, session: requests.Session, address: str) -> None:
        self._session, self._address = session, address
        self._headers = {"Accept": ", ".join(KINDS), "User-Agent": "paishare"}

    def manifest(self, reference: str) -> dict[str, Any]:
        """Raises requests.RequestException, StagingError or ValueError where there is none."""
        address = f"{self._address}/{reference}"
        answer = self._get(address)
        if answer.status_code == 401 and "Authorization" not in self._headers:
            self._headers["Authorization"] = f"Bearer {self._token(answer)}"
            answer = self._get(address)
        answer.raise_for_status()
        return _small_json(answer)

    def _token(self, answer: requests.Response) -> str:
        asked = dict(_CHALLENGE.findall(answer.headers.get("WWW-Authenticate", "")))
        given = self._session.get(
            asked["realm"], params={key: asked[key] for key in ("service", "scope")
                                    if key in asked}, timeout=ASK_S, stream=True)
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
