"""One table of references: page, use-link, API and command line give the same bytes or refusal."""
import hashlib
import html
import re
import threading
from urllib.parse import quote

import pytest
from werkzeug.serving import make_server

from registry import cli
from tests.fakes.web_home import WebHome, write_home, write_repository

PLAIN = """\
type: job
name: {name}
{version}contributor: Ann
description: {about}
prerequisites: [{{name: busybox, type: dockerimage, uri: "busybox:1"}}]
tasks:
  - role: main
    resource: {{resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: [echo hello]
"""
DATA = "type: data\nname: both\nversion: 1.0.0\ndescription: x\nuri: https://example.org/x\n"
REASON = "It holds names of people."


def job(name, version="", about="A job."):
    return PLAIN.format(name=name, version=f"version: {version}\n" if version else "", about=about)


FIRST = [{"job/train.yaml": job("train", version)} for version in ("1.0.0", "1.0.1", "1.1.0")] + [
    {"job/train.yaml": job("train", "1.1.0", "Other bytes.")},
    {"job/train.yaml": job("train", "1.2.0"), "job/plain.yaml": job("plain", about="Old.")},
    {"job/train.yaml": job("train", "1.3.0"), "job/plain.yaml": job("plain", about="New."),
     "job/early.yaml": job("early", "0.1.0-alpha"), "job/pulled.yaml": job("pulled", "1.0.0")},
    {"job/train.yaml": job("train", "2.0.0-beta.1"), "job/shared.yaml": job("shared", "1.0.0"),
     "job/secret.yaml": job("secret", "1.0.0"), "job/early.yaml": job("early", "0.1.0-beta")},
    {"job/train.yaml": job("train", "1.0.5"), "data/both.yaml": DATA,
     "job/both.yaml": job("both", "1.0")}]
SECOND = [{"job/shared.yaml": job("shared", "2.0.0")}]

CASES = [  # reference; the text that it means, or the code of the refusal
    ("train", job("train", "1.2.0")), ("job/train", job("train", "1.2.0")),
    ("train@latest", job("train", "1.2.0")), ("examples:train", job("train", "1.2.0")),
    ("examples:job/train@latest", job("train", "1.2.0")),
    ("train@1.0.0", job("train", "1.0.0")), ("train@1.0.5", job("train", "1.0.5")),
    ("train@1.1.0", job("train", "1.1.0")), ("examples:job/train@1.1.0", job("train", "1.1.0")),
    ("train@1.3.0", job("train", "1.3.0")), ("train@2.0.0-beta.1", job("train", "2.0.0-beta.1")),
    ("train@^1.0", job("train", "1.2.0")), ("job/train@~1.0", job("train", "1.0.5")),
    ("train@>=1 <1.2", job("train", "1.1.0")), ("train@1.0.x", job("train", "1.0.5")),
    ("train@1.0", job("train", "1.0.5")), ("train@*", job("train", "1.2.0")),
    ("train@v1.0.0", job("train", "1.0.0")), ("train@^2.0.0-beta", job("train", "2.0.0-beta.1")),
    ("train@<1.1 || >=3", job("train", "1.0.5")), ("train@1.0.0 - 1.1", job("train", "1.1.0")),
    ("train@{1.1.0}", job("train", "1.1.0")),
    ("train@{moved}", job("train", "1.1.0", "Other bytes.")),
    ("job/train@{moved:7}", job("train", "1.1.0", "Other bytes.")),
    ("train@{1.3.0}", job("train", "1.3.0")), ("shared@{1.3.0}", "NotFound"),
    ("plain@{1.2.0}", job("plain", about="Old.")), ("plain", job("plain", about="New.")),
    ("plain@{2.0.0-beta.1}", job("plain", about="New.")),
    ("early@0.1.0-alpha", job("early", "0.1.0-alpha")),
    ("early@^0.1.0-alpha", job("early", "0.1.0-beta")), ("early", "NotFound"),
    ("early@latest", "NotFound"), ("early@^0.1", "NotFound"),
    ("pulled", "NotFound"), ("pulled@^1", "NotFound"), ("pulled@1.0.0", job("pulled", "1.0.0")),
    ("both", "Conflict"), ("job/both", job("both", "1.0")), ("job/both@1", job("both", "1.0")),
    ("both@1.0", job("both", "1.0")), ("shared", "Conflict"), ("job/shared@*", "Conflict"),
    ("shared@1.0.0", job("shared", "1.0.0")), ("shared@^2", job("shared", "2.0.0")),
    ("second:shared", job("shared", "2.0.0")), ("second:shared@1.0.0", "NotFound"),
    ("third:shared", "NotFound"), ("secret", "Gone"), ("secret@1.0.0", "Gone"),
    ("train@1.0.1", "Gone"), ("train@{1.0.1}", "Gone"), ("secret@{2.0.0-beta.1}", "Gone"),
    ("secret@^9", "Gone"), ("train@9.9.9", "NotFound"), ("train@^9", "NotFound"),
    ("train@abcdef1", "NotFound"), ("train@^one", "InvalidInput"), ("train@>>1", "InvalidInput"),
    ("nothing", "NotFound"), ("job/trian", "NotFound"), ("jobs/train", "NotFound"),
    ("job/train@", "InvalidInput"), ("job/tr ain", "InvalidInput"),
    ("job/Zug\u00e4", "InvalidInput")]
STATUS = {"InvalidInput": 400, "NotFound": 404, "Conflict": 409, "Gone": 410}
EXIT = {"InvalidInput": 1, "NotFound": 4, "Conflict": 1, "Gone": 4}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two sources with yanked, moved and deleted versions, served over HTTP."""
    folder = tmp_path_factory.mktemp("surfaces")
    write_home(folder / "made" / "home", *FIRST)
    write_repository(folder / "second", *SECOND)
    web = WebHome(folder / "made" / "home", folder)
    web.services.sources.add_folder(str(folder / "second"), name="second", owner_id=None)
    web.sync()
    commits = {each.version if not each.is_moved else "moved": each.commit
               for each in web.services.catalog.versions("job", "train")}
    admin = web.program("admin")
    for reference in ("train@1.3.0", "pulled@1.0.0"):
        assert admin.post("/marks", {"kind": "yanked", "reference": reference,
                                     "reason": "It never ends."}).status_code == 201
    for reference in ("train@1.0.1", "secret@1.0.0"):
        assert admin.post("/purges", {"reference": reference,
                                      "reason": REASON}).status_code == 201
    server = make_server("127.0.0.1", 0, web.app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield web, f"http://127.0.0.1:{server.server_port}", commits
    server.shutdown()
    thread.join()
    server.server_close()
    web.close()


@pytest.fixture(params=CASES, ids=lambda case: case[0])
def case(request, world):
    """A reference with its commits filled in, and what it means."""
    reference, wanted = request.param
    for name, length in re.findall(r"\{([^:}]+)(?::(\d+))?\}", reference):
        reference = reference.replace("{" + name + (f":{length}" if length else "") + "}",
                                      world[2][name][:int(length or 40)])
    return reference, wanted


def blob_of(text):
    data = text.encode()
    return hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()


def test_the_page(world, case):
    reference, wanted = case
    answer = world[0].browser().get(f"/c/{quote(reference)}")
    if wanted in STATUS:
        assert answer.status_code == STATUS[wanted]
    else:
        assert re.search(r'Blob</dt><dd><code title="(\w+)"', answer.text)[1] == blob_of(wanted)
        lines = re.findall(r'<span class="line" id="L\d+">(.*)\n', answer.text)
        assert html.unescape("\n".join(lines)) + "\n" == wanted


@pytest.fixture(scope="module")
def ann(world):
    return world[0].browser("ann")


def test_the_link_to_use_it(case, ann):
    reference, wanted = case
    answer = ann.get(f"/use/{quote(reference)}")
    if wanted in STATUS:
        assert answer.status_code == STATUS[wanted]
    else:
        text = re.search(r'<textarea id="yaml".*?>\n(.*?)</textarea>', answer.text, re.S)[1]
        assert html.unescape(text) == wanted


def test_the_api(world, case):
    reference, wanted = case
    visitor = world[0].program()
    answer = visitor.get("/resolve", reference=reference)
    if wanted in STATUS:
        assert (answer.status_code, answer.json["code"]) == (STATUS[wanted], wanted)
        return
    found = answer.json
    assert found["blob"] == blob_of(wanted)
    entry = visitor.get(f"/components/{found['type']}/{found['name']}", source=found["source"],
                        version=reference.partition("@")[2]).json
    assert (entry["text"], entry["commit"]) == (wanted, found["commit"])
    again = visitor.get("/resolve", reference=found["exact_reference"]).json
    assert again["blob"] == found["blob"]


def test_the_command_line(world, case, monkeypatch, tmp_path, capsys):
    reference, wanted = case
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PAISHARE_URL", world[1])
    monkeypatch.delenv("PAISHARE_TOKEN", raising=False)
    code = cli.main(["show", reference, "--yaml"])
    out, err = capsys.readouterr()
    if wanted in STATUS:
        message = world[0].program().get("/resolve", reference=reference).json["message"]
        assert code == EXIT[wanted] and err.startswith(f"paishare: {message}")
    else:
        assert (code, out) == (0, wanted)


def test_a_job_that_is_submitted_by_reference_runs_these_bytes(world, case):
    reference, wanted = case
    answer = world[0].program("ann").post("/resolve", {"reference": reference})
    if wanted in STATUS:
        assert (answer.status_code, answer.json["code"]) == (STATUS[wanted], wanted)
    else:
        assert answer.json["spec"]["yaml"] == wanted
        assert answer.json["spec"]["origin"]["blob"] == blob_of(wanted)
