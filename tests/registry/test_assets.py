"""What the pages load is what frontend/ builds, and browsers keep it for good."""
import filecmp
import gzip

import pytest

from tests.frontend import ROOT, built

DIST = ROOT / "registry" / "static" / "dist"


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    return built(tmp_path_factory.mktemp("frontend"))


def test_what_is_committed_is_what_the_sources_build(rebuilt):
    names = sorted(path.name for path in DIST.iterdir())
    assert sorted(path.name for path in rebuilt.iterdir()) == names, "run `make frontend`"
    _, different, missing = filecmp.cmpfiles(DIST, rebuilt, names, shallow=False)
    assert (different, missing) == ([], []), "run `make frontend`"


def test_a_built_file_is_compressed_and_kept_for_good(web):
    style = next(DIST.glob("site-*.css"))
    answer = web.browser().get(f"/static/dist/{style.name}", headers={"Accept-Encoding": "br"})
    assert answer.headers["Content-Encoding"] == "br"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert len(answer.data) < len(gzip.compress(style.read_bytes())) * 1.1
    plain = web.browser().get(f"/static/dist/{style.name}")
    assert plain.data == style.read_bytes() and "Content-Encoding" not in plain.headers


def test_a_page_is_compressed_and_not_kept(web):
    answer = web.browser().get("/login", headers={"Accept-Encoding": "gzip"})
    assert b"<h1>" in gzip.decompress(answer.data)
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert "Accept-Encoding" in answer.headers["Vary"]
