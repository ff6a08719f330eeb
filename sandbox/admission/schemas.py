"""What a custom kind's structural schema does to an object: prune, default, validate.

Source: Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions", and
the messages of kube-openapi's validator. Not done: `uniqueItems`, `messageExpression`, and rules in
CEL other than those in `cel_rules`.
"""

import re
from collections.abc import Callable
from typing import Final

from jobledger.sandbox.admission.cel_rules import broken_rules
from jobledger.sandbox.model.documents import Document, JsonValue, at, copy_of
from jobledger.sandbox.model.refusals import FieldError, mistyped, required, unsupported, wrong

ROOT_FIELDS: Final = ("apiVersion", "kind", "metadata")
"""Fields every object has, whatever its schema says."""

MISSING: Final = object()
"""Stands for a value that is not there, where None would be a JSON null."""

_INSTANT: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})"
)

NOT_CHECKED: Final = FieldError(
    "<nil>",
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)

_BLOCKING: Final = (
    "FieldValueRequired",
    "FieldValueNotSupported",
    "FieldValueTypeInvalid",
    "FieldValueTooLong",
    "FieldValueTooMany",
)


def prune(value: JsonValue, schema: Document, path: str = "", *, root: bool = True) -> list[str]:
    """Remove what the schema does not know, in place; return the paths of what was removed."""
    if isinstance(value, list):
        inner = schema.get("items") or {}
        return [
            dropped
            for index, item in enumerate(value)
            for dropped in prune(item, inner, f"{path}[{index}]", root=False)
        ]
    if not isinstance(value, dict):
        return []
    known = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    keep = bool(schema.get("x-kubernetes-preserve-unknown-fields")) or rest is True
    fixed = ROOT_FIELDS if root or schema.get("x-kubernetes-embedded-resource") else ()
    removed: list[str] = []
    for key in list(value):
        here = f"{path}.{key}" if path else key
        if key in known and not (root and key in ROOT_FIELDS):
            removed += prune(value[key], known[key], here, root=False)
        elif isinstance(rest, dict):
            removed += prune(value[key], rest, here, root=False)
        elif not keep and key not in fixed:
            del value[key]
            removed.append(here)
    return removed


def drop_nulls(value: JsonValue, schema: Document) -> None:
    """Remove fields that are null where the schema allows no null and has no default, in place.

    Source: PruneNonNullableNullsWithoutDefaults of k8s.io/apiextensions-apiserver.
    """
    if isinstance(value, list):
        for item in value:
            drop_nulls(item, schema.get("items") or {})
    if not isinstance(value, dict):
        return
    known = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    for key in list(value):
        inner = known.get(key, rest)
        if not isinstance(inner, dict):
            continue
        if value[key] is None and not inner.get("nullable") and "default" not in inner:
            del value[key]
        else:
            drop_nulls(value[key], inner)


def apply_defaults(value: JsonValue, schema: Document) -> None:
    """Fill in the schema's defaults, in place, where the parent is there and the field is not."""
    if isinstance(value, list):
        for item in value:
            apply_defaults(item, schema.get("items") or {})
    if not isinstance(value, dict):
        return
    known = schema.get("properties") or {}
    for key, inner in known.items():
        unset = key not in value or (value[key] is None and not inner.get("nullable"))
        if "default" in inner and unset:
            value[key] = copy_of(inner["default"])
        if key in value:
            apply_defaults(value[key], inner)
    rest = schema.get("additionalProperties")
    if isinstance(rest, dict):
        for key in value.keys() - known.keys():
            apply_defaults(value[key], rest)


def validate(document: Document, schema: Document, old: Document | None) -> list[FieldError]:
    """Return everything that is wrong with an object of a custom kind."""
    errors: list[FieldError] = []
    for key, inner in (schema.get("properties") or {}).items():
        if key in document and key not in ROOT_FIELDS:
            errors += _check(document[key], inner, key)
        elif key not in document and key in (schema.get("required") or ()):
            errors.append(required(key))
    if any(error.reason in _BLOCKING for error in errors):
        return [*errors, NOT_CHECKED] if _has_rules(schema) else errors
    return errors + _check_rules(document, schema, "", MISSING if old is None else old)


def _check(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    """Return what is wrong with one value, and with what is in it."""
    if value is None:
        wanted = schema.get("type")
        free = schema.get("nullable") or not wanted
        return [] if free else [mistyped(path, "null", str(wanted))]
    errors = _check_type(value, schema, path)
    if errors:
        return errors
    errors = [found for rule in _VALUE_RULES for found in rule(value, schema, path)]
    if isinstance(value, dict):
        errors += _check_fields(value, schema, path)
    if isinstance(value, list):
        for index, item in enumerate(value):
            errors += _check(item, schema.get("items") or {}, f"{path}[{index}]")
    return errors


def json_type(value: JsonValue) -> str:
    """Return the JSON type of a value, as schemas name it."""
    if isinstance(value, bool):
        return "boolean"
    names: list[tuple[type, str]] = [
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    ]
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def _check_type(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    found = json_type(value)
    if schema.get("x-kubernetes-int-or-string"):
        if found in ("integer", "string"):
            return []
        return [mistyped(path, found, "integer,string")]
    wanted = schema.get("type")
    if not wanted or found == wanted or (wanted == "number" and found == "integer"):
        return []
    if wanted == "integer" and isinstance(value, float) and value.is_integer():
        return []
    return [mistyped(path, found, wanted)]


def _check_fields(value: Document, schema: Document, path: str) -> list[FieldError]:
    """Return what is wrong with the fields of an object."""
    errors = [required(f"{path}.{key}") for key in schema.get("required") or () if key not in value]
    known = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    for key, inner in value.items():
        if key in known:
            errors += _check(inner, known[key], f"{path}.{key}")
        elif isinstance(rest, dict):
            errors += _check(inner, rest, f"{path}.{key}")
    return errors


def _enumeration(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    allowed = schema.get("enum")
    return [] if allowed is None or value in allowed else [unsupported(path, value, allowed)]


def _bounds(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    low, high = schema.get("minimum"), schema.get("maximum")
    errors = []
    if low is not None and (value <= low if schema.get("exclusiveMinimum") else value < low):
        bound = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        errors.append(wrong(path, value, f"{path} in body should be {bound} {low}"))
    if high is not None and (value >= high if schema.get("exclusiveMaximum") else value > high):
        bound = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        errors.append(wrong(path, value, f"{path} in body should be {bound} {high}"))
    return errors


def _text_rules(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    if not isinstance(value, str):
        return []
    errors = []
    pattern = schema.get("pattern")
    if pattern and not re.search(pattern, value):
        errors.append(wrong(path, value, f"{path} in body should match '{pattern}'"))
    if len(value) < (schema.get("minLength") or 0):
        rule = f"{path} in body should be at least {schema['minLength']} chars long"
        errors.append(wrong(path, value, rule))
    longest = schema.get("maxLength")
    if longest is not None and len(value) > longest:
        too_long = f"Too long: may not be more than {longest} bytes"
        errors.append(FieldError(path, "FieldValueTooLong", too_long))
    if schema.get("format") == "date-time" and not _INSTANT.fullmatch(value):
        rule = f'{path} in body must be of type date-time: "{value}"'
        errors.append(wrong(path, value, rule))
    return errors


def _size_rules(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for of, words, low, high in (
        (list, "items", "minItems", "maxItems"),
        (dict, "properties", "minProperties", "maxProperties"),
    ):
        if not isinstance(value, of):
            continue
        if len(value) < (schema.get(low) or 0):
            rule = f"{path} in body should have at least {schema[low]} {words}"
            errors.append(wrong(path, len(value), rule))
        most = schema.get(high)
        if most is not None and len(value) > most:
            message = f"Too many: {len(value)}: must have at most {most} items"
            errors.append(FieldError(path, "FieldValueTooMany", message))
    return errors


def _list_keys(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    """Return the items of a map or set list whose key is taken by an earlier one."""
    kind = schema.get("x-kubernetes-list-type")
    if not isinstance(value, list) or kind not in ("map", "set"):
        return []
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: list[JsonValue] = []
    errors = []
    for index, item in enumerate(value):
        key = {name: at(item, name) for name in keys} if kind == "map" else item
        if key in seen:
            found = FieldError(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {key}")
            errors.append(found)
        seen.append(key)
    return errors


def _combinations(value: JsonValue, schema: Document, path: str) -> list[FieldError]:
    """Return what `allOf`, `anyOf`, `oneOf` and `not` find wrong."""
    errors = [found for part in schema.get("allOf") or () for found in _check(value, part, path)]
    if schema.get("anyOf") and all(_check(value, part, path) for part in schema["anyOf"]):
        errors.append(wrong(path, value, f"{path} in body must validate at least one schema"))
    if schema.get("oneOf"):
        matching = sum(not _check(value, part, path) for part in schema["oneOf"])
        if matching != 1:
            rule = f"{path} in body must validate one and only one schema (oneOf)"
            errors.append(wrong(path, value, rule))
    if schema.get("not") and not _check(value, schema["not"], path):
        errors.append(wrong(path, value, f"{path} in body must not validate the schema (not)"))
    return errors


_VALUE_RULES: Final[tuple[Callable[[JsonValue, Document, str], list[FieldError]], ...]] = (
    _enumeration,
    _bounds,
    _text_rules,
    _size_rules,
    _list_keys,
    _combinations,
)


def _check_rules(value: JsonValue, schema: Document, path: str, old: JsonValue) -> list[FieldError]:
    """Return what the CEL rules of this value, and of what is in it, find wrong."""
    errors = []
    for rule in broken_rules(value, schema, None if old is MISSING else (old,)):
        message = f'Invalid value: "{schema.get("type", "object")}": {rule}'
        errors.append(FieldError(path or "<nil>", "FieldValueInvalid", message))
    if isinstance(value, dict):
        was = old if isinstance(old, dict) else {}
        known = schema.get("properties") or {}
        rest = schema.get("additionalProperties")
        for key, inner in value.items():
            part = known.get(key, rest)
            if isinstance(part, dict):
                here = f"{path}.{key}" if path else key
                errors += _check_rules(inner, part, here, was.get(key, MISSING))
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        known_items = _by_key(old, schema)
        for index, item in enumerate(value):
            was_item = known_items.get(_key_of(item, schema), MISSING)
            errors += _check_rules(item, schema["items"], f"{path}[{index}]", was_item)
    return errors


def _by_key(old: JsonValue, schema: Document) -> dict[str, JsonValue]:
    """Return the items of a map list by their keys: only these have an `oldSelf`."""
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {_key_of(item, schema): item for item in old}


def _key_of(item: JsonValue, schema: Document) -> str:
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return repr([at(item, name) for name in keys])


def _has_rules(schema: JsonValue) -> bool:
    if isinstance(schema, list):
        return any(_has_rules(part) for part in schema)
    if not isinstance(schema, dict):
        return False
    return "x-kubernetes-validations" in schema or any(_has_rules(v) for v in schema.values())
