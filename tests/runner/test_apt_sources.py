"""Where this machine gets Debian's packages from."""
import pytest

from runner.apt_sources import AptSource, apt_sources, debian_mirror

OS_RELEASE = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n'
DEB822 = """\
# where packages come from
Types: deb deb-src
URIs: https://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
  contrib

Types: deb
Enabled: no
URIs: http://old.example/debian
Suites: bookworm
Components: main
"""


@pytest.fixture
def etc(tmp_path):
    (tmp_path / "apt" / "sources.list.d").mkdir(parents=True)
    (tmp_path / "os-release").write_text(OS_RELEASE)
    return tmp_path


@pytest.mark.parametrize("line, mirror", [
    ("deb http://ftp.example/debian bookworm main", "http://ftp.example/debian"),
    ("deb http://ftp.example/debian/ bookworm main contrib # near", "http://ftp.example/debian"),
    ("deb [arch=amd64 signed-by=/k.gpg] https://x.example/debian bookworm main",
     "https://x.example/debian"),
    ("deb http://snap.example/archive/debian/20250520T000000Z bookworm main",
     "http://snap.example/archive/debian/20250520T000000Z"),
])
def test_a_one_line_source_names_the_mirror(etc, line, mirror):
    (etc / "apt" / "sources.list").write_text(f"# Debian\n{line}\n")
    assert debian_mirror(etc) == mirror


@pytest.mark.parametrize("line", [
    "# deb http://off.example/debian bookworm main",
    "deb-src http://ftp.example/debian bookworm main",
    "deb http://ftp.example/debian-security bookworm-security main",
    "deb https://tools.example/linux/debian bookworm stable",
    "deb https://cloud.example/apt cloud-sdk-bookworm main",
    "deb https://vendor.example/debian/12/prod bookworm main",
    "deb cdrom:[Debian 12]/debian bookworm main",
    "",
])
def test_other_sources_leave_debians_own_mirror(etc, line):
    (etc / "apt" / "sources.list").write_text(line + "\n")
    assert debian_mirror(etc) == "http://deb.debian.org/debian"


def test_a_stanza_file_names_the_mirror(etc):
    (etc / "apt" / "sources.list.d" / "debian.sources").write_text(DEB822)
    assert debian_mirror(etc) == "https://mirror.example/debian"
    assert list(apt_sources(etc / "apt")) == [AptSource(
        "https://mirror.example/debian", ("bookworm", "bookworm-updates"), ("main", "contrib"))]


def test_debians_own_file_comes_before_those_of_others(etc):
    folder = etc / "apt" / "sources.list.d"
    (folder / "a-vendor.list").write_text("deb https://vendor.example/debian bookworm main\n")
    (folder / "debian.sources").write_text(DEB822)
    assert debian_mirror(etc) == "https://mirror.example/debian"


def test_a_machine_that_is_no_debian_uses_debians_own_mirror(etc):
    (etc / "os-release").write_text("ID=ubuntu\nVERSION_CODENAME=noble\n")
    (etc / "apt" / "sources.list").write_text("deb http://u.example/debian noble main\n")
    assert debian_mirror(etc) == "http://deb.debian.org/debian"


def test_a_machine_without_any_of_these_files_uses_it_too(tmp_path):
    assert debian_mirror(tmp_path) == "http://deb.debian.org/debian"
