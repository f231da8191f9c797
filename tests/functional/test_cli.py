"""The command line against a whole server: log in, find, run, follow, fetch, add a source."""
import json
import subprocess
import sys

import pytest

from tests.functional.product import IMAGE, Product
from tests.functional.runner_process import ROOT

JOB = f"""name: hello
type: job
version: 1.0.0
parameters: {{who: world}}
prerequisites:
  - {{name: image, type: dockerimage, uri: '{IMAGE}'}}
tasks:
  - role: main
    dockerimage: image
    resource: {{instances: 2, resourcePerInstance: {{cpu: 1, memoryMB: 128, gpu: 0}}}}
    command:
      - echo "hello $$who$$" | tee $PAI_OUTPUT_DIR/greeting.txt
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory, digits_image):
    made = Product(tmp_path_factory.mktemp("product") / "home", PAISHARE_SYNC_INTERVAL_S="60")
    made.start()
    made.wait_for_component("job/digits_classifier")
    yield made
    made.close()


@pytest.fixture(scope="module")
def run(product, tmp_path_factory):
    """Runs a command as admin; returns its exit code, stdout and stderr."""
    environ = {**product.environ, "PAISHARE_URL": product.url,
               "XDG_CONFIG_HOME": str(tmp_path_factory.mktemp("config"))}

    def run_command(*words, stdin=""):
        answer = subprocess.run(
            [sys.executable, "-m", "registry.cli", *map(str, words)], cwd=ROOT, input=stdin,
            env=environ, capture_output=True, text=True, timeout=120)
        return answer.returncode, answer.stdout, answer.stderr
    assert run_command("jobs")[0] == 3
    assert run_command("login", "--username", "admin", "--password-stdin",
                       stdin=product.password)[0] == 0
    return run_command


@pytest.fixture
def folder(tmp_path):
    """A plain folder of components with one good job in it."""
    (tmp_path / "mine" / "job").mkdir(parents=True)
    (tmp_path / "mine" / "job" / "hello.yaml").write_text(JOB)
    return tmp_path / "mine"


def test_search_and_show_need_no_reference_by_heart(run):
    assert "job/digits_classifier@1.0.0" in run("search", "handwritten")[1]
    code, out, _ = run("show", "digits_classifier")
    assert code == 0 and "epochs=50" in out and "data/digits@1.0.0" in out


def test_a_shown_yaml_is_a_valid_file_again(run, tmp_path):
    (tmp_path / "copy.yaml").write_text(run("show", "job/digits_classifier", "--yaml")[1])
    assert run("validate", tmp_path / "copy.yaml")[0] == 0


def test_a_file_is_submitted_followed_and_its_artifacts_fetched(run, folder, tmp_path):
    code, out, err = run("submit", folder / "job" / "hello.yaml", "-p", "who=you", "--name",
                         "greetings", "--follow")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["main-0 | hello you", "main-1 | hello you"]
    job = json.loads(run("jobs", "--json")[1])["jobs"][0]
    assert (job["name"], job["state"]) == ("greetings", "SUCCEEDED")
    run("artifacts", job["id"], "--download", tmp_path / "got")
    assert (tmp_path / "got" / "1" / "main-1" / "greeting.txt").read_text() == "hello you\n"


def test_a_job_of_the_marketplace_takes_its_parameters(run):
    code, out, err = run("submit", "job/digits_classifier", "-p", "epochs=2", "--follow")
    assert code == 0, err
    assert "epoch 2/2" in out and "[image]" in err and "[run]" in err


def test_a_job_that_fails_fails_the_command(run, folder):
    file = folder / "job" / "hello.yaml"
    file.write_text(JOB.replace("echo", "exit 3; echo"))
    code, _, err = run("submit", file, "--follow")
    assert code == 1 and "FAILED" in err


def test_a_broken_file_is_told_with_its_line(run, folder):
    file = folder / "job" / "hello.yaml"
    file.write_text(JOB.replace("role: main", "rolle: main"))
    code, _, err = run("submit", file)
    assert code == 1 and f"{file}:8:" in err


def test_a_running_job_is_stopped(run, folder):
    file = folder / "job" / "hello.yaml"
    file.write_text(JOB.replace("echo", "sleep 300; echo"))
    job_id = run("submit", file)[1].strip()
    assert run("stop", job_id)[0] == 0
    code, _, err = run("logs", "-f", job_id)
    assert code == 1 and "STOPPED" in err


def test_a_source_is_added_synced_and_removed(run, folder):
    code, out, _ = run("source", "add", folder)
    assert code == 0 and out.startswith("mine: 1 component at ")
    (folder / "job" / "broken.yaml").write_text("name: broken\ntype: job\n")
    code, out, err = run("sync", "mine")
    assert code == 1 and "1 invalid file" in out and err.startswith("job/broken.yaml:")
    assert "mine\t" in run("source", "list")[1]
    assert run("source", "remove", "mine")[0] == 0


def test_what_is_not_there_is_code_4(run):
    assert run("job", "no-such-job")[0] == 4
    code, _, err = run("show", "job/digits_clasifier")
    assert code == 4 and "job/digits_classifier" in err


def test_passwords_are_changed_by_their_owner_and_by_the_operator(run, product):
    own = f"{product.password}\nanother password\n"
    assert run("passwd", "--password-stdin", stdin=own)[0] == 0
    assert run("passwd", "admin", "--password-stdin", stdin="the operators word\n")[0] == 0
    assert run("login", "--username", "admin", "--password-stdin",
               stdin="another password")[0] == 3
    assert run("login", "--username", "admin", "--password-stdin",
               stdin="the operators word")[0] == 0


def test_a_second_server_on_the_same_home_is_told_about_the_first(run, product):
    code, _, err = run("serve")
    assert code == 1 and f"process {product.process.pid} at {product.url}" in err
