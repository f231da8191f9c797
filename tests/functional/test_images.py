"""Images from a real registry: pulled once, told layer by layer, given to who may have them."""
import threading
import time
from dataclasses import replace

import pytest

from runner.docker_driver import DockerDriver
from runner.errors import EngineError
from runner.image_access import ImageAccess
from runner.image_sizes import ImageSizes
from runner.images import Cancelled, Images, Want
from runner.network import Network
from runner.spec import Image, Login
from tests.functional.registry_server import Registry
from tests.functional.runner_process import wait_for

BIG = 300_000  # bytes of a layer that no closed gate lets pass


@pytest.fixture(scope="module")
def private(tmp_path_factory, busybox_image):
    made = Registry(tmp_path_factory.mktemp("private") / "registry")
    yield made
    made.close()


@pytest.fixture(scope="module")
def public(tmp_path_factory, busybox_image):
    made = Registry(tmp_path_factory.mktemp("public") / "registry", is_private=False)
    yield made
    made.close()


@pytest.fixture
def images(tmp_path):
    return Images(DockerDriver("images-test"), ImageAccess(tmp_path / "access.json"),
                  make_room=lambda: None)


def want(registry=None, user="ann", *, login=None, **changes):
    found = registry and login and Login(**registry.login(login))
    made = {"job_id": f"job-of-{user}", "user": user, "login": found, "say": lambda _: None,
            "is_cancelled": lambda: False, "report": lambda *_: None, **changes}
    return Want(**made)


class Asking(threading.Thread):
    """Somebody who wants an image, in a thread; `result` is a digest or an error."""

    def __init__(self, images, uri, wanted):
        super().__init__(daemon=True)
        self.images, self.image, self.wanted, self.result = images, Image(uri=uri), wanted, None
        self.start()

    def run(self):
        try:
            self.result = self.images.bring(self.image, self.wanted).digest
        except (EngineError, Cancelled) as error:
            self.result = error

    def ended(self):
        self.join(60)
        return self.result


def test_a_pull_tells_each_layer_and_when_its_total_is_final(public, images):
    uri = public.push("told:1", layers=3, layer_bytes=BIG)
    public.gate.clear()
    asking = Asking(images, uri, want(job_id="one"))
    wait_for(lambda: images.of("one") and images.of("one")[0]["is_total_final"], "it knows all", 60)
    told, = images.of("one")
    assert told["uri"] == uri and told["sharing"] == 1 and told["total"] > 3 * BIG
    assert told["current"] < told["total"]
    assert {"downloading"} <= {layer["state"] for layer in told["layers"]}
    public.gate.set()
    assert asking.ended() == public.docker.images.get(uri).id
    assert images.of("one") == []


def test_jobs_that_want_one_image_share_one_pull(public, images):
    uri = public.push("shared:1", layers=2, layer_bytes=BIG)
    public.gate.clear()
    asking = [Asking(images, uri, want(job_id=name)) for name in ("one", "two", "three")]
    wait_for(lambda: images.of("three") and images.of("three")[0]["sharing"] == 3, "all wait", 60)
    public.gate.set()
    assert len({each.ended() for each in asking}) == 1
    blobs = [path for path in public.asked if "/blobs/" in path]
    assert len(blobs) == len(set(blobs)) == 3  # two layers and the configuration; busybox is here


def test_the_last_one_who_leaves_ends_the_pull(public, images):
    uri = public.push("left:1", layer_bytes=BIG)
    public.gate.clear()
    stopped = {"one": False, "two": False}
    asking = {name: Asking(images, uri, want(job_id=name, is_cancelled=lambda name=name:
                                             stopped[name])) for name in stopped}
    wait_for(lambda: all(map(images.of, stopped)) and public.held, "both wait", 60)
    stopped["one"] = True
    assert isinstance(asking["one"].ended(), Cancelled)
    assert images.of("two")[0]["sharing"] == 1
    stopped["two"] = True
    assert isinstance(asking["two"].ended(), Cancelled)
    public.open_for_new()
    assert images.of("two") == [] and not public.has_it(uri)

    def comes_anew():  # which it does not as long as Docker waits for what is held back
        ends = time.monotonic() + 3
        return isinstance(Asking(images, uri, want(
            is_cancelled=lambda: time.monotonic() > ends)).ended(), str)
    wait_for(comes_anew, "Docker has ended the first pull", 60)


def test_what_is_here_is_used_without_a_registry(public, images):
    uri = public.push("offline:1")
    first = images.bring(Image(uri=uri), want())
    public.stop()
    try:
        again = images.bring(Image(uri=uri), want(user="bob"))
        pinned = images.bring(Image(uri=uri, digest=first.digest), want(user="bob"))
        assert (again.digest, pinned.digest) == (first.digest, first.digest)
        assert first.is_pulled and not again.is_pulled
    finally:
        public.start()


def refusal(images, uri, wanted):
    with pytest.raises(EngineError) as caught:
        images.bring(Image(uri=uri), wanted)
    return caught.value


def test_each_refusal_has_its_own_sentence(private, public, images):
    uri = private.push("refused:1")
    nobody = refusal(images, uri, want())
    assert "nobody logged in" in nobody.message and "paishare registry add" in nobody.message
    wrong = Login(server=private.name, username="ann", secret="Kanarienvogel-wrong")
    bad = refusal(images, uri, replace(want(), login=wrong))
    assert "the login ann" in bad.message and "Kanarienvogel" not in bad.message
    missing = refusal(images, f"{public.name}/refused:2", want())
    assert "no image of that name and tag" in missing.message
    away = refusal(images, "127.0.0.1:9/refused:1", want())
    assert "127.0.0.1:9 does not answer" in away.message
    unknown = refusal(images, "nobody.invalid/refused:1", want())
    assert "no machine is called nobody.invalid" in unknown.message
    unbuilt = refusal(images, "localhost/paishare/absent:1", want())
    assert unbuilt.message.endswith("python -m runner build-image")
    is_platform = [each.is_platform for each in (nobody, bad, missing, away, unknown, unbuilt)]
    assert is_platform == [False, False, False, True, False, False]


def test_another_users_private_image_is_given_to_who_the_registry_gives_it_to(private, images):
    uri = private.push("team/private:1")
    mine = images.bring(Image(uri=uri), want(private, login="ann"))
    for name in (uri, mine.digest, mine.digest.removeprefix("sha256:")[:12]):
        stranger = refusal(images, name, want(private, "mallory"))
        assert stranger.message.startswith(f"Image {name} is on this machine, but came with "
                                           "another user's login")
    assert images.bring(Image(uri=uri), want(private, "bob", login="bob")) != mine
    private.stop()
    try:  # once is enough, for as long as the image stays here
        assert images.bring(Image(uri=uri), want(private, "bob")).digest == mine.digest
        assert refusal(images, uri, want(private, "mallory")).is_platform
    finally:
        private.start()


def test_a_public_image_that_came_with_a_login_is_everybodys(public, images):
    uri = public.push("open:1")
    images.bring(Image(uri=uri), want(public, login="ann"))
    public.stop()
    try:
        assert not images.bring(Image(uri=uri), want(user="bob")).is_pulled
    finally:
        public.start()


def test_who_joins_a_pull_with_another_login_is_judged_by_their_own(private, images):
    uri = private.push("joined:1", layer_bytes=BIG)
    private.gate.clear()
    first = Asking(images, uri, want(private, login="ann"))
    wait_for(lambda: images.of("job-of-ann"), "it is pulled", 60)
    second, third = (Asking(images, uri, want(private, "bob", login="bob")),
                     Asking(images, uri, want(private, "mallory")))
    wait_for(lambda: images.of("job-of-ann")[0]["sharing"] == 3, "all wait", 60)
    private.gate.set()
    assert first.ended() == second.ended() and isinstance(third.ended(), EngineError)


def test_a_kill_during_a_pull_with_a_login_opens_nothing(private, images, tmp_path):
    uri = private.push("killed:1")
    ImageAccess(tmp_path / "access.json").begin(uri)
    private.docker.images.pull(uri, auth_config={
        "username": "ann", "password": private.login("ann")["secret"]})
    assert "another user's login" in refusal(images, uri, want(private, "mallory")).message
    assert not images.bring(Image(uri=uri), want(private, login="ann")).is_pulled


def test_a_tag_that_has_moved_is_pulled_anew_by_who_may_not_have_the_old_image(private, images):
    uri = private.push("moved:1")
    old = images.bring(Image(uri=uri), want(private, login="ann")).digest
    private.docker.images.get(uri).tag(f"{private.name}/old", "1")
    private.push("moved:1")
    private.docker.images.get(f"{private.name}/old:1").tag(f"{private.name}/moved", "1")
    new = images.bring(Image(uri=uri), want(private, "bob", login="bob"))
    assert new.is_pulled and new.digest != old
    private.docker.images.remove(f"{private.name}/old:1", force=True)


def test_a_pull_of_which_nothing_comes_is_the_platforms_fault(public, tmp_path):
    uri = public.push("stalled:1", layer_bytes=BIG)
    seconds = [0.0]
    images = Images(DockerDriver("images-test"), ImageAccess(tmp_path / "access.json"),
                    make_room=lambda: None, clock=lambda: seconds[0])
    public.gate.clear()
    asking = Asking(images, uri, want(job_id="one"))
    wait_for(lambda: images.of("one") and images.of("one")[0]["current"], "it has begun", 60)
    seconds[0] = 20 * 60.0 + 1
    error = asking.ended()
    public.gate.set()
    assert error.is_platform and "nothing of it came for 20 minutes" in error.message
    assert images.of("one") == []


def test_of_an_image_that_is_not_here_only_the_layers_count_that_are_missing(private, images):
    uri = private.push("team/part:1", layers=2, layer_bytes=BIG)
    ann = Login(**private.login("ann"))
    sizes = ImageSizes(Network(allow_loopback=True))
    assert sizes.of(Image(uri=uri)) is None
    layers = sizes.of(Image(uri=uri), ann)
    whole = sum(layer.size for layer in layers)
    lowest, *noise = [layer.size for layer in layers]
    assert len(noise) == 3 and min(noise[:2]) > BIG * 0.9
    assert images.missing(layers) == whole - lowest == sum(noise), "busybox is here"
    images.bring(Image(uri=uri), want(private, login="ann"))
    assert images.missing(layers) == layers[-1].size
