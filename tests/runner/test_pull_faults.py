"""What Docker says of a pull → a sentence of ours, and whether it is tried again."""
import pytest

from runner import pull_faults
from runner.spec import Login

ANN = Login(server="r.example", username="ann", secret="Kanarienvogel")


@pytest.mark.parametrize("said, expected, is_passing", [
    ("manifest for r.example/x:1 not found: manifest unknown: manifest unknown",
     "r.example has no image of that name and tag", False),
    ("pull access denied for x, repository does not exist or may require 'docker login': denied",
     "r.example refuses it with the login ann", False),
    ('Head "https://r.example/v2/x/manifests/1": no basic auth credentials',
     "r.example refuses it with the login ann", False),
    ("toomanyrequests: You have reached your pull rate limit", "too many requests", True),
    ("failed to register layer: write /x: no space left on device", "disk of this machine", True),
    ('Get "https://r.example/v2/": dial tcp 10.0.0.1:443: connect: connection refused',
     "r.example does not answer", True),
    ('Get "https://r.example/v2/": net/http: TLS handshake timeout', "does not answer", True),
    ('Get "https://r.example/v2/": dial tcp: lookup r.example: Temporary failure',
     "does not answer", True),
    ('Get "https://r.example/v2/": dial tcp: lookup r.example on 10.0.0.2:53: no such host',
     "no machine is called r.example", False),
    ("received unexpected HTTP status: 503 Service Unavailable", "does not answer", True),
    ('Get "https://r.example/v2/": http: server gave HTTP response to HTTPS client',
     "r.example is not trusted by Docker", False),
    ('Get "https://r.example/v2/": x509: certificate signed by unknown authority',
     "r.example is not trusted by Docker", False),
    ("no matching manifest for linux/arm64 in the manifest list", "other kinds of machines", False),
    ("invalid reference format: repository name must be lowercase", "no name of an image", False),
    ("something new", "Docker says: something new", False)])
def test_each_fault_has_its_sentence(said, expected, is_passing):
    error = pull_faults.explained("r.example/x:1", "r.example", said, login=ANN)
    assert error.message.startswith("Image r.example/x:1 is not on this machine and cannot be "
                                    "pulled: ")
    assert expected in error.message and error.is_platform is is_passing
    assert "Kanarienvogel" not in error.message
    assert pull_faults.is_disk_full(error.message) is ("no space" in said)
