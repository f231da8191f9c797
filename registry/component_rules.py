"""What a component must be: JSON Schemas, rules between fields, and the sentences about both."""
from __future__ import annotations

import difflib
import json
import re
from importlib import resources
from itertools import islice
from typing import Any, Iterable, Iterator, Mapping

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

from registry.errors import Problem
from registry.reference import REFERENCE, is_referable
from registry.yaml_nodes import MAX_PROBLEMS, Path, in_order, path_text
from registry.yaml_text import Document
from runner.sentence import Sentence, plural

TYPES = ("job", "data", "script", "dockerimage")
PREREQUISITE_TYPES = ("data", "script", "storage", "output", "dockerimage")
INNER_TYPES = ("storage", "output")  # they live inside jobs, and are not looked up
DEFAULT_SHM_MB = 64
MAX_CANDIDATES = 50
MAX_LIST = 200  # the longest list that the schemas allow where rules look into it
PLACEHOLDER = re.compile(r"\$\$([A-Za-z0-9._-]+)\$\$")
_PARAMETER_NAME = re.compile("[A-Za-z0-9._-]+")


def _without_references(schema: Any) -> Any:
    """The schema of a resolved job: where `$$name$$` could stand for a number, none can now."""
    if isinstance(schema, list):
        return [_without_references(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    rest = dict(schema)
    if isinstance(rest.get("type"), list) and {"integer", "string"} <= set(rest["type"]):
        rest["type"] = [name for name in rest["type"] if name != "string"]
        rest.pop("pattern")
    return {key: _without_references(item) for key, item in rest.items()}


SCHEMAS: Mapping[str, Any] = {
    name: json.loads(resources.files("registry.schemas").joinpath(f"{name}.json").read_bytes())
    for name in TYPES}
_INNER_SCHEMAS = {name: SCHEMAS["job"]["$defs"][name] for name in INNER_TYPES}
_REGISTRY: Registry = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())
_VALIDATORS = {name: Draft202012Validator(schema, registry=_REGISTRY)
               for name, schema in SCHEMAS.items()}
_RESOLVED_JOB = Draft202012Validator(_without_references(SCHEMAS["job"]), registry=_REGISTRY)


def check(document: Document, value: Mapping[str, Any], type_name: str, *,
          is_resolved: bool = False) -> list[Problem]:
    """Every error and warning of one component, `value` having the places of `document`.

    `is_resolved`: no `$$name$$` may stand for a number any more.
    """
    validator = _RESOLVED_JOB if is_resolved else _VALIDATORS[type_name]
    found = [problem for error in islice(validator.iter_errors(value), MAX_PROBLEMS)
             for problem in _schema_problems(document, error)]
    problems = list({problem.path: problem for problem in reversed(found)}.values())
    problems += islice(_version_problems(document, value, type_name), MAX_PROBLEMS)
    problems += islice(_unknown_fields(document, SCHEMAS[type_name], value, ()), MAX_PROBLEMS)
    if type_name == "job":
        problems += islice(_job_problems(document, value), MAX_PROBLEMS)
    return in_order(problems)


def type_of(reference: str) -> str | None:
    """The type that a reference to the marketplace names; None if it names none."""
    parts = REFERENCE.fullmatch(reference)
    return parts["type"] if parts else None


def nearest(name: str, known: Iterable[str]) -> str:
    """` Did you mean …?` or nothing."""
    by_fold = {item.casefold(): item for item in islice(known, MAX_CANDIDATES)}
    close = difflib.get_close_matches(name.casefold()[:255], by_fold, n=1, cutoff=0.75)
    return Sentence(" Did you mean `{name}`?", name=by_fold[close[0]]) if close else ""


def sentences(description: str) -> list[str]:
    """The description of a field in a schema, sentence by sentence."""
    return [f"{text.rstrip('.')}." for text in description.split(". ") if text]


# --- sentences about schema errors -----------------------------------------------------------

def _schema_problems(document: Document, error: ValidationError) -> Iterator[Problem]:
    path: Path = tuple(error.absolute_path)
    schema: Mapping[str, Any] = error.schema  # type: ignore[assignment]
    if error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance:
                yield _missing(document, path, name, schema["properties"].get(name, {}))
    else:
        yield at_value(document, path, _wrong(path, schema, error))


def _missing(document: Document, path: Path, name: str, schema: Mapping[str, Any]) -> Problem:
    example = f"{name}: {_as_yaml(schema['examples'][0])}" if "examples" in schema else f"{name}: …"
    where = Sentence(" in `{path}`", path=path_text(path)) if path else ""
    message = Sentence(
        "`{name}` is missing{where}. Add for example `{example}`. {about}", name=name, where=where,
        example=example, about=Sentence(sentences(schema["description"])[0]))
    place = document.place(path)
    return document.problem(place.start if place.key is None else place.key, message,
                            (*path, name))


def _wrong(path: Path, schema: Mapping[str, Any], error: ValidationError) -> str:
    name = _name_of(path)
    if error.validator in ("maxItems", "maxLength"):
        unit = Sentence("items") if error.validator == "maxItems" else Sentence("characters")
        return Sentence(
            "{name} has {size:,} {unit}; at most {most:,} are possible. Shorten it.",
            name=name, size=len(error.instance), unit=unit, most=error.validator_value)
    title = schema.get("title")
    return Sentence(
        "{name} must be {wanted}, but is {value}. {instead}", name=name,
        wanted=Sentence(title) if title else Sentence("another value"),
        value=_shown(error.instance), instead=_instead(path, schema, error.instance))


def _instead(path: Path, schema: Mapping[str, Any], value: Any) -> str:
    types = schema.get("type", ())
    if "string" in types and "integer" not in types and isinstance(value, (bool, int, float)):
        return Sentence("Put it in quotes: `\"{value}\"`.", value=_as_yaml(value))
    if "integer" in types and isinstance(value, str) and re.fullmatch("-?[0-9]+", value):
        return Sentence("Write {value} without quotes.", value=value)
    if types == "array" and isinstance(value, str):
        return Sentence(
            "Write `{field}:` and below it `- {value}`, one line for each item.", field=path[-1],
            value=value[:80])
    example = _as_yaml(schema["examples"][0]) if schema.get("examples") else "…"
    return Sentence(
        "Write for example `{field} {example}`.",
        field="-" if isinstance(path[-1], int) else f"{path[-1]}:", example=example)


def _name_of(path: Path) -> str:
    if not path:
        return Sentence("The component")
    if isinstance(path[-1], int):
        return Sentence("Item {number} of `{field}`", number=path[-1] + 1, field=path[-2])
    return f"`{path[-1]}`"


def _shown(value: Any) -> str:
    if value is None or value == "":
        return Sentence("empty")
    if isinstance(value, list):
        return Sentence("a list") if value else Sentence("an empty list")
    if isinstance(value, dict):
        return Sentence("a mapping") if value else Sentence("an empty mapping")
    if isinstance(value, str):
        return Sentence("the text `{text}`", text=value[:80])
    return f"`{_as_yaml(value)[:80]}`"


def _as_yaml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_as_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_as_yaml, value)) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def at_value(document: Document, path: Path, message: str, severity: str = "error") -> Problem:
    """A problem marked at a scalar itself, or at the key of anything larger or empty."""
    place = document.place(path)
    is_scalar = place.start < place.end and document.text[place.start] not in "[{|>"
    in_key_line = place.key is None or (
        document.line_column(place.key)[0] == document.line_column(place.start)[0])
    offset = place.start if is_scalar and in_key_line else place.key
    return document.problem(place.start if offset is None else offset, message, path, severity)


def at_key(document: Document, path: Path, message: str, severity: str = "error") -> Problem:
    place = document.place(path)
    return document.problem(place.start if place.key is None else place.key, message, path,
                            severity)


# --- rules that a schema cannot say ----------------------------------------------------------

def _version_problems(document: Document, value: Mapping[str, Any], type_name: str
                      ) -> Iterator[Problem]:
    for path in document.kept_as_text:
        text = document.text[document.place(path).start:document.place(path).end]
        advice = Sentence("Write `protocol_version: v2`.") if path[-1] != "version" else Sentence(
            "Other readers of YAML take it for a number. Put it in quotes: `version: \"{text}\"`.",
            text=text)
        yield at_value(document, path, Sentence(
            "`{field}: {text}` is kept as the text `{text}`. {advice}", field=path[-1], text=text,
            advice=advice), "warning")
    version = value.get("version")
    if type_name != "job" and not version:
        beside = document.place(("version",) if "version" in value else ("name",))
        yield document.problem(beside.start if beside.key is None else beside.key, Sentence(
            "`version` is missing, so that only its commit tells this version from others. Add for "
            "example `version: 1.0.0`."), ("version",), "warning")
    elif version and isinstance(version, str) and not is_referable(version):
        yield at_value(document, ("version",), Sentence(
            "A version with spaces or `@`, or called `latest`, cannot be named in a reference such "
            "as `name@1.0.0`. Write for example `version: 1.0.0`."), "warning")


def _unknown_fields(document: Document, schema: Mapping[str, Any], value: Any, path: Path
                    ) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_fields(document, _item_schema(schema, item), item, (*path, index))
    elif isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        for key, item in value.items():
            if key in known:
                yield from _unknown_fields(document, known[key], item, (*path, key))
            else:
                yield at_key(document, (*path, key), Sentence(
                    "`{key}` is no field of this format; it is kept and steers nothing.{hint}",
                    key=key[:80], hint=nearest(key, known)), "warning")


def _item_schema(schema: Mapping[str, Any], item: Any) -> Mapping[str, Any]:
    inner: Mapping[str, Any] = schema.get("items", {})
    if "allOf" not in inner or not isinstance(item, dict):
        return inner
    kind = item.get("type")
    return {**SCHEMAS, **_INNER_SCHEMAS}.get(str(kind), {})


def _job_problems(document: Document, job: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _retry_problems(document, job.get("retryCount"))
    for name in _mapping(job.get("parameters")):
        if not _PARAMETER_NAME.fullmatch(name):
            yield at_key(document, ("parameters", name), Sentence(
                "No `$$…$$` can refer to `{name}`. Use letters, digits, `.`, `_` and `-` in the "
                "names of parameters.", name=name[:80]), "warning")
    tasks = _mappings(job.get("tasks"))
    yield from _repeated(document, [(("tasks", index, "role"), task.get("role"))
                                    for index, task in tasks], Sentence("role"))
    prerequisites = _mappings(job.get("prerequisites"))
    yield from _repeated(document, [
        (("prerequisites", index, "name"), f"{item['type']}/{item['name']}")
        for index, item in prerequisites if item.get("type") and item.get("name")],
        Sentence("prerequisite"))
    for index, task in tasks:
        yield from _resource_problems(document, task, ("tasks", index))
        yield from _count_problems(document, task, ("tasks", index))
        yield from _reference_problems(document, job, task, ("tasks", index))


def _retry_problems(document: Document, count: Any) -> Iterator[Problem]:
    meaning = {-1: Sentence("try again after each failure, without end"),
               -2: Sentence("start again without end, even after success")}.get(_whole(count) or 0)
    if meaning:
        yield at_value(document, ("retryCount",), Sentence(
            "`retryCount: {count}` is an old form that means: {meaning}. The format asks for 0 or "
            "more.", count=count, meaning=meaning), "warning")


def _repeated(document: Document, named: list[tuple[Path, Any]], noun: str) -> Iterator[Problem]:
    seen: dict[str, Path] = {}
    for path, name in named:
        if not isinstance(name, str):
            continue
        if name in seen:
            line = document.line_column(document.place(seen[name]).start)[0]
            yield at_value(document, path, Sentence(
                "The {noun} `{name}` is already on line {line}. Give each a name of its own.",
                noun=noun, name=name[:80], line=line))
        seen.setdefault(name, path)


def _resource_problems(document: Document, task: Mapping[str, Any], path: Path
                       ) -> Iterator[Problem]:
    resource = _mapping(task.get("resource"))
    each = _mapping(resource.get("resourcePerInstance"))
    memory = _whole(each.get("memoryMB"))
    shm = _whole(each.get("shmMB", DEFAULT_SHM_MB))
    if memory is not None and shm is not None and shm > memory >= 100:
        yield at_value(document, (*path, "resource", "resourcePerInstance", "shmMB"), Sentence(
            "`shmMB` is {shm}, more than the {memory} MiB of `memoryMB` that it is part of. Write "
            "at most `shmMB: {memory}`, or raise `memoryMB`.", shm=shm, memory=memory))
    ports = _mappings(resource.get("portList"))
    place = (*path, "resource", "portList")
    yield from _repeated(document, [((*place, index, "label"), port.get("label"))
                                    for index, port in ports], Sentence("port label"))
    for index, port in ports:
        first, count = _whole(port.get("beginAt")), _whole(port.get("portNumber"))
        if first and count and 0 < first <= 65535 < first + count - 1:
            yield at_value(document, (*place, index, "portNumber"), Sentence(
                "{count} ports from {first} on would end at {last}; the last port is 65535. "
                "Write at most `portNumber: {most}`, or begin lower.", count=count, first=first,
                last=first + count - 1, most=65536 - first))


def _count_problems(document: Document, task: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    instances = _whole(_mapping(task.get("resource")).get("instances", 1))
    for field in ("minFailedTaskCount", "minSucceededTaskCount"):
        count = _whole(task.get(field))
        if count and instances and count > instances:
            yield at_value(document, (*path, field), plural(
                "`{field}` is {wanted}, but the task has only {count} instance: this is never "
                "reached. Write at most {count}.",
                "`{field}` is {wanted}, but the task has only {count} instances: this is never "
                "reached. Write at most {count}.",
                instances, field=field, wanted=count), "warning")


def _reference_problems(document: Document, job: Mapping[str, Any], task: Mapping[str, Any],
                        path: Path) -> Iterator[Problem]:
    inline = [(item.get("type"), item.get("name"))
              for _, item in _mappings(job.get("prerequisites"))]
    for kind in PREREQUISITE_TYPES:
        wanted = task.get(kind)
        if isinstance(wanted, str) and not PLACEHOLDER.search(wanted) and (
                wanted and (kind, wanted) not in inline):
            yield from _not_inline(document, inline, kind, wanted, (*path, kind))
    listed = [item for item in _list(job.get("prerequisites"))
              if isinstance(item, str) and type_of(item) in (None, "dockerimage")]
    images = [str(name) for type_name, name in inline if type_name == "dockerimage"]
    if not task.get("dockerimage") and len(images) != 1 and (images or not listed):
        yield at_key(document, (*path, "role"), Sentence(
            "`dockerimage` is missing in `{path}`, and the job has {images}. Add for example "
            "`dockerimage: {example}`.", path=path_text(path),
            images=Sentence("{number} images", number=len(images)) if images
            else Sentence("no images"), example=images[0] if images else "tf_example"))


def _not_inline(document: Document, inline: list[tuple[Any, Any]], kind: str, wanted: str,
                path: Path) -> Iterator[Problem]:
    reference = REFERENCE.fullmatch(wanted)
    hint = nearest(wanted, [str(name) for type_name, name in inline if type_name == kind])
    others = [str(type_name) for type_name, name in inline if name == wanted]
    if kind in INNER_TYPES:
        yield at_value(document, path, Sentence(
            "The job has no {kind} `{wanted}`.{hint} Add it to `prerequisites` with `type: "
            "{kind}`; {kind} is not looked up in the marketplace.", kind=kind, wanted=wanted[:80],
            hint=hint))
    elif not reference or reference["type"] not in (None, kind):
        yield at_value(document, path, Sentence(
            "`{wanted}` cannot name a {kind}.{hint} Write the name of a prerequisite, or "
            "`name@version` of a component in the marketplace.", wanted=wanted[:80], kind=kind,
            hint=hint))
    elif hint or others:
        also = Sentence(" Here it is the name of a {kind}.", kind=others[0]) if others else ""
        yield at_value(document, path, Sentence(
            "The job has no {kind} `{wanted}`; it is looked up in the marketplace.{hint}{also}",
            kind=kind, wanted=wanted[:80], hint=hint, also=also), "warning")


def _whole(value: Any) -> int | None:
    is_whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0
    return int(value) if is_whole else None


def _list(value: Any) -> list[Any]:
    return value[:MAX_LIST] if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(index, item) for index, item in enumerate(_list(value)) if isinstance(item, dict)]
