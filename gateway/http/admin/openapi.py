"""The OpenAPI document of the admin API, generated from the table of its operations.

Spec: OpenAPI 3.1.1 (https://spec.openapis.org/oas/v3.1.1.html)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from gateway.http.admin.operations import PLAIN_TEXT, Body, Media, Operation, State
from gateway.representations.json_schema import Schema, schemas

_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
_NAMED: Final = re.compile(r"[A-Z]\w+")
_JSON: Final = "application/json"
_MEDIA: Final = {Media.TEXT: "text/plain", Media.FORM: "multipart/form-data"}
_ERRORS: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: "The request is invalid; nothing was changed",
    HTTPStatus.UNAUTHORIZED: "No valid access token",
    HTTPStatus.FORBIDDEN: "The caller lacks a required role",
    HTTPStatus.NOT_FOUND: "No object has this name or id",
    HTTPStatus.NOT_ACCEPTABLE: "The requested format is not available",
    HTTPStatus.CONFLICT: "The name is already in use",
    HTTPStatus.PRECONDITION_FAILED: "The object has changed since it was read",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The type of the body is not supported",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The mail server did not accept the mail",
    HTTPStatus.NOT_IMPLEMENTED: "The feature is not supported",
    HTTPStatus.SERVICE_UNAVAILABLE: "A store is unavailable; try again later",
}
_ALWAYS: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_WITH_BODY: Final = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)


def openapi_document(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """Return the document, paths and names sorted."""
    rows = sorted(operations, key=lambda row: (row.path, row.method))
    bodies = (row.body for row in rows if row.body is not None)
    declared = {body.schema: body.fields for body in bodies if body.fields is not None}
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        path = paths.setdefault(_PLACEHOLDER.sub(r"{\1}", row.path), {})
        path.setdefault("parameters", [_in_path(name) for name in _PLACEHOLDER.findall(row.path)])
        path[row.method.lower()] = _operation(row)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Realmgate admin API",
            "version": version,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas({name for row in rows for name in _schema_names(row)}, declared),
        },
    }


def _in_path(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _operation(row: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": row.summary,
        "tags": [row.tag],
        "operationId": _operation_id(row),
    }
    parameters = [
        {"name": query.name, "in": "query", "schema": {"type": query.kind}}
        | ({"description": query.summary} if query.summary else {})
        for query in row.query
    ]
    if row.versioned and row.method in {"PUT", "DELETE"}:
        parameters.append({"name": "If-Match", "in": "header", "schema": {"type": "string"}})
    if parameters:
        described["parameters"] = parameters
    if row.body is not None:
        described["requestBody"] = _body(row.body)
    return described | {"responses": dict(sorted(_responses(row))), "x-state": row.state.value}


def _operation_id(row: Operation) -> str:
    words = _PLACEHOLDER.sub(r"by \1", row.path.removeprefix("/admin"))
    parts = re.split(r"[^A-Za-z0-9]+", words)
    return row.method.lower() + "".join(part[:1].upper() + part[1:] for part in parts)


def _body(body: Body) -> dict[str, Any]:
    item = _reference(body.schema) if body.schema else {}
    schemas_of_media: Mapping[Media, Schema] = {
        Media.OBJECT: item or {"type": "object"},
        Media.LIST: {"type": "array", "items": item},
        Media.TEXT: {"type": "string"},
        Media.FORM: {"type": "object"},
    }
    content = {_MEDIA.get(body.media, _JSON): {"schema": schemas_of_media.get(body.media, {})}}
    return {"required": body.required, "content": content}


def _responses(row: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    success: dict[str, Any] = {"description": "Success"}
    if row.state is State.NOT_SUPPORTED:
        success = {"description": row.summary}
    elif row.returns:
        media = "text/plain" if row.returns == PLAIN_TEXT else _JSON
        success["content"] = {media: {"schema": _schema_of_answer(row.returns)}}
    yield str(int(row.success)), success
    for status in _refusals(row) - {row.success}:
        yield str(int(status)), {"description": _ERRORS[status]}


def _refusals(row: Operation) -> set[int]:
    found = {*_ALWAYS, *row.refuses}
    if row.body is not None:
        found.update(_WITH_BODY)
    if row.method in {"POST", "PUT"}:
        found.add(HTTPStatus.CONFLICT)
    if row.versioned and row.method != "GET":
        found.add(HTTPStatus.PRECONDITION_FAILED)
    return found


def _schema_of_answer(returns: str) -> Schema:
    if returns == PLAIN_TEXT:
        return {"type": "string"}
    if returns.startswith("["):
        return {"type": "array", "items": _schema_of_answer(returns[1:-1])}
    return _reference(returns) if _NAMED.fullmatch(returns) else {"type": returns}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _schema_names(row: Operation) -> Iterator[str]:
    if row.body is not None and row.body.schema:
        yield row.body.schema
    if row.state is not State.NOT_SUPPORTED:
        yield from _NAMED.findall(row.returns)
