"""Somebody who asks the stand-in for GitHub, and what they do before it gets interesting."""
import requests

NO_ACCESS = "Resource not accessible by personal access token"


class Caller:
    """Asks as somebody; `ask` returns the answer, whatever it is."""

    def __init__(self, github, token):
        self._url, self._token = github.api_url, token

    def ask(self, method, path, headers=None, **body):
        return requests.request(
            method, self._url + path, json=body or None, allow_redirects=False, timeout=60,
            headers={"Authorization": f"token {self._token.value}", **(headers or {})})

    def told(self, method, path, **body):
        answer = self.ask(method, path, **body)
        return answer.status_code, answer.json()["message"]


def commit_files(api, repo_id, head, files, message, author):
    """A commit on top of `head` by our client, on no branch yet: its tree and its id."""
    tree = api.write_tree(repo_id, head.tree, files)
    return tree, api.write_commit(repo_id, tree, [head.commit], message, author)


def change(caller, fork, path="b.yaml", parent=None):
    """A commit in the fork by REST; returns its id."""
    base = fork.git.commit(parent or fork.git.resolve("main"))
    tree = caller.ask("POST", f"/repos/{fork.full_name}/git/trees", base_tree=base.tree, tree=[
        {"path": path, "mode": "100644", "type": "blob", "content": "b\n"}]).json()
    return caller.ask("POST", f"/repos/{fork.full_name}/git/commits", tree=tree["sha"],
                      parents=[base.sha], message="Add").json()["sha"]


def branch(caller, fork, sha, name="new"):
    return caller.ask("POST", f"/repos/{fork.full_name}/git/refs", ref=f"refs/heads/{name}",
                      sha=sha)
