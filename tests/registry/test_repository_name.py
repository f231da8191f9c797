"""What people write for a repository, and addresses on GitHub."""
import pytest

from registry.errors import InvalidInputError
from registry.repository_name import check_branch, commit_url, file_url, repository_name

URL = "https://github.com"


@pytest.mark.parametrize("text", [
    "ann/parts", " ann/parts ", "https://github.com/ann/parts", "https://github.com/ann/parts/",
    "https://github.com/ann/parts.git", "http://GitHub.com/ann/parts", "github.com/ann/parts",
    "git@github.com:ann/parts.git", "ssh://git@github.com/ann/parts.git",
    "ssh://git@github.com:22/ann/parts.git", "git://github.com/ann/parts.git",
    "https://ann:secret@github.com/ann/parts", "https://github.com/ann/parts?tab=readme#top"])
def test_every_usual_form_means_the_repository(text):
    assert repository_name(text, URL) == "ann/parts"


def test_the_host_is_the_one_of_this_server():
    assert repository_name("https://git.example.org:8443/ann/parts",
                           "https://git.example.org:8443") == "ann/parts"
    for text in ("https://github.com/ann/parts", "git@github.com:ann/parts"):
        with pytest.raises(InvalidInputError, match="reads repositories of https://git.example"):
            repository_name(text, "https://git.example.org")


@pytest.mark.parametrize("text", [
    "https://github.com/ann/parts/tree/main/jobs", "https://github.com/ann/parts/issues"])
def test_a_page_inside_a_repository_names_the_repository_to_give(text):
    with pytest.raises(InvalidInputError, match="Give the repository itself, `ann/parts`"):
        repository_name(text, URL)


@pytest.mark.parametrize("text", [
    "ann", "ann/", "/parts", "ann/..", "ann/.", "../../user", "ann/parts?x=1", "ann/parts/branches",
    "-x/parts", "ann/pa rts", "ann/parts\n", "ext::sh -c true", "file:///etc/passwd",
    "https://[::1", "x" * 300, "ann\\parts", "https://github.com/", "git@github.com:"])
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidInputError):
        repository_name(text if text != "ann/parts\n" else "ann/par\nts", URL)


@pytest.mark.parametrize("branch", [None, "main", "team/new-jobs", "v1.0", "früh", "a" * 255])
def test_a_branch_may_be_called_so(branch):
    check_branch(branch)


@pytest.mark.parametrize("branch", [
    "", "-x", "/x", "x/", "a..b", "a b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "x.lock",
    "a//b", "a/.b", "@{u}", "x.", "a\0b", "a" * 256])
def test_no_branch_is_called_so(branch):
    with pytest.raises(InvalidInputError, match="is no branch"):
        check_branch(branch)


def test_addresses_hold_odd_names_whole():
    assert file_url(URL, "ann/parts", "c" * 40, "job/a b#?.yaml", 7) == (
        f"{URL}/ann/parts/blob/{'c' * 40}/job/a%20b%23%3F.yaml?plain=1#L7")
    assert commit_url(URL, "ann/parts", "c" * 40) == f"{URL}/ann/parts/commit/{'c' * 40}"
