"""Export and import as an operator runs them: a catalog leaves one machine and works on another."""
import base64
import os
import subprocess
import sys

import pytest

from tests.fakes.web_home import FILES, write_home
from tests.functional.product import Product
from tests.functional.runner_process import ROOT, wait_for

OTHER_KEY = "ed25519:" + base64.b64encode(bytes(range(32))).decode()


def paishare(home, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "registry.cli", *map(str, arguments)], cwd=ROOT, text=True,
        env={**os.environ, "PAISHARE_HOME": str(home)}, capture_output=True, timeout=120)


@pytest.fixture
def exported(tmp_path):
    write_home(tmp_path / "home", FILES)
    done = paishare(tmp_path / "home", "export", tmp_path / "catalog.tar.gz")
    assert done.returncode == 0, done.stderr
    assert "2 versions of 1 sources" in done.stdout
    return tmp_path / "catalog.tar.gz"


def test_a_server_serves_what_was_imported_and_dumps_it_itself(exported, tmp_path):
    (tmp_path / "examples").rename(tmp_path / "gone")
    key = paishare(tmp_path / "home", "export", "--public-key").stdout.strip()
    done = paishare(tmp_path / "twin", "import", exported, "--key", key)
    assert done.returncode == 0, done.stderr
    product = Product(tmp_path / "twin", PAISHARE_RUNNER_URL="unix:/nowhere",
                      PAISHARE_SYNC_INTERVAL_S="1")
    product.is_up = lambda: True
    product.start()
    try:
        wait_for(lambda: product.get("/components")["total"] == 2, "the search index is made", 60)
        source, = product.get("/sources")["sources"]
        assert "is not there" in source["sync_error"] and source["components"] == 2
        assert product.get("/components/job/hello")["version"] == "1.0.0"
        wait_for(lambda: product.get("/dumps")["dumps"], "the nightly dump is made", 60)
        again = product.http.get(f"{product.url}/api/v3/dumps/latest")
        (tmp_path / "again.tar.gz").write_bytes(again.content)
        own_key = product.get("/dumps/key")["public_key"]
        assert own_key != key
    finally:
        product.close()
    assert paishare(tmp_path / "third", "import", tmp_path / "again.tar.gz", "--key",
                    own_key).returncode == 0
    hashes = {paishare(tmp_path / name, "catalog", "hash", *how).stdout
              for name, how in (("home", ()), ("twin", ()), ("third", ("--rebuild",)))}
    assert len(hashes) == 1 and len(hashes.pop()) == 65
    log = (tmp_path / "twin/logs/sync.log").read_text()
    assert log.count("is not there") == 1


def test_what_goes_wrong_is_one_sentence_with_the_next_step(exported, tmp_path):
    for arguments, text in (
            (("import", exported), "has 1 sources already"),
            (("import", tmp_path / "nothing"), "cannot be read: No such file"),
            (("import", exported, "--key", "x"), "is no public key"),
            (("import", exported, "--key", OTHER_KEY), "signed with another key"),
            (("export", tmp_path / "no" / "where"), "Name a file in a folder"),
            (("export",), "Name the file to write, or ask for --public-key")):
        is_elsewhere = "--key" in arguments or tmp_path / "nothing" in arguments
        home = "twin" if is_elsewhere else "home"
        done = paishare(tmp_path / home, *arguments)
        assert done.returncode in (1, 2) and text in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    assert "There is no catalog" in paishare(tmp_path / "new", "export", tmp_path / "x").stderr
