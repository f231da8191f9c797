"""Routes that describe themselves: what they take is checked, and written down as OpenAPI 3.1."""
from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from enum import Enum
from functools import wraps
from typing import Any, Callable, Iterable, Mapping

from flask import Blueprint, jsonify, request
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema
from werkzeug.datastructures import MultiDict

from registry.errors import InvalidInputError, Problem
from registry.views.auth import required_user
from registry.views.models.base import Error

REF = "#/components/schemas/{model}"
_PATH_ARGUMENT = re.compile(r"<(?:(?P<kind>\w+):)?(?P<name>\w+)>")
_ERRORS = {400: "The request is wrong; `errors` says where.", 401: "The login is missing or wrong.",
           403: "Not allowed.", 404: "There is no such thing.",
           409: "It does not go with what is there; `choices` tell apart what fits.",
           410: "It was deleted for good; the message says why.", 413: "The body is too large.",
           429: "Too many attempts.",
           503: "The runner or, as `code` says, the database does not answer."}
_SENTENCES = {"missing": "This field is missing.",
              "extra_forbidden": "There is no such field here."}


class Access(Enum):
    """Who may call a route."""

    PUBLIC = "public"
    USER = "user"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One route and method; `media` tells the type of a `result` that is no JSON."""

    method: str
    path: str
    handler: Callable[..., Any]
    access: Access
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    result: type[BaseModel] | None = None
    media: str = "application/json"
    errors: tuple[int, ...] = ()

    def as_openapi(self) -> dict[str, Any]:
        summary, _, description = inspect.cleandoc(self.handler.__doc__ or "").partition("\n")
        found: dict[str, Any] = {
            "operationId": self.handler.__name__, "summary": summary,
            "description": description.strip(), "tags": [self.handler.__module__.split("_")[-1]],
            "parameters": [*_path_parameters(self.path), *_query_parameters(self.query),
                           *_header_parameters(self.headers)],
            "responses": self._responses()}
        if self.body:
            found["requestBody"] = {"required": True, "content": {
                "application/json": {"schema": _ref(self.body)}}}
        if self.access is Access.PUBLIC:
            found["security"] = []
        return found

    def _responses(self) -> dict[str, Any]:
        good: dict[str, Any] = {"description": "Done."}
        if self.result:
            good["content"] = {self.media: {"schema": _ref(self.result)}}
        elif self.status == 200:
            good["content"] = {self.media: {"schema": {"type": "string"}}}
        known = {400, 503, *self.errors, *(() if self.access is Access.PUBLIC else (401,))}
        return {str(self.status): good} | {
            str(status): {"description": _ERRORS[status],
                          "content": {"application/json": {"schema": _ref(Error)}}}
            for status in sorted(known)}


class Api:
    """The routes of one module below `prefix`, each an Operation."""

    def __init__(self, name: str, prefix: str) -> None:
        self.blueprint = Blueprint(name, name, url_prefix=prefix)
        self.operations: list[Operation] = []

    def route(self, method: str, path: str, *, access: Access = Access.USER,
              **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add a route; its function gets the parts of the path, and `query` and `body` checked.

        The login that `access` asks for is checked before all else. What the function returns
        becomes JSON, with `status`; None becomes an empty answer.
        """
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            operation = Operation(method=method, path=path, handler=function, access=access,
                                  **facts)
            self.operations.append(operation)

            @wraps(function)
            def view(**values: Any) -> ResponseReturnValue:
                if operation.access is Access.USER:
                    required_user()
                return _answer(function(**values, **_checked(operation)), operation.status)

            self.blueprint.add_url_rule(path, function.__name__, view, methods=[method])
            return view
        return decorate


def document(apis: Iterable[Api], info: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """Every route of `apis`, all below `prefix`, as one OpenAPI document."""
    operations = [operation for api in apis for operation in api.operations]
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = _PATH_ARGUMENT.sub(r"{\g<name>}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = operation.as_openapi()
    return {
        "openapi": "3.1.0", "info": dict(info), "servers": [{"url": prefix}],
        "security": [{"token": []}], "paths": paths,
        "components": {
            "schemas": _schemas(operations),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}}


def _answer(result: Any, status: int) -> ResponseReturnValue:
    if result is None:
        return "", status
    return (jsonify(result), status) if isinstance(result, (dict, list)) else result


def _checked(operation: Operation) -> dict[str, BaseModel]:
    found: dict[str, BaseModel] = {}
    if operation.query:
        found["query"] = _validated(operation.query, _query_values(operation.query, request.args))
    if operation.body:
        found["body"] = _validated(operation.body, request.get_json())
    return found


def _query_values(model: type[BaseModel], given: MultiDict[str, str]) -> dict[str, Any]:
    """Text as it came; a field that may be given several times gets its list."""
    lists = {name for name, value in model.model_fields.items()
             if str(value.annotation).startswith("list[")}
    return {name: given.getlist(name) if name in lists else given[name] for name in given}


def _validated(model: type[BaseModel], value: Any) -> BaseModel:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = [_problem(item) for item in error.errors(include_url=False)]
        first = problems[0]
        raise InvalidInputError(
            f"{first.path or 'The body'}: {first.message}", problems) from error


def _problem(error: Mapping[str, Any]) -> Problem:
    path = ""
    for part in error["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return Problem(message=_SENTENCES.get(error["type"], f"{error['msg']}."), path=path)


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REF.format(model=model.__name__)}


def _schemas(operations: Iterable[Operation]) -> dict[str, Any]:
    models = {model for operation in operations
              for model in (operation.body, operation.result) if model} | {Error}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, schema = models_json_schema([(model, "validation") for model in ordered], ref_template=REF)
    return schema["$defs"]


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [{"name": found["name"], "in": "path", "required": True,
             "schema": {"type": "integer" if found["kind"] == "int" else "string"}}
            for found in _PATH_ARGUMENT.finditer(path)]


def _query_parameters(model: type[BaseModel] | None) -> list[dict[str, Any]]:
    if model is None:
        return []
    schema = model.model_json_schema(ref_template=REF)
    return [{"name": name, "in": "query", "required": name in schema.get("required", ()),
             "description": value.pop("description", ""), "schema": value}
            for name, value in schema["properties"].items()]


def _header_parameters(headers: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "in": "header", "required": False, "description": text,
             "schema": {"type": "string"}} for name, text in headers.items()]
