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
from flask import Flask, g, has_request_context, request
from flask.json.provider import DefaultJSONProvider
from markupsafe import Markup

from registry.config import PACKAGE
from registry.views.programs import is_api
from runner.sentence import Sentence

# Pages are written in English; every other language has one file, translations/<name>.po.
LANGUAGES = {"en": "English", "zh": "中文"}
COOKIE, HEADER = "language", "X-Language"
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
    app.jinja_env.finalize = _finalized
    app.json = Answers(app)


def language() -> str:
    """The language of this response: `en` or `zh`.

    Programs are answered in English, unless they ask for another by its name in a header; so is
    whoever asks for nothing by HTTP.
    """
    if not has_request_context():
        return "en"
    if "language" not in g:
        chosen = request.headers.get(HEADER, "en") if is_api() else request.cookies.get(COOKIE)
        g.language = chosen if chosen in LANGUAGES else "en" if is_api() else _wanted()
    return g.language


def speak(name: str) -> None:
    """Answer in this language from here on, if there is one of the name: that of the page."""
    if name in LANGUAGES:
        g.language = name


@cache
def locale(name: str) -> Locale:
    """How numbers, times and spans are written in a language."""
    return Locale.parse({"zh": "zh_Hans_CN"}.get(name, name))


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
    if isinstance(text, Sentence) and language() != "en":
        found = _translations(language())
        return text.said(found.gettext, found.ngettext)
    return gettext(text) if text else ""


def spoken(answer: Any) -> Any:
    """An answer with its sentences in this language; beside each, `…_en` has it in English."""
    if isinstance(answer, (list, tuple)):
        return [spoken(item) for item in answer]
    if not isinstance(answer, dict):
        return said(answer) if isinstance(answer, Sentence) else answer
    english = {f"{name}_en": str(value) for name, value in answer.items()
               if isinstance(value, Sentence)}
    return {name: spoken(value) for name, value in answer.items()} | english


class Answers(DefaultJSONProvider):
    """JSON in the language that a page's script asks for; fields keep their order."""

    sort_keys = False

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        return super().dumps(obj if language() == "en" else spoken(obj), **kwargs)


def script_texts() -> Markup:
    """The scripts' texts in this language, as an element that they read; nothing in English."""
    if language() == "en":
        return Markup("")
    return Markup('<script type="application/json" id="texts">{}</script>').format(
        Markup(_script_texts(language())))


def _finalized(value: Any) -> Any:
    """What a template puts into a page: sentences of lower layers in the reader's language."""
    return said(value) if isinstance(value, Sentence) else value


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
