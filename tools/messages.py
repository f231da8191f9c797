"""Bring registry/translations/*.po to what the pages say, and list what waits for a translator.

    .venv/bin/python tools/messages.py
"""
from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any, Iterator

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from registry.component_rules import sentences

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "registry" / "translations"
SCHEMAS = ROOT / "registry" / "schemas"
# Where texts stand: folder → which files, read how.
PLACES = {"templates": ("**.html", "jinja2"), "registry": ("**.py", "python"),
          "runner": ("**.py", "python"), "frontend/src": ("**.js", "javascript")}
OPTIONS = {"**.html": {"trimmed": "true", "silent": "false"},
           "**.js": {"parse_template_string": "true"}}
HEADER = """msgid ""
msgstr ""
"Language: {language}\\n"
"Plural-Forms: {plural}\\n"
"Content-Type: text/plain; charset=utf-8\\n"

"""
KEYWORDS = {"_": None, "N_": None, "gettext": None, "ngettext": (1, 2),
            "Sentence": None, "plural": (1, 2)}


def extracted() -> Catalog:
    """Every text that the sources ask a translation of."""
    found = Catalog(charset="utf-8")
    for folder, (pattern, method) in PLACES.items():
        for file, _, text, comments, context in extract_from_dir(
                ROOT / folder, [(pattern, method)], OPTIONS, keywords=KEYWORDS,
                strip_comment_tags=True):
            found.add(text, locations=[(f"{folder}/{file}", 1)], auto_comments=comments,
                      context=context)
    for path in sorted(SCHEMAS.glob("*.json")):
        for text in described(json.loads(path.read_bytes())):
            found.add(text, locations=[(path.relative_to(ROOT).as_posix(), 1)])
    return found


def described(schema: Any) -> Iterator[str]:
    """What a JSON Schema says of values: titles, and descriptions sentence by sentence."""
    for key, item in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if key == "description" and isinstance(item, str):
            yield from sentences(item)
        elif key == "title" and isinstance(item, str):
            yield item
        elif isinstance(item, (dict, list)):
            yield from described(item)


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def waiting(catalog: Catalog) -> list[str]:
    """The texts without a translation, and those that a changed text left in doubt."""
    return [str(each.id) for each in catalog
            if each.id and (each.fuzzy or not _is_whole(each.string))]


def _is_whole(text: str | tuple[str, ...] | None) -> bool:
    return all(text) if isinstance(text, tuple) else bool(text)


def write(path: Path, catalog: Catalog) -> None:
    """One order and no dates, so that a change shows what changed."""
    text = io.BytesIO()
    write_po(text, catalog, sort_output=True, include_lineno=False, width=110, omit_header=True,
             ignore_obsolete=True)
    head = HEADER.format(language=path.stem, plural=catalog.plural_forms)
    path.write_text(head + text.getvalue().decode("utf-8").lstrip("\n"), encoding="utf-8")


def main() -> int:
    template, count = extracted(), 0
    for path in sorted(FOLDER.glob("*.po")):
        catalog = read(path)
        catalog.update(template, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        write(path, catalog)
        for text in waiting(catalog):
            print(f"{path.name}: {text}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
