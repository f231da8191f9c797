"""Git over HTTP as the stand-in offers it: filters, single blobs, tokens, and answers that harm."""
import subprocess

import pytest
import requests
from dulwich.client import HttpGitClient
from dulwich.errors import NotGitRepository
from dulwich.repo import Repo

from tests.fakes.github import hostile
from tests.fakes.github.history import SUBMODULE, SYMLINK, Commit
from tests.fakes.scripted_server import Answer, ScriptedServer


@pytest.fixture
def ann(github):
    return github.world.add_user("ann")


@pytest.fixture
def parts(github, ann):
    return github.world.create(ann, "parts", {"a.yaml": "a\n", "b.yaml": "b\n"})


@pytest.fixture
def copy(tmp_path):
    with Repo.init_bare(str(tmp_path / "copy"), mkdir=True) as repo:
        yield repo


def fetch(github, repo, wants, **options):
    client = HttpGitClient(github.url, **options.pop("login", {}))
    return client.fetch("/ann/parts.git", repo, protocol_version=2,
                        determine_wants=lambda refs, depth=None: wants(refs), **options)


def all_of(refs):
    return list(refs.values())


def ask(github, path="/ann/parts.git/info/refs", token=None, **options):
    return requests.get(f"{github.url}{path}?service=git-upload-pack", timeout=60,
                        auth=("x", token.value) if token else None, **options)


def test_a_fetch_leaves_blobs_out_and_then_gets_single_ones(github, parts, copy):
    fetch(github, copy, all_of, filter_spec=b"blob:none", ref_prefix=[b"refs/heads/main"])
    blob = parts.git.at("main", "a.yaml").sha.encode()
    assert blob not in copy.object_store
    fetch(github, copy, lambda refs: [blob], ref_prefix=[b"refs/heads/main"])
    assert copy[blob].data == b"a\n"
    seen = [(each.command, each.wants, each.filter) for each in github.world.exchanges()]
    assert seen == [("advertise", 0, ""), ("ls-refs", 0, ""), ("fetch", 1, "blob:none"),
                    ("advertise", 0, ""), ("ls-refs", 0, ""), ("fetch", 1, "")]
    assert all(each.size > 0 for each in github.world.exchanges())
    assert github.world.rest() == []


def test_a_private_repository_asks_for_a_token_and_is_hidden_from_a_strange_one(github, ann, parts):
    parts.is_private = True
    bob = github.world.add_user("bob")
    mine, strange = (github.world.classic_token(user, "repo") for user in (ann, bob))
    asked = ask(github)
    assert (asked.status_code, asked.headers["WWW-Authenticate"]) == (401, 'Basic realm="GitHub"')
    assert [ask(github, token=token).status_code for token in (mine, strange)] == [200, 404]
    strange.is_revoked = True
    assert ask(github, token=strange).status_code == 401


def test_an_old_name_redirects_git_too(github, parts):
    github.world.move(parts, name="newer")
    answer = ask(github, allow_redirects=False)
    assert answer.status_code == 301
    assert answer.headers["Location"].startswith(f"{github.url}/ann/newer.git/info/refs")
    assert ask(github).status_code == 200
    written = requests.post(f"{github.url}/ann/parts.git/git-upload-pack", data=LS_REFS, timeout=60,
                            allow_redirects=False)
    assert written.headers["Location"] == f"{github.url}/ann/newer.git/git-upload-pack"


def test_commits_are_quick_to_make_with_links_and_submodules(github, parts, tmp_path):
    head = github.world.commits(parts, [
        Commit(files={f"{number}.yaml": f"{number}\n"}, message=f"Add {number}",
               at=github.world.now) for number in range(300)])[-1]
    last = github.world.commit(parts, {"link": "a.yaml", "sub": head},
                               modes={"link": SYMLINK, "sub": SUBMODULE})
    subprocess.run(["git", "clone", "--quiet", "--bare", github.clone_url(parts),
                    tmp_path / "clone"], check=True)
    listed = subprocess.run(["git", "-C", tmp_path / "clone", "ls-tree", last], check=True,
                            capture_output=True, text=True).stdout
    assert "120000 blob" in listed and f"160000 commit {head}\tsub" in listed
    assert len(parts.git.log(last)) == 302


def test_a_tree_may_hold_what_git_would_refuse(github, parts, copy):
    blob = parts.git.at("main", "a.yaml").sha
    names = [b"../evil.yaml", b".git", b"-rf", b"a/b", b"a\nb", b"\xff"]
    made = hostile.commit_tree(github.world, parts, [("100644", name, blob) for name in names])
    fetch(github, copy, all_of)
    assert [entry.path for entry in copy[copy[made.encode()].tree].iteritems()] == sorted(names)


def test_zeros_are_large_only_when_unpacked(github, parts, copy):
    blob = hostile.write_zeros(parts.git, 8 << 20)
    hostile.commit_tree(github.world, parts, [("100644", b"big.yaml", blob)])
    fetch(github, copy, all_of)
    assert copy[blob.encode()].raw_length() == 8 << 20
    assert github.world.exchanges()[-1].size < 20_000


def test_many_refs_are_all_told(github, parts):
    hostile.add_refs(parts, 5000)
    told = subprocess.run(["git", "ls-remote", github.clone_url(parts)], check=True,
                          capture_output=True, text=True).stdout
    assert len(told.splitlines()) == 5002


def test_a_delta_bomb_is_small_and_unpacks_to_much(tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "index-pack", "--stdin"], check=True,
                   capture_output=True, input=hostile.delta_bomb(levels=1))
    listed = subprocess.run(["git", "-C", tmp_path, "cat-file", "--batch-all-objects",
                             "--batch-check=%(objectsize)"], check=True, capture_output=True)
    assert sorted(map(int, listed.stdout.split())) == [5 << 14, (5 << 14) * 64]
    assert len(hostile.delta_bomb()) < 4000


def test_another_host_gets_no_token_from_a_redirect(github, ann, parts, copy):
    token = github.world.classic_token(ann, "repo")
    with ScriptedServer() as other:
        parts.git_answer = hostile.redirected(f"{other.url}/info/refs", "advertise")
        other.answers["GET /info/refs"] = [Answer({}, 404)]
        with pytest.raises(NotGitRepository):
            fetch(github, copy, all_of, login={"username": "x", "password": token.value})
        assert all("Authorization" not in each.headers for each in other.requests)


def pieces(github, path, body=b""):
    """The first bytes of an answer that may never end."""
    with requests.post(f"{github.url}/ann/parts.git/{path}", data=body, stream=True, timeout=60,
                       headers={"Git-Protocol": "version=2"}) as answer:
        return answer.raw.read(1 << 20)


LS_REFS, FETCH = b"0014command=ls-refs\n00010000", b"0012command=fetch\n0001"


@pytest.mark.parametrize("answer, body", [
    (hostile.endless_refs(), LS_REFS), (hostile.endless_pack(), FETCH)], ids=["refs", "pack"])
def test_an_answer_may_never_end(github, parts, answer, body):
    parts.git_answer = answer
    assert len(pieces(github, "git-upload-pack", body)) == 1 << 20


def test_an_answer_may_be_garbage_slow_or_cut(github, parts):
    right = pieces(github, "git-upload-pack", LS_REFS)
    for answer in (hostile.garbage("ls-refs"), hostile.slow("ls-refs", pause_s=0),
                   hostile.cut("ls-refs")):
        parts.git_answer = answer
        got = pieces(github, "git-upload-pack", LS_REFS)
        assert (got == right) == (github.world.seen[-1].size == len(right))
        parts.git_answer = hostile.garbage("fetch")
        assert pieces(github, "git-upload-pack", LS_REFS) == right
