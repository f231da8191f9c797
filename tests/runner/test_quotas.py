"""Virtual clusters and limits of users, as their file says them."""
import json
import os

import pytest

from runner.errors import RunnerError
from runner.quotas import Cluster, Rules, RulesFile, quotas_of, rules_from_json
from runner.room import Bounds
from runner.spec import Image, JobSpec, TaskRoleSpec

RULES = rules_from_json({
    "clusters": {"vision": {"gpus": 4, "memoryMB": 64000, "members": ["ann"], "maxPriority": 10,
                            "timeLimitMinutes": 90}},
    "perUser": {"jobs": 3}, "users": {"bob": {"gpus": 1}}})


def spec(user="ann", cluster="vision", **more):
    role = TaskRoleSpec(name="main", image=Image(uri="x"), commands=("true",))
    return JobSpec(name="j", user=user, virtual_cluster=cluster, task_roles=(role,), **more)


def test_the_default_cluster_is_always_there_and_has_no_bounds_by_itself():
    assert RULES.clusters["default"] == Cluster() == Rules().clusters["default"]
    assert Rules().objections(spec(cluster="default")) == []


def test_every_job_counts_in_its_cluster_and_for_its_user():
    names = quotas_of(spec())
    assert names == ("virtual cluster vision", "user ann")
    assert list(map(RULES.quota, names)) == [Bounds(gpus=4, memory_mb=64000), Bounds(jobs=3)]
    assert RULES.quota("user bob") == Bounds(gpus=1)


def test_the_time_limit_is_the_jobs_own_or_the_clusters():
    assert RULES.limit_s(spec()) == 5400
    assert RULES.limit_s(spec(time_limit_s=60)) == 60
    assert RULES.limit_s(spec(cluster="default")) is None


def test_an_unknown_cluster_names_those_that_there_are():
    assert RULES.objections(spec(cluster="nlp")) == [
        "There is no virtual cluster 'nlp' on this machine; there are: default, vision. Name one "
        "of them as virtualCluster."]


def test_every_objection_is_said_at_once():
    assert RULES.objections(spec("bob", priority=11, time_limit_s=6000)) == [
        "User bob is no member of virtual cluster vision. Ask the operator of this machine, or "
        "take another one: default, vision.",
        "Priority 11 is higher than virtual cluster vision allows: at most 10.",
        "A time limit of 100 minutes is longer than virtual cluster vision allows: at most 90 "
        "minutes."]


@pytest.mark.parametrize("wrong, message", [
    ([], "the file must be an object in braces, not []."),
    ({"cluster": {}},
     "the file has an unknown field 'cluster'; it takes clusters, perUser, users."),
    ({"clusters": {"a": {"gpu": 1}}}, "clusters.a has an unknown field 'gpu'; it takes jobs, cpus, "
     "memoryMB, gpus, members, maxPriority, timeLimitMinutes."),
    ({"clusters": {"a": {"gpus": "4"}}},
     'clusters.a.gpus must be a whole number from 0 to 1099511627776, not "4".'),
    ({"clusters": {"a": {"members": "ann"}}},
     "clusters.a.members must be a list of names of users.")])
def test_a_mistake_is_told_with_its_place(wrong, message):
    with pytest.raises(RunnerError) as caught:
        rules_from_json(wrong)
    assert caught.value.message == message


def test_a_file_that_is_wrong_at_the_start_is_refused(tmp_path):
    path = tmp_path / "clusters.json"
    path.write_text("{")
    with pytest.raises(RunnerError, match="clusters.json is not JSON: "):
        RulesFile(path)


def test_a_changed_file_counts_at_once_unless_it_is_wrong(tmp_path, caplog):
    path = tmp_path / "clusters.json"
    file = RulesFile(path)
    assert file.rules() == Rules()
    for number, (text, jobs) in enumerate([
            (json.dumps({"perUser": {"jobs": 2}}), 2), ("oh", 2), ("{}", None)]):
        path.write_text(text)
        os.utime(path, (number, number))
        assert file.rules().per_user.jobs == jobs
    assert "The rules from before stay." in caplog.text


def test_rules_are_written_whole_and_only_if_they_are_right(tmp_path):
    path = tmp_path / "clusters.json"
    file = RulesFile(path)
    file.write('{"users": {"ann": {"gpus": 2}}}')
    assert file.rules().users["ann"].gpus == 2 and file.text() == path.read_text()
    for wrong, message in (("{", "not JSON"), ('{"user": {}}', "unknown field 'user'"),
                           ('{"perUser": {"gpus": -1}}', r"perUser\.gpus must be")):
        with pytest.raises(RunnerError, match=message):
            file.write(wrong)
        assert file.rules().users["ann"].gpus == 2
    assert [each.name for each in tmp_path.iterdir()] == ["clusters.json"]


def test_a_file_that_is_a_link_stays_one_and_a_place_that_is_not_there_is_said(tmp_path):
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to("real.json")
    RulesFile(tmp_path / "link.json").write('{"perUser": {"jobs": 3}}')
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text()) == {"perUser": {"jobs": 3}}
    with pytest.raises(RunnerError, match="cannot be written: No such file or directory"):
        RulesFile(tmp_path / "nowhere" / "x.json").write("{}")
