"""Builds the OpenAPI 3.1 description from the table of routes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from jobledger.adapters.http.api.answers import ANSWERS, Problem
from jobledger.adapters.http.api.application import (
    ENDPOINTS,
    JSON,
    PREFIX,
    PROBLEM,
    STALE_SINCE,
    Endpoint,
)
from jobledger.adapters.http.api.parameters import LIMIT_DEFAULT, Parameter, ParameterKind
from jobledger.core.values.documents import LABEL_CHARACTERS_MAX

REFUSALS = {
    "400": "A parameter makes no sense.",
    "401": "There is no bearer token, or it is not valid.",
    "403": "Whoever has the token may not read jobs of every kind and the logs of Pods.",
    "404": "There is no such thing.",
    "429": "Too many tokens that nobody knows were sent.",
    "503": "Postgres cannot be reached now.",
}

_HEADERS = {
    STALE_SINCE: {
        "description": "A standby answers, which has nothing newer than this.",
        "schema": {"type": "string", "format": "date-time"},
    },
}

_SCHEMAS: Mapping[ParameterKind, Mapping[str, object]] = {
    ParameterKind.TEXT: {"type": "string", "maxLength": 253},
    ParameterKind.LABEL: {"type": "string", "maxLength": LABEL_CHARACTERS_MAX},
    ParameterKind.INSTANT: {"type": "string", "format": "date-time"},
    ParameterKind.FLAG: {"type": "boolean", "default": False},
    ParameterKind.CHOICE: {"type": "string"},
    ParameterKind.NUMBER: {"type": "integer", "minimum": 0},
    ParameterKind.STREAM: {"type": "string", "format": "uuid"},
}


def openapi(version: str) -> dict[str, object]:
    """Return the description of the API of this version of Jobledger."""
    _, components = msgspec.json.schema_components(
        ANSWERS, ref_template="#/components/schemas/{name}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Jobledger",
            "version": version,
            "description": "What happened to jobs. Read-only.",
        },
        "paths": {PREFIX + endpoint.path: {"get": _operation(endpoint)} for endpoint in ENDPOINTS},
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}, {}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "operationId": re.sub(r"\W+", "_", endpoint.path).strip("_"),
        "summary": endpoint.meaning,
        "parameters": [*_of_path(endpoint.path), *map(_of_query, endpoint.parameters)],
        "responses": {"200": _answer(endpoint), **dict(_refusals())},
    }


def _of_path(path: str) -> Iterator[dict[str, object]]:
    for name in re.findall(r"{(\w+)}", path):
        schema = {"type": "string", "format": "uuid"}
        if name == "digest":
            schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _of_query(parameter: Parameter) -> dict[str, object]:
    schema = dict(_SCHEMAS[parameter.kind])
    if parameter.kind is ParameterKind.NUMBER:
        schema |= {"minimum": parameter.least, "maximum": parameter.most}
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.name == "limit":
        schema["default"] = LIMIT_DEFAULT
    return {
        "name": parameter.name,
        "in": "query",
        "required": False,
        "description": parameter.meaning,
        "schema": schema,
    }


def _answer(endpoint: Endpoint) -> dict[str, object]:
    if endpoint.answer is None:
        return {
            "description": "The text.",
            "headers": _HEADERS,
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    schema = {"$ref": f"#/components/schemas/{endpoint.answer.__name__}"}
    content = {JSON: {"schema": schema}}
    return {"description": "The answer.", "headers": _HEADERS, "content": content}


def _refusals() -> Iterator[tuple[str, dict[str, object]]]:
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    for status, meaning in REFUSALS.items():
        yield status, {"description": meaning, "content": {PROBLEM: {"schema": schema}}}
