"""Every answer of the index beside one that looks at all documents, one by one."""
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from registry.document import Document, fold_value
from registry.hits import SORTS, Hit
from registry.query import All, Any, Filter, Not, Phrase, Words
from registry.search import SearchIndex

WORDS = "ab cd efgh ijkl mnop 图像 q7".split()
PEOPLE, TAGS, TYPES, AUDIENCES = "ann bob", "red blue", ("data", "job"), ("public", "source 2")
JOB = """\
type: job
name: job
parameters: {{{parameter}: 1}}
tags: [{tags}]
prerequisites:
  - {{name: thing, type: dockerimage, uri: 'host/{image}:1'}}
tasks:
  - role: worker
    dockerimage: thing
    resource: {{instances: {instances}, resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: {gpu}}}}}
    command: [run]
"""
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)
texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)


@st.composite
def documents(draw):
    """Up to twelve components, each with older versions."""
    found = []
    for number in range(draw(st.integers(0, 12))):
        name, parameter = draw(names), draw(st.sampled_from(WORDS[:3]))
        text = JOB.format(parameter=parameter, tags=draw(st.sampled_from(TAGS.split())),
                          image=draw(st.sampled_from(WORDS[:2])), gpu=draw(st.integers(0, 3)),
                          instances=draw(st.integers(1, 3)))
        for version in range(draw(st.integers(1, 2)), 0, -1):
            found.append(Document(
                source_id=number, audience=draw(st.sampled_from(AUDIENCES)), text=text,
                readme=draw(texts), is_newest=version == 1,
                hit=Hit(source=f"s{number % 2}", type=draw(st.sampled_from(TYPES)), name=name,
                        version=f"{version}.0.0", contributor=draw(st.sampled_from(PEOPLE.split())),
                        description=draw(texts), reference=f"{number}@{version}",
                        updated=f"2026-01-0{draw(st.integers(1, 5))}T10:00:00Z",
                        used=draw(st.integers(0, 3)), is_deprecated=draw(st.booleans()))))
    return found


filters = st.one_of(
    st.builds(Filter, st.just("gpu"), st.sampled_from(["=", "<", "<=", ">", ">="]),
              st.integers(0, 6).map(str)),
    st.builds(Filter, st.just("updated"), st.sampled_from(["=", "<", "<=", ">", ">="]),
              st.integers(1, 5).map("2026-01-0{}".format)),
    *(st.builds(Filter, st.just(key), st.just("="), st.sampled_from(values)) for key, values in {
        "type": TYPES, "by": ("ann", "BOB", "eve"), "tag": ("red", "blue"), "source": ("s0", "s1"),
        "image": ("host/ab:1", "host", "cd"), "param": WORDS[:3], "name": WORDS,
        "uses": ("thing", "dockerimage/thing", "host/cd:1"), "version": ("1.0.0", "2", "1"),
        "is": ("deprecated",)}.items()))
exact = st.one_of(filters, st.builds(
    Phrase, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)))
clauses = st.recursive(exact, lambda inner: st.one_of(
    inner.map(Not), st.lists(inner, max_size=3).map(lambda found: All(tuple(found))),
    st.lists(inner, min_size=2, max_size=3).map(lambda found: Any(tuple(found)))), max_leaves=6)


def text_of(document):
    """All that is written in a document, place by place, as words between spaces."""
    hit = document.hit
    fields = [hit.name, hit.type, hit.contributor, hit.description, hit.version,
              document.readme if document.is_newest else "", *document.tags, *document.images,
              "worker", "run", "thing", f"{parameter_of(document)} 1"]
    return [f" {' '.join(spaced(field))} " for field in fields]


def spaced(text):
    words = re.split(r"[\s_\-./:]+", text.casefold())
    return [part for word in words for part in (word if word >= "\u3040" else [word])]


def parameter_of(document):
    return next(iter(document.component.parameters))


def is_asked(document, clause, everyone):
    """Whether one document is what a clause asks for; `everyone` are all that may be seen."""
    if isinstance(clause, Not):
        return not is_asked(document, clause.clause, everyone)
    if isinstance(clause, (All, Any)):
        combine = all if isinstance(clause, All) else any
        return combine(is_asked(document, each, everyone) for each in clause.clauses)
    if isinstance(clause, Phrase):
        wanted = f" {' '.join(spaced(clause.text))} "
        return any(wanted in text for text in text_of(document))
    if isinstance(clause, Words):
        return f" {clause.text} " in " ".join(text_of(document))
    return is_let_through(document, clause, everyone)


def is_let_through(document, wanted, everyone):
    compare = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__,
               "=": int.__eq__}[wanted.operator]
    if wanted.field == "gpu":
        task, = document.component.tasks
        gpus = task["resource"]["instances"] * task["resource"]["resourcePerInstance"]["gpu"]
        return compare(gpus, int(wanted.value))
    if wanted.field == "updated":
        return compare(int(document.hit.updated[8:10]), int(wanted.value[8:10]))
    values = values_of(document, wanted.field)
    if wanted.field == "version":
        return any(f"{value}.".startswith(f"{wanted.value}.") for value in values)
    if wanted.field != "name" and any(
            fold_value(wanted.value) in values_of(each, wanted.field) for each in everyone):
        return fold_value(wanted.value) in values
    words = {word for value in values for word in spaced(value)} | {
        value for value in values if value >= "\u3040"}
    return all(word in words for word in spaced(wanted.value))


def values_of(document, field):
    hit = document.hit
    found = {"type": [hit.type], "by": [hit.contributor], "tag": document.tags,
             "source": [hit.source], "image": document.images, "param": [parameter_of(document)],
             "name": [hit.name], "uses": ["thing", "dockerimage/thing", *document.images],
             "version": [hit.version], "is": ["deprecated"] if hit.is_deprecated else []}[field]
    return [fold_value(value) for value in found]


def in_order(found, sort):
    """References, as each of the orders without scores has them."""
    by_name = sorted(found, key=lambda each: (each.hit.name, each.hit.type, each.hit.source,
                                              each.hit.reference))
    if sort != "name":
        by_name.sort(key=lambda each: each.hit.updated, reverse=True)
    if sort == "used":
        by_name.sort(key=lambda each: -each.hit.used)
    return [each.hit.reference for each in by_name]


def counted(found, field):
    values = [value for each in found for value in dict.fromkeys(values_of(each, field))]
    return {value: values.count(value) for value in values}


def pages(index, clause, **how):
    """Every hit of every page."""
    first = index.search(clause, **how)
    last = -(-first.total // first.page_size)
    return first, [hit for page in range(1, last + 2)
                   for hit in index.search(clause, page=page, **how).hits]


@given(documents(), st.lists(clauses, max_size=4), st.sets(st.sampled_from(AUDIENCES)),
       st.sets(st.sampled_from(TYPES)), st.sampled_from(SORTS), st.integers(1, 5))
@settings(deadline=None, max_examples=25, phases=[Phase.generate])
def test_the_index_answers_as_if_it_looked_at_every_document(
        corpus, asked, audiences, types, sort, size):
    with tempfile.TemporaryDirectory() as folder:
        index = SearchIndex(Path(folder) / "index", audiences=lambda _: frozenset(audiences))
        fill(index, corpus)
        for each in asked:
            check(index, corpus, each, audiences, types, sort, size)


def fill(index, corpus):
    """In several segments, with documents among them that were replaced."""
    index.rebuild(corpus)
    for id in sorted({each.id for each in corpus})[:3]:
        index.update([each for each in corpus if each.id == id], {id})


def check(index, corpus, clause, audiences, types, sort, size):
    for versions in ((), (Filter("versions", "=", "all"),)):
        seen = [each for each in corpus if each.audience in audiences
                and (versions or each.is_newest)]
        found = [each for each in seen if is_asked(each, clause, seen)]
        chosen = [each for each in found if not types or each.hit.type in types]
        page, hits = pages(index, All((clause, *versions)), types=types, sort=sort, page_size=size)
        references = [hit.reference for hit in hits]
        assert sorted(references) == sorted(each.hit.reference for each in chosen)
        assert page.total == len(chosen) and page.is_ready
        if sort != "relevance":
            assert references == in_order(chosen, sort)
        assert page.facets["type"] == counted(found, "type")
        for field in ("by", "source", "tag", "image"):
            assert page.facets[field] == counted(chosen, field)


@given(documents(), names, st.sets(st.sampled_from(AUDIENCES)))
@settings(deadline=None, max_examples=25, phases=[Phase.generate])
def test_words_find_what_has_all_of_them_an_exact_name_first_and_nothing_that_is_hidden(
        corpus, name, audiences):
    with tempfile.TemporaryDirectory() as folder:
        index = SearchIndex(Path(folder) / "index", audiences=lambda _: frozenset(audiences))
        index.rebuild(corpus)
        seen = [each for each in corpus if each.audience in audiences and each.is_newest]
        hits = index.search(All((Words(name, is_last=True),)), page_size=100).hits
        references = [hit.reference for hit in hits]
        assert set(references) <= {each.hit.reference for each in seen}
        having = {each.hit.reference for each in seen if all(
            any(f" {' '.join(spaced(part))} " in text for text in text_of(each))
            for part in name.split("_"))}
        assert having <= set(references)
        exact_ones = [each.hit.reference for each in seen if each.hit.name == name]
        assert set(references[:len(exact_ones)]) == set(exact_ones)
        assert {each.name for each in index.complete(name[:2])} <= {each.hit.name for each in seen}
        assert set(index.nearest(f"{name}x")) <= {each.hit.name for each in seen}


@given(documents(), texts)
@settings(deadline=None, max_examples=15, phases=[Phase.generate])
def test_what_is_hidden_changes_nothing_that_others_see(corpus, query):
    with tempfile.TemporaryDirectory() as folder:
        whole, open_ones = (SearchIndex(Path(folder) / name) for name in ("whole", "open"))
        whole.rebuild(corpus)
        open_ones.rebuild([each for each in corpus if each.audience == "public"])
        found = [[replace(hit, why=()) for hit in index.search(query, page_size=100).hits]
                 for index in (whole, open_ones)]
        assert found[0] == found[1]
        assert whole.search(query).suggestions == open_ones.search(query).suggestions
