"""What the driver says of an engine; what it does stands in tests/functional."""
import pytest

from runner.docker_driver import DockerDriver

GOOD = {"LiveRestoreEnabled": True, "SecurityOptions": ["name=seccomp,profile=default"]}


def advice(**changes):
    driver = DockerDriver.__new__(DockerDriver)
    driver.info = lambda: {**GOOD, **changes}
    return list(driver.advice())


@pytest.mark.parametrize("changes, begin", [
    ({"LiveRestoreEnabled": False}, "Docker's live-restore is off"),
    ({"SecurityOptions": ["name=seccomp", "name=userns"]}, "Docker gives users other numbers"),
    ({"SecurityOptions": ["name=rootless"]}, "Docker runs rootless")])
def test_the_operator_is_told_what_about_docker_costs_jobs(changes, begin):
    said, = advice(**changes)
    assert said.startswith(begin) and said.endswith(".")


def test_an_engine_as_it_should_be_needs_no_advice():
    assert advice() == [] and advice(SecurityOptions=None) == []
