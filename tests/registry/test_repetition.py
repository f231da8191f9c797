"""What hinders others to run a component again, told with its line."""
import pytest

from registry.repetition import hindrances_in
from tests.fakes.web_home import HELLO


def told(text):
    return [(problem.line, problem.path, problem.severity) for problem in hindrances_in(text)]


def test_a_job_that_names_all_exactly_is_told_nothing():
    assert told(HELLO.replace("$$note$$", "$$note$$ $$nothing$$")) == []


@pytest.mark.parametrize("image, words", [
    ("busybox", "another one whenever its tag moves"),
    ("busybox:latest", "another one whenever its tag moves"),
    ("quay.io/team/torch:latest", "another one whenever its tag moves"),
    ("localhost/paishare/digits:1.0.0", "of the machine where it was built"),
    ("localhost:5000/digits:1.0.0", "of the machine where it was built")])
def test_an_image_that_moves_or_that_nobody_has_is_told(image, words):
    for text, path in ((HELLO.replace('uri: "busybox:1"', f'uri: "{image}"'),
                        "prerequisites[0].uri"),
                       (f'type: dockerimage\nname: a\nversion: 1.0.0\nuri: "{image}"\n', "uri")):
        (found, *_) = hindrances_in(text)
        assert found.path == path and words in found.message and found.severity == "warning"


@pytest.mark.parametrize("image", ["busybox:1", "busybox@sha256:" + "0" * 64, "$$image$$",
                                   "localhosts.example/a:1"])
def test_an_image_that_stays_what_it_is_is_not_told(image):
    assert hindrances_in(f'type: dockerimage\nname: a\nversion: 1.0.0\nuri: "{image}"\n') == ()


def test_a_parameter_that_nothing_uses_is_told_at_its_line():
    line = HELLO[:HELLO.index("nothing:")].count("\n") + 1
    assert told(HELLO) == [(line, "parameters.nothing", "warning")]
