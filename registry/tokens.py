"""Words of names and texts: what is put into the index, and what a query asks for."""
from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Iterator

MAX_PARTS = 6
MAX_LENGTH = 64
GLUE = ("有没有 怎么样 怎么 怎样 如何 什么 哪个 哪些 适合 用于 一个 一些 例子 示例 请问 我想 想要 可以 能够 的 了 吗 呢 吧 用 做 在 和 与 及 或 "
        "把 从 对 上 找 请").split()
TYPES_IN_CHINESE = {"数据集": "data", "镜像": "dockerimage", "脚本": "script", "作业": "job"}
STOP_WORDS = frozenset("a an and are as at be by can for from in is it of on or that the this to "
                       "with".split()) | frozenset(GLUE)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[^\W_{_CJK}]+(?:[_\-./:][^\W_{_CJK}]+)*|[{_CJK}]+")
_SEPARATOR = re.compile(r"[_\-./:]")
_UNSEPARATED = str.maketrans("", "", "_-./:")
_HUMP = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+[a-z]?(?![a-z])"
                   "|[0-9]+")
_GLUED = re.compile(f"({'|'.join([*GLUE, *TYPES_IN_CHINESE])})")
_NUMBERED = re.compile(r"([^\W\d_]{2,})\d+")


@dataclass(frozen=True)
class Asked:
    """One word of a query: all its `parts` are wanted, or the parts written together."""

    parts: tuple[str, ...]

    @property
    def joined(self) -> str:
        """The word as one, without separators and case."""
        if _is_cjk(self.parts[0]):
            return self.parts[0] + "".join(pair[1:] for pair in self.parts[1:])
        return "".join(self.parts)


def index_words(text: str) -> Iterator[str]:
    """Every form under which a text is found.

    `ResNet50_train` gives res, net50, train, net, resnet50, net50train, resnet50train and resnet.
    Chinese, Japanese and Korean give pairs of characters.
    """
    for word in _WORD.findall(fold(text)):
        yield from _forms(word)


def query_words(text: str) -> list[Asked]:
    """What a query asks for; common words are left out where others remain."""
    words = typed_words(text)
    rare = [word for word in words if word.joined not in STOP_WORDS]
    return rare or words[-1:]


def typed_words(text: str) -> list[Asked]:
    """The words of a query, each once, common ones too; a Chinese sentence is cut at what glues it.
    """
    return list(dict.fromkeys(Asked(_parts(piece)) for word in _WORD.findall(fold(text))
                              for piece in _pieces(word)))


def spoken(text: str) -> list[str]:
    """The words of a text one by one, common ones too, by which phrases are compared.

    They are split at separators alone; Chinese, Japanese and Korean give single characters.
    """
    return [part for word in _WORD.findall(fold(text)) for part in _spoken(word)]


def characters(text: str) -> list[str]:
    """The Chinese, Japanese and Korean characters of a text."""
    return [char for word in _WORD.findall(fold(text)) if _is_cjk(word) for char in word]


def starts(name: str) -> list[str]:
    """A name from each of its parts to its end, squashed: what one may begin to type."""
    parts = [part for word in _WORD.findall(fold(name))
             for part in (word if _is_cjk(word) else _parts(word))]
    return list(dict.fromkeys("".join(parts[place:]) for place in range(len(parts))))


def squash(text: str) -> str:
    """A name without case and separators: `ResNet-50` and `resnet_50` are the same."""
    return "".join(_WORD.findall(fold(text))).translate(_UNSEPARATED).lower()


def fold(text: str) -> str:
    """Without accents and with one form for each character; the case is kept."""
    if text.isascii():
        return text
    marks_apart = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize(
        "NFC", "".join(char for char in marks_apart if not unicodedata.combining(char)))


@lru_cache(maxsize=100_000)
def _forms(word: str) -> tuple[str, ...]:
    parts = _parts(word)
    if _is_cjk(word):
        return parts
    if len(parts) == 1 and parts[0] in STOP_WORDS:
        return ()
    found = list(parts)
    if 1 < len(parts) <= MAX_PARTS:
        found += ["".join(pair) for pair in zip(parts, parts[1:])]
        if len(parts) > 2:
            found.append("".join(parts))
    stems = [match[1] for match in map(_NUMBERED.fullmatch, dict.fromkeys(found)) if match]
    return tuple(form[:MAX_LENGTH] for form in dict.fromkeys([*found, *stems]))


@lru_cache(maxsize=100_000)
def _spoken(word: str) -> tuple[str, ...]:
    return tuple(word) if _is_cjk(word) else tuple(_SEPARATOR.split(word.lower()))


def _parts(word: str) -> tuple[str, ...]:
    if _is_cjk(word):
        pairs = tuple(word[start:start + 2] for start in range(len(word) - 1))
        return pairs or (word,)
    return tuple(part.lower()[:MAX_LENGTH] for piece in _SEPARATOR.split(word)
                 for part in _humps(piece))


def _pieces(word: str) -> list[str]:
    if not _is_cjk(word):
        return [word]
    pieces = [piece for piece in _GLUED.split(word) if piece]
    return pieces if all(len(piece) > 1 or piece in STOP_WORDS for piece in pieces) else [word]


def _humps(piece: str) -> list[str]:
    if piece.islower() or piece.isupper() or piece.isdigit():
        return [piece]
    humps = _HUMP.findall(piece)
    return humps if "".join(humps) == piece else [piece]


def _is_cjk(word: str) -> bool:
    return word[0] >= "\u3040" and re.match(f"[{_CJK}]", word) is not None
