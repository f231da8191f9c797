"""The language of a page: the reader's choice, else the browser's; its texts: `translations/`."""
from __future__ import annotations

import io
import json
from functools import cache
from gettext import GNUTranslations, NullTranslations
from typing import Any

from babel import Locale
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from flask import Flask, g, request
from markupsafe import Markup

from registry.config import PACKAGE
from registry.errors import Problem
from registry.views.programs import is_api
from runner.sentence import Sentence

# Pages are written in English; every other language has one file, translations/<name>.po.
LANGUAGES = {"en": "English", "zh": "中文"}
COOKIE = "language"
FOLDER = PACKAGE / "translations"


def register(app: Flask) -> None:
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.policies["ext.i18n.trimmed"] = True
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]
        gettext, ngettext, newstyle=True)
    app.add_template_global(language)
    app.jinja_env.globals["LANGUAGES"] = LANGUAGES
    app.add_template_global(script_texts)
    app.add_template_filter(said)


def language() -> str:
    """The language of this response: `en` or `zh`; programs are answered in English."""
    if is_api():
        return "en"
    if "language" not in g:
        chosen = request.cookies.get(COOKIE)
        g.language = chosen if chosen in LANGUAGES else _wanted()
    return g.language


def locale() -> Locale:
    """How numbers, times and spans are written in this response."""
    return Locale.parse({"zh": "zh_Hans_CN"}.get(language(), language()))


def gettext(text: str, /, **values: Any) -> str:
    """`text`, which is English, in the language of this response, with `%(name)s` filled in."""
    found = _translations(language()).gettext(text)
    return found % values if values else found


def ngettext(one: str, many: str, count: int, /, **values: Any) -> str:
    """As gettext, for a text that depends on how many there are; `%(num)d` is the count."""
    found = _translations(language()).ngettext(one, many, count)
    return found % {"num": count, **values} if values else found


def said(text: str) -> str:
    """What a lower layer says, in the language of this response; a text of others as it is."""
    if isinstance(text, Sentence):
        return text.said(gettext, ngettext)
    return gettext(text) if text else ""


def problem_json(problem: Problem) -> dict[str, object]:
    """A problem as the scripts of a page take it, in the reader's language."""
    return {**problem.as_json(), "message": said(problem.message)}


def script_texts() -> Markup:
    """The scripts' texts in this language, as an element that they read; nothing in English."""
    if language() == "en":
        return Markup("")
    return Markup('<script type="application/json" id="texts">{}</script>').format(
        Markup(_script_texts(language())))


def _wanted() -> str:
    # `zh-TW` and `zh-Hans-CN` get the Chinese that there is.
    tags = request.accept_languages.values()
    names = (tag.lower().replace("_", "-").split("-")[0] for tag in tags)
    return next((name for name in names if name in LANGUAGES), "en")


@cache
def _catalog(name: str) -> Catalog:
    with (FOLDER / f"{name}.po").open("rb") as file:
        return read_po(file, locale=name)


@cache
def _translations(name: str) -> NullTranslations:
    if name == "en":
        return NullTranslations()
    compiled = io.BytesIO()
    write_mo(compiled, _catalog(name))
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def _script_texts(name: str) -> str:
    """JSON of English → text or forms; `<` is written so that no text can end the element."""
    texts = {}
    for message in _catalog(name):
        if message.id and any(place.endswith(".js") for place, _ in message.locations):
            key = message.id[0] if isinstance(message.id, tuple) else message.id
            texts[key] = message.string
    return json.dumps(texts, ensure_ascii=False).replace("<", "\\u003c")
