"""Queries with graded answers: what each is after, and so which components answer it how well.

Grades follow from what the generator knows of a component, never from what an engine finds:
3 the name says everything asked for; 2 the component is about all of it, but its name does not say
so; 1 of three things or more all but one, one of them in the name, or the wrong type of component;
what is only mentioned in passing counts for nothing. A Chinese word is said by components that are
described in Chinese.
"""
from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime
from typing import Callable, Iterable, Iterator, Mapping

from bench import words
from bench.components import Generator, Made
from bench.words import Topic
from registry.tokens import squash

EACH = 40
SENTENCES = (
    ("train {model} on {dataset} with {framework}", ""),
    ("how do I run {model} with {framework} on {dataset}", ""),
    ("I am looking for an example of {task} using {framework}", ""),
    ("is there a docker image with {framework} for {task}", "dockerimage"),
    ("which dataset should I take for {task}: {dataset}", "data"),
    ("a script that shows {model} in {framework}", "script"),
    ("what can {model} do on the {dataset} images", ""),
    ("{task} of {dataset} pictures by {model}", ""),
    ("a job for {task} on {dataset} that is ready to run", "job"))
CHINESE_SENTENCES = (
    ("用{framework}做{task}的例子", ""), ("如何在{dataset}上做{task}", ""),
    ("{task}", ""), ("{task} {framework}", ""), ("{model}的{task}", ""),
    ("有没有适合{task}的数据集", "data"), ("我想找{task}的镜像", "dockerimage"),
    ("{task}的{framework}脚本", "script"))
CHINESE_NONSENSE = "龘靐齉爩鱻麤龗灪吁籲龖厵滟爨癵驫麣纞虪讟钃鸜"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One query; `grades` has the components that answer it, as `type/name`.

    `words` is the query without its filters, for an engine that knows none. `is_near`: nothing is
    to be found, but a suggestion that finds the answer is wanted.
    """

    kind: str
    text: str
    grades: Mapping[str, int] = field(repr=False)
    words: str = ""
    is_near: bool = False


@dataclass(frozen=True)
class Wish:
    """What somebody is after; each of `choices` is a set of topics of which any one will do."""

    choices: tuple[frozenset[Topic], ...]
    type: str = ""
    is_chinese: bool = False

    def grade(self, made: Made) -> int:
        said = [max(self._said(made, topic) for topic in choice) for choice in self.choices]
        missing = said.count(0)
        if self.type and made.type != self.type:
            return 1 if not missing else 0
        if missing:
            return 1 if missing == 1 and len(said) >= 3 and 3 in said else 0
        return min(said)

    def _said(self, made: Made, topic: Topic) -> int:
        if self.is_chinese and topic.chinese:
            return 3 if made.is_chinese and topic in (*made.shown, *made.hidden) else 0
        if topic in made.shown:
            return 3
        return 2 if topic in made.hidden and not (made.is_chinese and topic.chinese) else 0


def wish(*topics: Topic, type: str = "", is_chinese: bool = False) -> Wish:
    return Wish(tuple(frozenset({topic}) for topic in topics), type, is_chinese)


class Judge:
    """Makes `each` queries of every class over the components of a generator."""

    def __init__(self, generator: Generator, *, each: int = EACH, seed: int = 7) -> None:
        self._made = generator.made
        self._each = each
        self._random = random.Random(seed)

    def all(self) -> list[Judged]:
        makers: dict[str, Callable[[Made, str], Judged | None]] = {
            "exact name": self._exact, "other spelling": self._respelled,
            "one attribute": self._one, "two attributes": self._two, "sentence": self._sentence,
            "typo": self._typo, "unfinished": self._unfinished, "Chinese": self._chinese,
            "contributor": self._contributor, "image or URI": self._uri,
            "filters": self._filters, "nonsense": self._nonsense}
        return [judged for kind, maker in makers.items() for judged in self._some(kind, maker)]

    def _some(self, kind: str, maker: Callable[[Made, str], Judged | None]) -> Iterator[Judged]:
        """As many as wanted, each with an answer, from components drawn at random."""
        seen: set[str] = set()
        for _ in range(self._each * 200):
            judged = maker(self._choose(self._made), kind)
            is_whole = judged and (judged.kind == "nonsense" or 3 in judged.grades.values()
                                   or 2 in judged.grades.values())
            if judged and is_whole and judged.text not in seen:
                seen.add(judged.text)
                yield judged
            if len(seen) == self._each:
                return

    def _choose(self, items: Iterable[Made]) -> Made:
        return self._random.choice(list(items) if not isinstance(items, list) else items)

    def _judged(self, kind: str, text: str, grade: Callable[[Made], int], *,
                words: str = "") -> Judged:
        grades = {made.key: grade(made) for made in self._made}
        return Judged(kind=kind, text=text, words=words or text,
                      grades={key: value for key, value in grades.items() if value})

    # --- one maker a class ----------------------------------------------------------------------

    def _exact(self, made: Made, kind: str) -> Judged:
        return self._judged(kind, made.name, _named(made))

    def _respelled(self, made: Made, kind: str) -> Judged | None:
        rest = made.name.lower().replace("_", "-").split("-")[-1]
        parts = [topic.word for topic in made.shown] + ([rest] if rest.isdigit() else [])
        styles = (" ".join, "_".join, "-".join, "".join, lambda each: " ".join(each).upper(),
                  lambda each: "".join(part.title() for part in each),
                  lambda each: ".".join(each))
        text = self._random.choice(styles)(parts)
        if text == made.name or squash(text) != squash(made.name):
            return None
        return self._judged(kind, text, _named(made))

    def _one(self, made: Made, kind: str) -> Judged:
        topic = self._random.choice([*made.shown, *made.hidden])
        text = self._random.choice((topic.word, topic.title))
        noun, of_type = self._random.choice(
            (("", ""), ("", ""), ("dataset", "data"), ("script", "script"),
             ("docker image", "dockerimage"), ("job", "job")))
        return self._judged(kind, f"{text} {noun}".strip(), wish(topic, type=of_type).grade)

    def _two(self, made: Made, kind: str) -> Judged:
        pair = self._random.sample([*made.shown, *made.hidden], 2)
        text = " ".join(self._random.choice((topic.word, topic.title)) for topic in pair)
        return self._judged(kind, text, wish(*pair).grade)

    def _sentence(self, made: Made, kind: str) -> Judged | None:
        return self._filled(made, kind, *self._random.choice(SENTENCES))

    def _chinese(self, made: Made, kind: str) -> Judged | None:
        text, of_type = self._random.choice(CHINESE_SENTENCES)
        return self._filled(made, kind, text, of_type) if made.is_chinese else None

    def _filled(self, made: Made, kind: str, text: str, of_type: str) -> Judged | None:
        """A sentence about a component, where that has everything which the sentence names."""
        is_chinese = kind == "Chinese"
        places = {"framework": words.FRAMEWORKS, "dataset": words.DATASETS,
                  "model": words.MODELS, "task": words.TASKS}
        found = {place: topic for place, topics in places.items() if f"{{{place}}}" in text
                 for topic in (*made.shown, *made.hidden) if topic in topics}
        if len(found) != text.count("{") or of_type not in ("", made.type):
            return None
        titles = {place: topic.chinese if is_chinese and topic.chinese else topic.title
                  for place, topic in found.items()}
        return self._judged(kind, text.format(**titles), wish(
            *found.values(), type=of_type, is_chinese=is_chinese).grade)

    def _typo(self, made: Made, kind: str) -> Judged:
        if self._random.random() < 0.3:
            return self._judged(kind, self._misspelled(made.name), _named(made))
        topics = self._random.sample(made.shown, self._random.choice((1, 2)))
        parts = [topic.word for topic in topics]
        place = max(range(len(parts)), key=lambda number: len(parts[number]))
        parts[place] = self._misspelled(parts[place])
        return self._judged(kind, self._random.choice((" ", " ", "_", "-")).join(parts),
                            wish(*topics).grade)

    def _unfinished(self, made: Made, kind: str) -> Judged:
        *before, last = self._random.sample(made.shown, self._random.choice((1, 2, 2)))
        least = 3 if before else 4
        begun = last.word[:self._random.randint(least, max(least, len(last.word) - 1))]
        topics = (*words.FRAMEWORKS, *words.DATASETS, *words.MODELS, *words.TASKS)
        choices = frozenset(topic for topic in topics if topic.word.startswith(begun))
        text = self._random.choice((" ", " ", "_", "-")).join(
            [*(topic.word for topic in before), begun])
        return self._judged(kind, text, Wish(
            (*(frozenset({topic}) for topic in before), choices)).grade)

    def _contributor(self, made: Made, kind: str) -> Judged:
        topic = self._random.choice(made.shown)
        spaced = made.contributor.replace(".", " ")
        about = wish(topic)

        def grade(each: Made) -> int:
            return about.grade(each) if each.contributor == made.contributor else 0
        text = self._random.choice((
            made.contributor, spaced, spaced.title(), f"by:{made.contributor}",
            f"{spaced} {topic.word}", f"{topic.title} {made.contributor}",
            f"by:{made.contributor} {topic.word}", f"{topic.word} by {spaced}"))
        if topic.word not in text and topic.title not in text:
            return self._judged(kind, text, words=text.removeprefix("by:"),
                                grade=lambda each: 3 * (each.contributor == made.contributor))
        return self._judged(kind, text, grade, words=text.removeprefix("by:"))

    def _uri(self, made: Made, kind: str) -> Judged | None:
        if made.type == "script":
            uri = f"git.example.org/{made.contributor}/{made.name}"
            return self._judged(kind, self._random.choice((uri, f"https://{uri}.git")),
                                lambda each: 3 * (each is made))
        if made.type == "dockerimage" or self._random.random() < 0.5:
            short = made.image.partition("/")[2]
            text = self._random.choice((made.image, made.image, short, f"image:{short}"))
            if text.startswith("image:"):  # a filter asks for no order
                return self._judged(kind, text, words=short, grade=lambda each: 3 * (
                    each.image == made.image and each.type in ("dockerimage", "job")))
            return self._judged(kind, text, _has_image(made.image))
        text = self._random.choice((made.data_uri, made.data_uri.rpartition("/")[2],
                                    made.data_uri.removeprefix("https://")))
        return self._judged(kind, text, _has_data(made.data_uri))

    def _filters(self, made: Made, kind: str) -> Judged | None:
        topic = self._random.choice(made.shown)
        date = made.updated.date().isoformat()
        other = self._random.choice(words.TASKS)
        chosen = self._random.choice([
            (f"type:{made.type}", lambda each: each.type == made.type),
            (f"by:{made.contributor}", lambda each: each.contributor == made.contributor),
            (f"updated:>={date}", lambda each: each.updated >= datetime.fromisoformat(date)),
            (f"updated:<{date}", lambda each: each.updated < datetime.fromisoformat(date)),
            (f"-{other.word}", lambda each: not _mentions(each, other.word)),
            *([(f"tag:{made.tags[-1]}", lambda each: made.tags[-1] in each.tags)]
              if made.tags else []),
            *([(f"gpu:<={made.gpus} type:job",
                lambda each: each.type == "job" and each.gpus <= made.gpus),
               (f"gpu:>={max(1, made.gpus)}",
                lambda each: each.type == "job" and each.gpus >= max(1, made.gpus)),
               (f"param:{made.parameters[0]}", lambda each: each.type == "job"
                and made.parameters[0] in each.parameters)] if made.type == "job" else []),
            *([(f"uses:{made.uses}", lambda each: each.type == "job" and each.uses == made.uses)]
              if made.type == "job" and made.uses else [])])
        about = wish(topic)
        texts = [chosen[0], topic.word]
        self._random.shuffle(texts)
        return self._judged(kind, " ".join(texts), words=topic.word, grade=lambda each: (
            about.grade(each) if chosen[1](each) else 0))

    def _nonsense(self, made: Made, kind: str) -> Judged:
        sort = self._random.random()
        if sort < 0.4:
            text = self._misspelled(self._misspelled(made.name, within=0.4), within=1.0)
            return Judged(kind=kind, text=text, words=text, grades={made.key: 3}, is_near=True)
        letters, count = ("qxzwjvkq", 9) if sort < 0.8 else (CHINESE_NONSENSE, 4)
        text = "".join(self._random.choices(letters, k=count))
        return Judged(kind=kind, text=text, words=text, grades={})

    def _misspelled(self, text: str, *, within: float = 1.0) -> str:
        """One letter wrong, missing, too many or in its neighbour's place; never the first."""
        places = [number for number in range(1, max(2, int(len(text) * within) - 1))
                  if text[number].isalpha()]
        place = self._random.choice(places or [1])
        before, letter, after = text[:place], text[place], text[place + 1:]
        new = self._random.choice("aeioulrnst".replace(letter.lower(), ""))
        swapped = f"{before}{after[:1]}{letter}{after[1:]}"
        changed = self._random.choice((f"{before}{new}{after}", before + after,
                                       f"{before}{letter}{new}{after}", swapped))
        return changed if changed != text else before + after


def _named(made: Made) -> Callable[[Made], int]:
    """3: this name, 2: this name written otherwise. Who asks for a name wants nothing else."""
    squashed = squash(made.name)
    return lambda each: 3 if each.name == made.name else 2 * (squash(each.name) == squashed)


def _has_image(image: str) -> Callable[[Made], int]:
    return lambda each: ({"dockerimage": 3, "job": 2}.get(each.type, 0)
                         if each.image == image else 0)


def _has_data(uri: str) -> Callable[[Made], int]:
    return lambda each: (3 if each.type == "data" else 2 * (each.type == "job" and not each.uses)
                         ) if each.data_uri == uri else 0


def _mentions(made: Made, word: str) -> bool:
    return word in f"{made.text(0)} {made.readme}".casefold()
