"""Each page for users stands in Chinese too, part by part as in English."""
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs/zh/README.md"
ENGLISH_ONLY = ("architecture.md", "benchmarks.md")  # for those who work on PAIShare
PAGES = [ROOT / "README.md", *sorted(
    page for page in (ROOT / "docs").glob("*.md") if page.name not in ENGLISH_ONLY)]
MARKDOWN = MarkdownIt("commonmark").enable("table")
by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def chinese(page):
    return ROOT / "README.zh-CN.md" if page.parent == ROOT else page.parent / "zh" / page.name


@cache
def tokens(page):
    outer = MARKDOWN.parse(page.read_text())
    return [each for token in outer for each in (token, *(token.children or ()))]


@cache
def headings(page):
    """The level and the anchor of each heading, the anchor as GitHub makes it."""
    found, seen = [], Counter()
    for opening, inline in zip(tokens(page), tokens(page)[1:]):
        if opening.type == "heading_open":
            text = "".join(each.content for each in inline.children)
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found.append((opening.tag, f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor))
            seen[anchor] += 1
    return found


def outline(page):
    """What follows what: headings and their levels, paragraphs, lists, tables with their cells."""
    return [token.type + token.tag for token in tokens(page) if token.block and token.nesting >= 0
            and token.type != "inline"]


def numbers(page):
    return {number for token in tokens(page) if token.type == "text"
            for number in re.findall(r"\d+(?:[.,]\d+)*", token.content)}


def code_blocks(page):
    return [token.content for token in tokens(page) if token.type in ("fence", "code_block")]


def code_in_sentences(page):
    return {" ".join(token.content.split()) for token in tokens(page)
            if token.type == "code_inline"}


def links(page):
    """Where each link leads to: an address, or a file and the heading in it."""
    found = []
    for token in (each for each in tokens(page) if each.type == "link_open"):
        link = unquote(token.attrs["href"])
        path, _, anchor = link.partition("#")
        is_outside = re.match("[a-z]+:", link)
        found.append((link, "") if is_outside else (
            (page.parent / path).resolve() if path else page, anchor))
    return found


def pictures(page):
    return [(page.parent / token.attrs["src"]).resolve() for token in tokens(page)
            if token.type == "image"]


def in_chinese(link):
    target, anchor = link
    if target not in PAGES:
        return link
    pairs = zip(headings(target), headings(chinese(target)))
    return chinese(target), {old: new for (_, old), (_, new) in pairs}.get(anchor, anchor)


@by_name
@pytest.mark.parametrize("parts", [outline, code_blocks, code_in_sentences, numbers, pictures],
                         ids=lambda parts: parts.__name__)
def test_a_page_and_its_chinese_have_the_same(page, parts):
    assert parts(chinese(page)) == parts(page)


@by_name
def test_links_lead_to_the_same_places_in_both_languages_first_of_all_to_each_other(page):
    (over, *rest), (back, *others) = links(page), links(chinese(page))
    assert (over, back) == ((chinese(page), ""), (page, ""))
    assert Counter(others) == Counter(map(in_chinese, rest))


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")],
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_anchors_in_links_are_headings(page):
    for target, anchor in links(page):
        assert not anchor or anchor in {each for _, each in headings(target)}, (target, anchor)


@by_name
def test_no_mark_of_bold_or_slanted_text_is_left_over_in_chinese(page):
    """After Chinese punctuation a closing mark is none for Markdown: `**这样。**不行`."""
    assert not [token.content for token in tokens(chinese(page))
                if token.type == "text" and "*" in token.content]


def test_the_chinese_index_has_each_page_and_the_folder_no_other():
    assert {INDEX, *map(chinese, PAGES[1:])} == set((ROOT / "docs/zh").glob("*.md"))
    assert {chinese(page) for page in PAGES} <= {target for target, _ in links(INDEX)}
