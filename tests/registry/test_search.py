import gc
import os
import random
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.document import Document
from registry.errors import RegistryError
from registry.hits import Hit
from registry.query import All, Any, Filter, Not, Phrase, Words
from registry.query_fields import FIELDS
from registry.search import SCHEMA_VERSION, SearchIndex
from registry.segments import Store
from registry.tokens import STOP_WORDS, fold, index_words, query_words, squash
from tests.registry.marketplace import data


def document(name, *, type="data", version="1.0.0", description="", contributor="ann", number=0,
             source_id=1, audience="public", older=(), text=None, clashes=()):
    hit = Hit(source="one", type=type, name=name, version=version, contributor=contributor,
              description=description, reference=f"{type}/{name}@{version}",
              updated=f"2026-01-01T00:00:{number:02}Z")
    return Document(source_id=source_id, audience=audience, hit=hit, older_versions=older,
                    text=data(name) if text is None else text, clashes=clashes)


JOB = """\
type: job
name: trainer
contributor: Grace
parameters:
  learning_rate: 0.1
prerequisites:
  - data/handwriting@1.0
  - {name: caffe_env, type: dockerimage, version: 1.0, uri: 'openpai/pai.build.base:py36'}
tasks:
  - role: worker
    dockerimage: caffe_env
    resource: {instances: 1, resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}}
    command: [python solver.py --verbose]
"""
DOCUMENTS = [
    document("tensorflow_cifar10", type="job", number=1, description="Trains a small network."),
    document("cifar10", number=2, description="Sixty thousand images", older=("0.9.0",)),
    document("ResNet50-train", type="job", number=3, description="A residual network"),
    document("PyTorch", type="dockerimage", number=4, description="With CUDA 12"),
    document("中文数据", number=5, description="用于图像分类的数据集"),
    document("trainer", type="job", number=6, contributor="Grace Hopper", text=JOB),
    document("the", type="script", number=7), document("Café-crème", number=8),
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    index = SearchIndex(tmp_path_factory.mktemp("search") / "index")
    index.rebuild(DOCUMENTS)
    return index


@pytest.fixture
def index(tmp_path):
    return SearchIndex(tmp_path / "index")


def names(index, query="", **how):
    return [hit.name for hit in index.search(query, **how).hits]


# --- words --------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, forms", [
    ("tensorflow_cifar10", "tensorflow cifar10 tensorflowcifar10 cifar tensorflowcifar"),
    ("PyTorch", "py torch pytorch"), ("the", ""), ("CIFAR-10", "cifar 10 cifar10"),
    ("ResNet50", "res net50 resnet50 net resnet"), ("HTTPServer", "http server httpserver"),
    ("a_b_c", "a b c ab bc abc"), ("图像分类", "图像 像分 分类"), ("图", "图"),
    ("Ｔｅｎｓｏｒ", "tensor"), ("Café", "cafe"), ("한국어", "한국 국어"), ("МОСКВА", "москва")])
def test_a_name_is_split_and_joined(text, forms):
    assert set(index_words(text)) - {"cifar"} == set(forms.split()) - {"cifar"}


def test_common_words_are_left_out_of_a_query_where_others_remain():
    assert [word.joined for word in query_words("training of the digits")] == ["training", "digits"]
    assert [word.joined for word in query_words("of the")] == ["the"]


@given(st.text())
@settings(deadline=None)
def test_every_part_of_a_query_for_a_text_is_a_word_of_it(text):
    found = set(index_words(text))
    for word in query_words(text):
        assert word.joined in STOP_WORDS or all(
            part in found or part in STOP_WORDS for part in word.parts)


@given(st.text(alphabet=st.characters(codec="utf-8")))
@settings(deadline=None)
def test_folding_twice_is_folding_once(text):
    assert fold(fold(text)) == fold(text)
    assert squash(text) == squash(squash(text))


# --- what is found ------------------------------------------------------------------------------

@pytest.mark.parametrize("query, found", [
    ("cifar10", ["cifar10", "tensorflow_cifar10"]), ("TensorFlow", ["tensorflow_cifar10"]),
    ("tensorflow cifar10", ["tensorflow_cifar10"]), ("tensorflowcifar10", ["tensorflow_cifar10"]),
    ("CIFAR-10", ["cifar10", "tensorflow_cifar10"]), ("cifar", ["cifar10", "tensorflow_cifar10"]),
    ("resnet", ["ResNet50-train"]), ("resnet50", ["ResNet50-train"]),
    ("resnet 50", ["ResNet50-train"]), ("res", ["ResNet50-train"]), ("pytorch", ["PyTorch"]),
    ("py torch", ["PyTorch"]), ("图像", ["中文数据"]), ("分类", ["中文数据"]), ("图像分类", ["中文数据"]),
    ("中", ["中文数据"]), ("cafe", ["Café-crème"]), ("creme", ["Café-crème"]),
    ("the", ["the"]), ("0.9.0", ["cifar10"]), ("script/the", ["the"])])
def test_a_name_is_found_however_it_is_written(filled, query, found):
    assert names(filled, query) == found


@pytest.mark.parametrize("query", [
    "grace", "hopper", "learning_rate", "solver.py", "verbose", "handwriting", "caffe_env",
    "pai.build.base", "openpai", "openpai/pai.build.base:py36", "worker"])
def test_a_job_is_found_by_people_parameters_commands_prerequisites_and_images(filled, query):
    assert names(filled, query) == ["trainer"]


def test_every_word_counts_and_the_last_may_be_unfinished(filled):
    assert names(filled, "small netw") == ["tensorflow_cifar10"]
    assert names(filled, "netw small") == ["tensorflow_cifar10"]
    assert names(filled, "residual small") == []


def test_of_a_sentence_half_of_the_words_are_enough_where_no_component_has_all(filled):
    assert names(filled, "how to classify sixty thousand images quickly") == ["cifar10"]


def test_the_exact_name_comes_first_however_often_others_say_it(index):
    index.rebuild([document("other", description="digits " * 50), document("digits"),
                   document("digits_digits"), document("di-gits"),
                   document("new", number=9, description="digits")])
    assert names(index, "digits")[:2] == ["digits", "di-gits"]
    assert names(index, "data/digits")[0] == names(index, "Digits")[0] == "digits"


def test_types_narrow_the_hits_but_not_the_facets(filled):
    page = filled.search("cifar10", types=("job",))
    assert ([hit.name for hit in page.hits], page.total) == (["tensorflow_cifar10"], 1)
    assert page.facets["type"] == {"data": 1, "job": 1}
    assert filled.search("", types=("nothing",)).total == 0


def test_an_empty_query_lists_all_newest_first(filled):
    page = filled.search("  ", page_size=3)
    assert [hit.name for hit in page.hits] == ["Café-crème", "the", "trainer"]
    assert page.total == 8
    assert page.facets["type"] == {"data": 3, "dockerimage": 1, "job": 3, "script": 1}


def test_a_hit_has_all_that_a_list_shows(filled):
    hit, = filled.search("pytorch").hits
    assert replace(hit, score=0.0) == replace(DOCUMENTS[3].hit, score=0.0)
    assert hit.score > 0


def test_a_long_description_is_cut_for_the_list(index):
    index.rebuild([document("a", description="word \n" * 500)])
    shown = index.search("a").hits[0].description
    assert len(shown) <= 300 and shown.endswith("word…") and "\n" not in shown


@pytest.mark.parametrize("rest", [
    "name: [", "tasks: 5", "parameters: [1]", "tasks: [{role: a}]", "prerequisites: [{name: 1}]",
    "tags: {a: [b]}", "tasks: [{resource: {resourcePerInstance: {gpu: .inf}}}]", "uri: 5"])
def test_a_component_that_newer_rules_would_refuse_is_still_found_by_its_name(index, rest):
    index.rebuild([document("old", description="words", text=f"type: job\n{rest}")])
    assert names(index, "old") == names(index, "words") == ["old"]


def test_every_valid_component_can_be_indexed(index):
    files = sorted((Path(__file__).parents[1] / "cases" / "components" / "good").glob("*.yaml"))
    assert len(files) > 10
    index.rebuild([document(file.stem, text=file.read_text(), source_id=number)
                   for number, file in enumerate(files)])
    assert index.count() == len(files)


@pytest.mark.parametrize("query, suggestion", [
    ("tensorfow", "tensorflow"), ("resnet5O", "resnet50"), ("pytroch", "pytorch"),
    ("small cifra10", "small cifar10"), ("residual cifra10", None)])
def test_where_nothing_is_found_a_near_query_is_suggested(filled, query, suggestion):
    found = filled.search(query).suggestions
    assert found[:1] == ((suggestion,) if suggestion else ())
    assert all(filled.search(each).total for each in found)


def test_nonsense_finds_and_suggests_nothing(filled):
    page = filled.search("xqzzw vbnmq")
    assert (page.hits, page.total, page.suggestions) == ((), 0, ())
    assert not any(page.facets.values())


def test_an_endless_query_is_answered_by_its_beginning(filled):
    assert filled.search("cifar10 " * 1_000_000).total == filled.search("cifar10").total > 0
    assert filled.search("a_" * 1_000_000).total == 0


typed = st.text() | st.from_regex(r'[a-c*?:()"\'\\~^+\-\[\] ]{1,30}', fullmatch=True)
clauses = st.recursive(
    st.builds(Words, typed, st.booleans()) | st.builds(Phrase, typed)
    | st.builds(Filter, st.sampled_from(sorted(FIELDS)), st.sampled_from(["=", "<", ">="]), typed),
    lambda inner: inner.map(Not) | st.lists(inner).map(lambda found: All(tuple(found)))
    | st.lists(inner).map(lambda found: Any(tuple(found))), max_leaves=8)


@given(typed | clauses, st.booleans())
@settings(deadline=None, max_examples=200)
def test_no_query_raises_or_takes_the_index_for_damaged(filled, query, explain):
    assert filled.search(query, explain=explain).is_ready
    if isinstance(query, str):
        filled.complete(query), filled.nearest(query)
    assert filled.is_sound()


@given(st.text(max_size=8), st.integers(1, 9))
@settings(deadline=None, max_examples=50)
def test_the_pages_together_are_all_hits_once_in_one_order(filled, query, size):
    total = filled.search(query).total
    pages = [hit for page in range(1, total // size + 2)
             for hit in filled.search(query, page=page, page_size=size).hits]
    assert pages == list(filled.search(query, page_size=100).hits)
    assert len({hit.reference for hit in pages}) == total


@pytest.mark.parametrize("page, size, shown", [
    (0, 20, (1, 20)), (-5, 0, (1, 1)), (10**9, 10**9, (10**9, 100))])
def test_a_page_that_cannot_be_is_brought_into_bounds(filled, page, size, shown):
    found = filled.search("", page=page, page_size=size)
    assert (found.page, found.page_size) == shown
    assert found.total == 8


def test_who_belongs_to_no_audience_sees_nothing(index):
    index.rebuild([document("open"), document("hidden", audience="source 7", source_id=7)])
    assert names(index) == ["open"]
    nobody = SearchIndex(index.path, audiences=lambda user_id: frozenset())
    page = nobody.search("")
    assert (page.total, nobody.search("hiden").suggestions) == (0, ())
    assert not any(page.facets.values())
    assert nobody.complete("h") == nobody.nearest("hiden") == []


def test_a_clash_shows_to_those_who_see_both_sides_of_it(index):
    index.rebuild([
        document("same", clashes=("source 7",)),
        document("same", audience="source 7", source_id=7, clashes=("public",))])
    member = SearchIndex(index.path, audiences=lambda user_id: frozenset({"public", "source 7"}))
    assert [hit.reference for hit in index.search("").hits] == ["data/same@1.0.0"]
    assert [hit.reference for hit in member.search("").hits] == ["one:data/same@1.0.0"] * 2


def test_words_that_one_may_not_see_take_no_place_among_the_beginnings_of_others(index):
    index.rebuild([document("open", description="starling")] + [
        document(f"hidden{number}", description=f"star{letter} star{letter}s", number=number,
                 audience="source 7", source_id=7)
        for number in range(4) for letter in "abcdefghijklmnopqrstuvwxyz"])
    assert names(index, "star") == ["open"]


def test_what_one_may_not_see_does_not_change_what_is_found(index):
    index.rebuild([document("one_two_three", audience="source 7", source_id=7),
                   document("one_two")])
    assert names(index, "one two three") == ["one_two"]


def test_names_that_one_may_not_see_are_not_suggested(index):
    index.rebuild([document("open"), document("hidden", audience="source 7", source_id=7)])
    assert index.search("hiddem").suggestions == ()


# --- the index as a thing -------------------------------------------------------------------------

def test_without_an_index_a_search_finds_nothing_and_says_so(index):
    page = index.search("anything")
    assert (page.hits, page.is_ready, index.count(), index.is_sound()) == ((), False, None, False)


def test_a_reader_sees_an_update_and_a_rebuild_without_being_opened_again(index):
    reader = SearchIndex(index.path)
    index.rebuild([document("first")])
    assert names(reader) == ["first"]
    index.update([document("second", number=1)], {"1/data/second"})
    assert names(reader) == ["second", "first"]
    index.rebuild([document("third")])
    assert names(reader) == ["third"]


def open_files(folder):
    links = [Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd")]
    return [target for target in (os.readlink(link) for link in links if link.is_symlink())
            if target.startswith(str(folder))]


def test_a_reader_lets_go_of_what_is_no_longer_the_index(index):
    index.rebuild([document("a")])
    gc.disable()
    for number in range(12):
        index.update([document("a", number=number)], {"1/data/a"})
        assert names(index) == ["a"]
    gc.enable()
    segments = len(list(index.path.glob("v*-1/newest*.seg")))
    assert len(open_files(index.path)) == segments


def versions(index, query="versions:all"):
    return sorted(hit.version for hit in index.search(query).hits)


@pytest.mark.parametrize("latest, older, seen", [
    ("1.2.0", ["1.0.0", "1.1.0"], ["1.0.0", "1.1.0", "1.2.0"]),  # one more is published
    ("1.0.0", ["1.1.0"], ["1.0.0", "1.1.0"]),  # the latest is yanked
    ("1.1.0", [], ["1.1.0"])])  # the first is deleted for good
def test_between_the_commits_of_an_update_all_versions_are_as_before_or_as_after(
        index, monkeypatch, latest, older, seen):
    def state(latest, older):
        return [document("a", version=latest), document("b"),
                *(replace(document("a", version=each), is_newest=False) for each in older)]
    index.rebuild(state("1.1.0", ["1.0.0"]))
    index.update(state("1.1.0", ["1.0.0"]), {"1/data/a", "1/data/b"})  # the same once more
    reader, found = SearchIndex(index.path), []
    assert versions(reader) == ["1.0.0", "1.0.0", "1.1.0"]
    original = Store._list_files

    def look(store):
        original(store)
        found.append((versions(reader), versions(SearchIndex(index.path))))
    monkeypatch.setattr(Store, "_list_files", look)
    index.update(state(latest, older)[:1] + state(latest, older)[2:], {"1/data/a"})
    before, after = ["1.0.0", "1.0.0", "1.1.0"], sorted([*seen, "1.0.0"])
    assert found and all(new == old for new, old in found)
    assert [all_ for all_, _ in found] == sorted((all_ for all_, _ in found), key=(
        [before, after].index))
    assert versions(reader) == after and len(found) in (2, 3)


def test_an_update_that_was_cut_off_after_any_commit_is_done_once_more(index, monkeypatch):
    old = [document("a"), replace(document("a", version="0.9.0"), is_newest=False)]
    new = [document("a", version="1.1.0"),
           *(replace(document("a", version=each), is_newest=False) for each in ("0.9.0", "1.0.0"))]
    original = Store._list_files
    for last in range(3):
        index.rebuild(old)
        commits = iter(range(last))

        def die(store):
            original(store)
            if next(commits, None) is None:
                raise KeyboardInterrupt
        monkeypatch.setattr(Store, "_list_files", die)
        with pytest.raises(KeyboardInterrupt):
            index.update(new, {"1/data/a"})
        monkeypatch.setattr(Store, "_list_files", original)
        index.update(new, {"1/data/a"})
        assert versions(index) == ["0.9.0", "1.0.0", "1.1.0"] and names(index) == ["a"]
        assert Store(index.path / index._current(), "older").count() == 2


def test_an_update_replaces_and_removes(index):
    index.rebuild([document("a", description="old"), document("b"), document("c")])
    index.update([document("a", description="new")], {"1/data/a", "1/data/b"})
    assert sorted(names(index)) == ["a", "c"]
    assert names(index, "old") == [] and names(index, "new") == ["a"]
    assert index.count() == 2


def test_the_same_update_twice_is_the_same(index):
    index.rebuild([])
    for _ in range(2):
        index.update([document("a")], {"1/data/a"})
    assert index.count() == 1


def test_an_update_of_thousands_is_taken_at_once(index):
    index.rebuild([])
    many = [document(f"n{number}") for number in range(1500)]
    index.update(many, {each.id for each in many})
    index.update([], {each.id for each in many[:1000]})
    assert index.count() == 500


def test_an_update_that_fails_midway_leaves_the_index_as_it_was(index):
    index.rebuild([document("a")])

    def failing():
        yield document("b")
        raise OSError("no space left")
    with pytest.raises(OSError):
        index.update(failing(), {"1/data/a"})
    assert names(index) == ["a"]
    index.update([document("c")], {"1/data/c"})
    assert index.count() == 2


def test_many_small_updates_leave_few_segments_and_lose_nothing(index):
    index.rebuild([document(f"n{number:03}", number=number % 60) for number in range(120)])
    for number in range(60):
        index.update([document(f"n{number:03}", description="again")], {f"1/data/n{number:03}"})
    assert len(list(index.path.glob("v*/newest_*.seg"))) <= 12
    assert (index.count(), index.search("again").total, index.search("").total) == (120, 60, 120)
    index.update([], {f"1/data/n{number:03}" for number in range(120)})
    assert (index.count(), index.search("").total) == (0, 0)
    assert list(index.path.glob("v*/newest_*.seg")) == []


def test_there_is_no_update_without_an_index(index):
    with pytest.raises(RegistryError, match="no search index"):
        index.update([], {"1/data/a"})


def test_a_rebuild_leaves_one_directory_named_after_the_form_of_the_index(index):
    for _ in range(3):
        index.rebuild(DOCUMENTS)
    assert sorted(os.listdir(index.path)) == ["current", f"v{SCHEMA_VERSION}-3"]


def test_an_index_of_another_form_is_passed_over(index):
    index.rebuild(DOCUMENTS)
    (index.path / "current").unlink()
    (index.path / f"v{SCHEMA_VERSION}-1").rename(index.path / "v0-1")
    (index.path / "current").symlink_to("v0-1")
    assert index.search("").is_ready is False
    index.rebuild(DOCUMENTS)
    assert sorted(os.listdir(index.path)) == ["current", f"v{SCHEMA_VERSION}-2"]


@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(b""),
                                    lambda file: file.write_bytes(b"\0" * file.stat().st_size),
                                    lambda file: file.unlink()], ids=["empty", "zeros", "gone"])
@pytest.mark.parametrize("name", ["newest_*.seg", "_newest_*.toc", "newest-manifest.json"])
def test_a_damaged_index_raises_nothing_and_is_known_to_be_damaged(index, damage, name):
    index.rebuild(DOCUMENTS)
    file, = (index.path / f"v{SCHEMA_VERSION}-1").glob(name)
    damage(file)
    reader = SearchIndex(index.path)
    assert reader.search("cifar10").hits == ()
    assert not index.is_sound()
    index.rebuild(DOCUMENTS)
    assert names(reader, "pytorch") == ["PyTorch"] and index.is_sound()


def test_threads_share_one_index(filled):
    queries = ["cifar10", "TensorFlow", "", "图像", "network", "py", "grace", "resnet 50"] * 30
    expected = {query: names(filled, query) for query in queries}
    wrong = []

    def ask(seed):
        for query in random.Random(seed).sample(queries, len(queries)):
            if names(filled, query) != expected[query]:
                wrong.append(query)
    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert wrong == []


def test_a_deleted_index_can_be_made_again_in_the_same_place(index):
    index.rebuild(DOCUMENTS)
    assert names(index, "pytorch") == ["PyTorch"]
    shutil.rmtree(index.path)
    assert index.search("pytorch").is_ready is False
    index.rebuild(DOCUMENTS)
    assert names(index, "pytorch") == ["PyTorch"]


# --- orders, filters, completions, reasons --------------------------------------------------------

SIZED = JOB.replace("type: job\nname: trainer", "type: job\nname: sized\ntags: [Vision, Small]") \
    .replace("instances: 1", "instances: 2").replace("gpu: 0", "gpu: $$gpus$$") \
    .replace("learning_rate: 0.1", "gpus: 3")


@pytest.mark.parametrize("sort, found", [
    ("name", ["a", "b", "c"]), ("updated", ["c", "b", "a"]), ("used", ["b", "c", "a"])])
def test_hits_are_sorted_as_asked(index, sort, found):
    made = [document("a", number=1), document("b", number=2), document("c", number=3)]
    made[1] = replace(made[1], hit=replace(made[1].hit, used=9))
    index.rebuild(made)
    assert names(index, sort=sort) == names(index, "1.0.0", sort=sort) == found


def test_the_gpus_of_a_job_are_those_of_all_its_tasks_by_its_parameters(index):
    index.rebuild([document("sized", type="job", text=SIZED), document("digits"),
                   document("trainer", type="job", text=JOB)])
    assert names(index, "gpu:6") == names(index, "gpu:>=5") == ["sized"]
    assert names(index, "gpu:<6") == names(index, "gpu:0") == ["trainer"]
    assert index.search("").facets["gpu"] == {
        "0": 1, "<=1": 1, "<=2": 1, "<=4": 1, "<=8": 2}


def test_every_value_of_a_facet_is_a_filter_that_finds_as_many(filled):
    for field, values in filled.search("").facets.items():
        for value, count in values.items():
            quoted = value if field == "gpu" else f'"{value}"'
            assert filled.search(f"{field}:{quoted}").total == count, (field, value)


@pytest.mark.parametrize("query, found", [
    ("version:1", ["1.2.0", "1.2.0-rc"]), ("version:^1.1", ["1.2.0"]), ("version:2.x", ["2.0.0"]),
    ('version:">=1 <3"', ["1.2.0", "2.0.0"]), ("version:≥1.3", ["2.0.0"]), ("version:1.0.0", []),
    ("version:1.0.0 versions:all", ["1.0.0"]), ("version:<=1.2 versions:all", ["1.0.0", "1.2.0"]),
    ("version:^3", [])])
def test_a_version_is_asked_for_by_its_beginning_or_a_range_among_what_is_shown(
        index, query, found):
    index.rebuild([document("a", version="1.2.0", older=("1.0.0",)), document("b", version="2.0.0"),
                   document("c", version="1.2.0-rc"), document("d", version="spring"),
                   replace(document("a", version="1.0.0"), is_newest=False)])
    assert versions(index, query) == found


def test_the_numbers_of_a_version_do_not_make_one_number(index):
    index.rebuild([document("cifar", version="1.0.0", description="cifar cifar", number=9),
                   document("cifar_10", version="2.1.3")])
    assert names(index, "CIFAR-10") == ["cifar_10"]


def test_filters_before_and_after_the_words_find_the_same(filled):
    for text in ("tensorflow_cif", "Res", "small net"):
        assert names(filled, f"{text} type:job") == names(filled, f"type:job {text}") != []


def test_tags_are_shown_counted_and_filtered_whatever_their_case(index):
    index.rebuild([document("sized", type="job", text=SIZED), document("digits")])
    page = index.search("tag:vision")
    assert [hit.tags for hit in page.hits] == [("Vision", "Small")]
    assert page.facets["tag"] == {"Small": 1, "Vision": 1}


@pytest.mark.parametrize("query, found", [
    ('"thousand images"', ["cifar10"]), ('"images thousand"', []), ('"图像分类的"', ["中文数据"]),
    ("network -small", ["ResNet50-train"]), ("pytorch OR grace", ["trainer", "PyTorch"]),
    ("name:cifar10 type:data", ["cifar10"]), ("uses:handwriting", ["trainer"]),
    ("uses:data/handwriting", ["trainer"]), ("param:learning_rate", ["trainer"]),
    ("image:openpai", ["trainer"]), ('by:"Grace Hopper"', ["trainer"]), ("by:hopper", ["trainer"]),
    ("version:0.9", []), ("updated:>2026-01-01", []), ("is:deprecated", [])])
def test_the_whole_language_is_understood(filled, query, found):
    assert sorted(names(filled, query)) == sorted(found)


@pytest.mark.parametrize("query, found", [
    ("tensorfow", "tensorflow_cifar10"), ("cifra10", "cifar10"), ("PyTroch", "PyTorch"),
    ("resnet50 trian", "ResNet50-train")])
def test_one_wrong_letter_in_a_name_is_found_all_the_same(filled, query, found):
    assert found in names(filled, query)


@pytest.mark.parametrize("prefix, found", [
    ("ci", ["cifar10", "tensorflow_cifar10"]), ("Tensor", ["tensorflow_cifar10"]),
    ("tensorflow-c", ["tensorflow_cifar10"]), ("tr", ["trainer", "ResNet50-train"]),
    ("torch", ["PyTorch"]), ("据", ["中文数据"]), ("creme", ["Café-crème"]), ("zzz", []), ("", [])])
def test_first_letters_are_completed_from_any_part_of_a_name(filled, prefix, found):
    assert [each.name for each in filled.complete(prefix)] == found


def test_completions_are_no_more_than_asked_for_and_the_most_used_first(index):
    made = [document(f"thing{number:03}", number=number % 60) for number in range(600)]
    made[444] = replace(made[444], hit=replace(made[444].hit, used=3))
    index.rebuild(made)
    assert [each.name for each in index.complete("th", limit=3)] == [
        "thing444", "thing000", "thing001"]


@pytest.mark.parametrize("name, type, found", [
    ("cifar_11", "", "cifar10"), ("py-torch2", "", "PyTorch"), ("trainr", "job", "trainer"),
    ("trainer", "data", None)])
def test_the_nearest_names_stand_in_for_one_that_is_not_there(filled, name, type, found):
    assert filled.nearest(name, type)[:1] == ([found] if found else [])


@pytest.mark.parametrize("query", ['"rare word"', "rare OR unknown", '"rare word" OR unknown'])
def test_phrases_and_choices_are_ranked_too(index, query):
    index.rebuild([document("rare_word", number=1), document(
        "other", number=9, description="a rare word among many others " + "and so on " * 50)])
    assert names(index, query) == ["rare_word", "other"]
    assert names(index, query, sort="updated") == ["other", "rare_word"]


def test_why_a_hit_stands_where_it_does_adds_up(filled):
    for query in ("cifar10 small", '"small network" cifar10 OR mnist', "resnet trian",
                  "trains a small network quickly now"):
        for hit in filled.search(query, explain=True).hits:
            assert sum(value for _, value in hit.why) == pytest.approx(hit.score, abs=0.02)
    why = filled.search("residual", explain=True).hits[0].why
    assert why[0][0] == "“residual” in its description"
    assert filled.search("residual").hits[0].why == ()


@pytest.mark.parametrize("query, place", [
    ("resnet50", "name"), ("resid", "description"), ("net50", "name"), ("图像", "description"),
    ("cifra10", "name, but for a letter"), ("grace", "contributor"),
    ("learning_rate", "parameters"), ("verbose", "commands")])
def test_why_a_hit_is_found_names_where_its_words_stand(filled, query, place):
    why = filled.search(query, explain=True).hits[0].why
    assert [text for text, _ in why if f" in its {place}" in text], why


def test_the_words_that_were_looked_for_are_told(filled):
    assert set(filled.search('ResNet50 "small network" -big type:job').terms) >= {
        "res", "net50", "resnet50", "small", "network"}


def test_a_query_that_is_a_uri_finds_its_own_component_first(index):
    uri = "docker.example.org/pytorch/devel:py36"
    image = f"type: dockerimage\nname: own\ncontributor: ann\nuri: {uri}\n"
    job = JOB.replace("openpai/pai.build.base:py36", uri)
    index.rebuild([document("user", type="job", text=job, number=9, description="py36 " * 9),
                   document("own", type="dockerimage", text=image)])
    assert names(index, uri) == ["own", "user"]


def test_a_sentence_that_names_a_type_prefers_it(index):
    index.rebuild([document("cats", description="pictures of cats", number=1),
                   document("cats_job", type="job", description="pictures of cats", number=9)])
    assert names(index, "find me a dataset with pictures of cats")[0] == "cats"
    assert names(index, "适合cats的作业")[0] == "cats_job"
