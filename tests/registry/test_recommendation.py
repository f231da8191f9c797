"""Counts of submitted jobs, and what goes together; never who."""
import pytest
import sqlalchemy as sa

from registry import db
from registry.accounts import Accounts
from registry.component import parse
from registry.recommendation import Recommendation
from registry.resolver import resolve
from registry.runs import Runs
from tests.registry.marketplace import Marketplace, data, image
from tests.registry.repository import Repository

JOB = """\
name: {name}
type: job
version: 1.0.0
parameters: {{set: {set}}}
prerequisites: [dockerimage/tf]
tasks:
  - role: main
    data: $$set$$
    resource: {{resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}}}
    command: [echo]
"""


@pytest.fixture
def market(tmp_path, database_url):
    market = Marketplace(tmp_path / "home", database_url)
    origin = Repository(tmp_path / "origin")
    origin.commit({
        "data/a.yaml": data("a"), "data/b.yaml": data("b", uri="https://h.org/b"),
        "dockerimage/tf.yaml": image("tf"), "job/one.yaml": JOB.format(name="one", set="a"),
        "job/two.yaml": JOB.format(name="two", set="b")})
    market.add(origin.path)
    market.run()
    market.runs = Runs(market.engine, market.catalog)
    market.recommendation = Recommendation(market.engine)
    market.ann = Accounts(market.engine).create_user("ann", "correct horse").id
    yield market
    market.close()


def submit(market, id, reference, *, by=None, **parameters):
    """As if a job of this component had been submitted, by ann where nobody is named."""
    entry = market.catalog.get(reference)
    spec = resolve(parse(entry.text), catalog=market.catalog, user="ann", entry=entry,
                   parameters=parameters).spec
    market.runs.note(id, spec, user_id=by or market.ann)


def counts(market):
    return {ranked.entry.reference: ranked.runs
            for ranked in market.recommendation.most_used(9, user_id=None)}


def together(market, reference):
    found = market.recommendation.together(market.catalog.get(reference), 9, user_id=None)
    return [(each.entry.name, each.runs, each.components) for each in found]


def test_a_job_counts_with_what_it_takes_from_the_marketplace(market):
    submit(market, "1", "job/one")
    submit(market, "2", "job/one", set="b")
    assert counts(market) == {"dockerimage/tf@1.0.0": 2, "job/one@1.0.0": 2, "data/a@1.0.0": 1,
                              "data/b@1.0.0": 1}
    assert market.recommendation.run_count(market.catalog.get("job/one")) == 2


def test_jobs_that_only_run_in_the_same_image_are_no_company(market, tmp_path):
    inline = JOB.replace("[dockerimage/tf]", "[{{name: x, type: dockerimage, uri: python:3}}]")
    origin = Repository(tmp_path / "inline")
    inline = inline.replace("    data:", "    dockerimage: x\n    data:")
    origin.commit({f"job/{name}.yaml": inline.format(name=name, set=set)
                   for name, set in (("three", "a"), ("four", "b"))})
    market.add(origin.path)
    market.sync.run_once()
    assert together(market, "job/three") == [("one", 0, 1)]


def test_a_job_that_is_sent_again_counts_once(market):
    submit(market, "1", "job/one")
    submit(market, "1", "job/one")
    assert counts(market)["job/one@1.0.0"] == 1


def test_a_count_that_changed_is_told_to_the_search(market):
    submit(market, "1", "job/one")
    with market.engine.connect() as connection:
        told = {(row.type, row.name)
                for row in connection.execute(sa.select(db.search_outbox))}
    assert told == {("job", "one"), ("data", "a"), ("dockerimage", "tf")}


def test_a_job_runs_though_nothing_can_be_counted(market, caplog):
    entry = market.catalog.get("job/one")
    spec = resolve(parse(entry.text), catalog=market.catalog, user="ann", entry=entry).spec
    with market.engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE runs"))
    market.runs.note("1", spec, user_id=market.ann)
    assert "The job 1 is not counted" in caplog.text and "ann" not in caplog.text


def test_before_anything_ran_components_say_what_goes_together(market):
    assert together(market, "data/a") == [("tf", 0, 1)]
    assert together(market, "job/one") == [("two", 0, 1)]
    assert together(market, "dockerimage/tf") == [("a", 0, 1), ("b", 0, 1)]


def test_what_ran_together_comes_first(market):
    submit(market, "1", "job/two")
    assert together(market, "dockerimage/tf") == [("b", 1, 1), ("two", 1, 0), ("a", 0, 1)]


def test_what_a_job_names_itself_is_no_recommendation(market):
    submit(market, "1", "job/one", set="b")
    assert together(market, "job/one") == [("b", 1, 0), ("two", 0, 1)]


def test_nothing_is_recommended_that_is_not_there_any_more(market):
    submit(market, "1", "job/two")
    with market.engine.begin() as connection:
        connection.execute(db.versions.update().where(db.versions.c.name == "two").values(
            is_present=False))
    assert [name for name, _, _ in together(market, "dockerimage/tf")] == ["b", "a"]
    assert "job/two@1.0.0" not in counts(market)


def test_the_most_used_can_be_asked_of_one_type(market):
    submit(market, "1", "job/one")
    found = market.recommendation.most_used(9, types=["data"], user_id=None)
    assert [ranked.entry.name for ranked in found] == ["a"]


def test_what_oneself_used_last_is_told_to_oneself_alone(market):
    bob = Accounts(market.engine).create_user("bob", "correct horse").id
    for number, (name, by) in enumerate((("one", market.ann), ("two", market.ann), ("one", bob))):
        submit(market, str(number), f"job/{name}", by=by)

    def recent(user_id, **chosen):
        found = market.recommendation.recent(9, user_id=user_id, **chosen)
        return [(each.entry.name, each.runs) for each in found]
    assert recent(market.ann, types=["data"]) == [("b", 1), ("a", 1)]
    assert recent(market.ann, types=["dockerimage"]) == [("tf", 2)]
    assert recent(bob, types=["data"]) == [("a", 1)] and recent(None) == []
