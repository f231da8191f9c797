"""What is said of a text before everybody can read it, at which line, and of what nothing is."""
import pytest

from registry.disclosure import data_in, private_places_in, secrets_in

TOKEN = "ghp_" + "x" * 36


def told(look, text):
    return [(problem.line, problem.message.partition("`")[2].partition("`")[0])
            for problem in look(text)]


@pytest.mark.parametrize("line, place", [
    ("- curl http://10.1.2.3:8000/x", "10.1.2.3"),
    ("- ping 192.168.0.7", "192.168.0.7"),
    ("- nc 172.20.1.1 80", "172.20.1.1"),
    ("- host=100.64.3.2", "100.64.3.2"),
    ("- curl http://[fd12:3456::1]/", "fd12:3456::1"),
    ("uri: https://gitlab.team.corp/x.git", "gitlab.team.corp"),
    ("- git clone git@git.lab.internal:me/x", "git.lab.internal"),
    ("uri: http://nas/points.csv", "nas"),
    ("uri: registry:5000/team/torch:1", "registry:5000"),
    ('uri: "hdfs://namenode:9000/sets"', "namenode"),
    ("uri: smb://nas/sets/points", "smb://nas/sets/points"),
    (r"- copy \\nas\sets points", r"\\nas\sets"),
    ("- mount -t nfs big:/export /mnt", "mount -t nfs big:/export /mnt"),
    ("- python /home/alice/train.py", "/home/alice"),
    ("- cat /Users/alice/x", "/Users/alice"),
    ("- type C:\\Users\\alice\\x", "C:\\Users\\alice"),
    ("uri: file:///data/points.csv", "file:///data/points.csv")])
def test_a_place_that_nobody_else_reaches_is_told_with_its_line(line, place):
    assert told(private_places_in, f"name: x\n{line}\n") == [(2, place)]


@pytest.mark.parametrize("line", [
    "uri: https://github.com/owner/repository", "uri: docker.io/library/python:3.11",
    "- pip install nvidia-curand-cu12==10.3.2.106", "version: 10.1.168.1-2", "- serve 0.0.0.0 80",
    "- curl http://127.0.0.1:8000", "- curl http://localhost:80/x", "- cd /home/jovyan/work",
    "- ls /root $HOME/x ${HOME}/home/a", "uri: s3://bucket/points", "- read settings.local",
    "- curl http://host.docker.internal:80", "- curl http://$PAI_HOST_IP_main_0:80/",
    "- echo 8.8.8.8", "- printf 'a\\nb\\n'", "uri: busybox:1"])
def test_of_what_everybody_reaches_or_the_task_has_itself_nothing_is_said(line):
    assert private_places_in(f"{line}\n") == () and secrets_in(f"{line}\n") == ()


@pytest.mark.parametrize("line", [
    f"- git clone https://{TOKEN}@github.com/a/b", "- curl https://ann:Geheim12@example.org/",
    "- export PASSWORD=Geheim12!", 'api_key: "Zx81-2f9a-77"', "- echo AKIAABCDEFGHIJKLMNOP",
    "- login --token hf_" + "a" * 34, "- |\n  -----BEGIN RSA PRIVATE KEY-----"])
def test_a_secret_is_told_with_its_line_and_not_repeated(line):
    (found,) = secrets_in(f"name: x\n{line}\n")
    assert found.line == 2 + line.count("\n") and found.severity == "warning"
    assert "password or key" in found.message and "`" not in found.message


@pytest.mark.parametrize("line", [
    "- login --password $PASSWORD", "- export TOKEN=$$token$$", "- tokens: tokenizer_name",
    "password: <your password>", "- python train.py --max_tokens=4096", "- echo '${SECRET:-none}'",
    "description: It needs a token, see https://example.org/", "- cat secret=/run/secrets/key"])
def test_a_secret_that_comes_from_elsewhere_is_none(line):
    assert secrets_in(f"{line}\n") == ()


def test_data_that_is_written_out_is_told_once_where_it_begins():
    rows = "".join(f"  - {number}\n" for number in range(501))
    assert told(data_in, f"name: x\nvalues:\n{rows}") == [(3, "data")]
    coded = "QUJD" * 300
    assert told(data_in, f"command:\n  - echo {coded} | base64 -d\n") == [(2, "data")]
    assert told(data_in, f"parameters:\n  set: {coded * 10}\n") == [(2, "data")]
    assert data_in("description: |\n" + "  many words of it\n" * 2000) == ()
    assert data_in(f"name: x\nchecksum: {'0f' * 32}\n") == ()


def test_a_text_with_a_thousand_places_is_told_briefly_and_soon():
    text = "".join(f"- ping 10.0.{number // 250}.{number % 250}\n" for number in range(1000))
    assert len(private_places_in(text)) == 20
    assert private_places_in("/home/" + "a." * 50_000) != () and secrets_in("a:" * 100_000) == ()
