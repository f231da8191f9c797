"""A job out of a repository on GitHub: found by the sync, run in a real container."""
import pytest

from tests.functional.product import Product
from tests.functional.runner_process import IMAGE, wait_for

JOB = f"""type: job
name: counting
version: 1.0.0
contributor: ann
description: Counts the lines of its data with its own script.
prerequisites:
  - {{name: numbers, type: data, uri: ../files/numbers.csv}}
  - {{name: tools, type: script, uri: ../tools}}
  - {{name: box, type: dockerimage, uri: {IMAGE}}}
tasks:
  - role: main
    data: numbers
    script: tools
    dockerimage: box
    resource: {{instances: 1, resourcePerInstance: {{cpu: 1, memoryMB: 128, gpu: 0}}}}
    command:
      - sh $$script$$/tools/count.sh $$data$$/numbers.csv
"""
REFERENCE = "ann/parts:job/counting"
FILES = {"job/counting.yaml": JOB, "files/numbers.csv": "1\n2\n3\n",
         "tools/count.sh": 'echo "there are $(wc -l < "$1") lines"\n', "films/long.bin": "x" * 9999}


@pytest.fixture
def product(tmp_path, github, busybox_image):
    made = Product(tmp_path / "home", PAISHARE_SYNC_INTERVAL_S="2", PAISHARE_GITHUB_URL=github.url)
    made.start()
    yield made
    made.close()


def test_a_job_with_its_own_data_and_script_runs_from_github(product, github):
    world = github.world
    world.create(world.add_user("ann"), "parts", FILES)
    product.post("/sources", location="ann/parts")
    product.wait_for_component("job/counting")
    wait_for(lambda: product.http.post(  # its files come just after it is found
        f"{product.url}/api/v3/resolve", json={"reference": REFERENCE}, timeout=60).ok,
        "the files of the job are here", 60)
    job = product.wait(product.post("/jobs", reference=REFERENCE)["id"])
    assert job["state"] == "SUCCEEDED", job["reason"]
    log = product.http.get(f"{product.url}/api/v3/jobs/{job['id']}/log/raw",
                           params={"role": "main", "index": 0}).text
    assert "there are 3 lines" in log
