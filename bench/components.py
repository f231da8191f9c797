"""A large made-up marketplace: the same seed gives the same components and the same history."""
from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Iterator

from bench import words
from bench.words import Topic

VERSIONS_EACH = 4  # on average: 100,000 versions are 25,000 components
FIRST_DAY, DAYS = datetime(2024, 1, 1), 1050
TAGS = ("1.13-cuda11", "2.4-cuda12", "cpu", "py36")
SYLLABLES = [a + b for a in "ba ce di fo gu ha ki lo mu ne pa ra se to vi".split()
             for b in ("n", "r", "st", "l", "m", "ng", "x", "")]


@dataclass(frozen=True, kw_only=True)
class Made:
    """One component: `shown` is what its name says, `hidden` what only the rest of it says.

    `passing` stands in its README without being what it is about. `uses` names data components.
    `updated` is when its last version came.
    """

    type: str
    name: str
    contributor: str
    shown: tuple[Topic, ...]
    hidden: tuple[Topic, ...]
    passing: tuple[Topic, ...]
    phrase: str
    is_chinese: bool
    image: str
    data_uri: str
    uses: str
    gpus: int
    parameters: tuple[str, ...]
    tags: tuple[str, ...]
    versions: int
    updated: datetime
    filler: tuple[str, ...] = field(repr=False)

    @property
    def key(self) -> str:
        return f"{self.type}/{self.name}"

    @property
    def path(self) -> str:
        return f"{self.name}/{self.type}/component.yaml"

    @cached_property
    def description(self) -> str:
        topics = [*self.shown, *self.hidden]
        if not self.is_chinese:
            titles = " ".join(topic.title for topic in topics)
            text = words.ENGLISH[self.type].format(titles=titles, phrase=self.phrase)
            return f"{text} {' '.join(self.filler[:30])}"
        titles = "、".join(topic.chinese or topic.title for topic in topics)
        return words.CHINESE[self.type].format(titles=titles) + "".join(self.filler[:12])

    @cached_property
    def readme(self) -> str:
        join = "" if self.is_chinese else " "
        others = [f"Unlike {topic.title}. See {topic.word} too." for topic in self.passing]
        if self.is_chinese:
            others = [f"与{topic.chinese or topic.title}不同。" for topic in self.passing]
        return "\n\n".join([f"# {self.name}", *others, join.join(self.filler[12:])])

    def text(self, number: int) -> str:
        """The YAML of one version; numbers count from 0."""
        return "\n".join([
            f"name: {self.name}", f"type: {self.type}", f'version: "1.{number}.0"',
            f"contributor: {self.contributor}", f"description: {self.description}",
            *([f"tags: [{', '.join(self.tags)}]"] if self.tags else []),
            *self._body(number), ""])

    def _body(self, number: int) -> list[str]:
        if self.type == "dockerimage":
            return [f"uri: {self.image}"]
        if self.type == "data":
            return [f"uri: {self.data_uri}"]
        if self.type == "script":
            return [f"uri: https://git.example.org/{self.contributor}/{self.name}.git"]
        data = f"  - {{name: input, type: data, uri: '{self.data_uri}'}}"
        return ["parameters:", *(f"  {name}: {number + 1}" for name in self.parameters),
                "prerequisites:", f"  - {{name: image, type: dockerimage, uri: '{self.image}'}}",
                f"  - data/{self.uses}" if self.uses else data,
                "tasks:", "  - role: main", "    dockerimage: image", "    resource:",
                "      instances: 1", "      resourcePerInstance: "
                f"{{cpu: 1, memoryMB: 1024, gpu: {self.gpus}}}", "    command:",
                f"      - python main.py --{self.parameters[0]} $${self.parameters[0]}$$"]


class Generator:
    """Components of a marketplace with `versions` versions in all."""

    def __init__(self, versions: int, *, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.vocabulary = ["".join(self.random.choices(SYLLABLES, k=self.random.randint(1, 3)))
                           for _ in range(15_000)]
        self.weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.vocabulary))))
        self._data: dict[str, list[str]] = {}
        self.made = list(self._make(versions))

    def _make(self, versions: int) -> Iterator[Made]:
        taken: set[str] = set()
        while versions > 0:
            made = self._one(min(versions, 1 + int(self.random.expovariate(
                1 / (VERSIONS_EACH - 0.5)))))
            if made.key not in taken:
                taken.add(made.key)
                if made.type == "data":
                    for topic in made.shown:
                        self._data.setdefault(topic.word, []).append(made.name)
                versions -= made.versions
                yield made

    def _one(self, versions: int) -> Made:
        choose, chance = self.random.choice, self.random.random
        kind = choose(words.TYPES)
        framework, dataset = choose(words.FRAMEWORKS), choose(words.DATASETS)
        kinds = [dataset, choose(words.TASKS), *([framework, choose(words.MODELS)]
                                                 if kind != "data" else [])]
        self.random.shuffle(kinds)
        count = choose((2, 2, 3))
        name = self._styled([topic.word for topic in kinds[:count]])
        is_chinese = chance() < 0.15
        near = self._data.get(dataset.word, [])
        others = self.random.sample([*words.FRAMEWORKS, *words.DATASETS, *words.TASKS], 3)
        return Made(
            type=kind, name=name, contributor=choose(words.PEOPLE), shown=tuple(kinds[:count]),
            hidden=tuple(topic for topic in kinds[count:]
                         if topic in (framework, dataset) or chance() < 0.6),
            passing=tuple(topic for topic in others if topic not in kinds)
            if chance() < 0.4 else (),
            phrase=choose(words.PHRASES), is_chinese=is_chinese,
            image=f"docker.example.org/{framework.word}/{choose(('runtime', 'devel'))}:"
                  f"{choose(TAGS)}",
            data_uri=f"https://files.example.org/{choose(('mirror', 'eu', 'cn'))}/"
                     f"{dataset.word}-v{self.random.randint(1, 9)}.tar.gz",
            uses=choose(near) if near and chance() < 0.3 else "",
            gpus=choose((0, 0, 1, 1, 2, 4, 8)),
            parameters=tuple(self.random.sample(words.PARAMETERS, 3)),
            tags=tuple(topic.word for topic in kinds[:count]) if chance() < 0.2 else (),
            versions=versions,
            updated=FIRST_DAY + timedelta(days=DAYS * chance()),
            filler=self._filler(is_chinese))

    def _filler(self, is_chinese: bool) -> tuple[str, ...]:
        count = min(1500, 12 + int(self.random.lognormvariate(4.3, 1.0)))
        if is_chinese:
            return tuple(self.random.choices(words.CHINESE_FILLER, k=count))
        return tuple(self.random.choices(self.vocabulary, cum_weights=self.weights, k=count))

    def _styled(self, parts: list[str]) -> str:
        if self.random.random() < 0.45:
            parts = [*parts, str(self.random.randint(1, 300))]
        style = self.random.random()
        if style < 0.5:
            return "_".join(parts)
        if style < 0.77:
            return "-".join(parts)
        titled = "".join(part[:1].upper() + part[1:] for part in parts)
        return titled if style < 0.92 else titled.lower()

    def write_repository(self, folder: Path) -> None:
        """A bare repository with a commit for each round of versions."""
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
        rounds = max(made.versions for made in self.made)
        with subprocess.Popen(["git", "-C", str(folder), "fast-import", "--quiet"],
                              stdin=subprocess.PIPE) as importer:
            assert importer.stdin
            for number in range(rounds):
                importer.stdin.write(self._commit(number))
        assert importer.returncode == 0

    def _commit(self, number: int) -> bytes:
        parts = [f"commit refs/heads/main\ncommitter A <a@b> {1_700_000_000 + number * 3600} "
                 f"+0000\ndata 1\nx\n".encode()]
        for made in self.made:
            if number < made.versions:
                files = {made.path: made.text(number)}
                if number == 0:
                    files[made.path.replace("component.yaml", "README.md")] = made.readme
                for path, text in files.items():
                    content = text.encode()
                    parts.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode()
                                 + content + b"\n")
        return b"".join(parts)
