"""The OpenAPI documents clients ask for: enough for `kubectl apply`, `explain` and `edit`.

Custom kinds show their schema; built-in kinds are described as objects that may hold anything.
"""

from jobledger.sandbox.model.documents import Document
from jobledger.sandbox.model.kinds import Kind, Kinds

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def openapi(path: str, kinds: Kinds) -> Document | None:
    """Return the OpenAPI document at a path, or None if there is none."""
    steps = path.strip("/").split("/")
    match steps:
        case ["openapi", "v2"]:
            info = {"title": "Kubernetes", "version": "v1.36.0"}
            return {"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}
        case ["openapi", "v3"]:
            return {
                "paths": {at: {"serverRelativeURL": f"/openapi/v3/{at}"} for at in _places(kinds)}
            }
        case ["openapi", "v3", "api", version]:
            return _group_version(kinds.in_version("", version))
        case ["openapi", "v3", "apis", group, version]:
            return _group_version(kinds.in_version(group, version))
        case _:
            return None


def _places(kinds: Kinds) -> list[str]:
    named = [f"apis/{group}/{v}" for group, versions in kinds.groups().items() for v in versions]
    return ["api/v1", *named]


def _group_version(kinds: list[Kind]) -> Document | None:
    if not kinds:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": {path: item for kind in kinds for path, item in _paths(kind).items()},
        "components": {"schemas": {_schema_name(kind): _schema(kind) for kind in kinds}},
    }


def _paths(kind: Kind) -> Document:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    collection = f"{root}/namespaces/{{namespace}}" if kind.namespaced else root
    return {
        f"{collection}/{kind.plural}": {"post": _operation(kind, "post")},
        f"{collection}/{kind.plural}/{{name}}": {
            action: _operation(kind, action) for action in ("get", "put", "patch", "delete")
        },
    }


def _operation(kind: Kind, action: str) -> Document:
    """Return one operation; kubectl looks here whether the server validates fields itself."""
    writes = action in ("post", "put", "patch")
    names = ("dryRun", "fieldManager", "fieldValidation") if writes else ()
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in names
    ]
    reference = {"$ref": f"#/components/schemas/{_schema_name(kind)}"}
    body = {"content": {"application/json": {"schema": reference}}}
    operation: Document = {
        "operationId": f"{action}{kind.kind}",
        "parameters": parameters,
        "responses": {"200": {"description": "OK"} | body},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _identity(kind),
    }
    return operation | {"requestBody": body} if writes and action != "patch" else operation


def _identity(kind: Kind) -> Document:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _schema_name(kind: Kind) -> str:
    group = ".".join(reversed((kind.group or "core.api.k8s.io").split(".")))
    return f"{group}.{kind.version}.{kind.kind}"


def _schema(kind: Kind) -> Document:
    schema = dict(kind.schema or _ANYTHING)
    return schema | {"x-kubernetes-group-version-kind": [_identity(kind)]}
