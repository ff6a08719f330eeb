"""The fields of documents that always hold secrets, whatever their value looks like.

One walk serves both questions: which values are secret (`core.log.redaction.secret_values`), and
what the document looks like without them (`core.log.redaction.redact`).
"""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Protocol

from jobledger.core.log.redaction.detection.secret_names import Promise, promise_of, promises_secret
from jobledger.core.log.redaction.detection.secret_shapes import passwords_in_command
from jobledger.core.log.storable import DEEPEST, TOO_DEEP
from jobledger.core.values.documents import OBJECT_TYPES, Json, Manifest

_NAMES = ("name", "key", "Name", "Key")
_VALUES = frozenset(("value", "Value"))
_ARGUMENTS_MAX = 200
"""Words of a command in which short options are looked for."""
_BEGINS_DOCUMENT = frozenset("{[")
_ENVIRONMENTS = frozenset(("env", "env_vars", "envVars"))
_TELLING = _ENVIRONMENTS | _VALUES | {"runtimeEnvYAML", "data", "stringData", "args", "template"}
"""Keys that say what stands under them, as names that promise a secret do."""
_NUMBERS = (int, float)
_LITERALS = (str, *_NUMBERS)
_OPTION = re.compile(r"--?[A-Za-z][\w.-]{0,100}")
_OPTION_WITH_VALUE = re.compile(r"(--?[A-Za-z][\w.-]{0,100})=(.+)", re.DOTALL)
_USER_OPTIONS = frozenset(("-u", "--user", "--proxy-user"))
_RUNTIME_ENV_OPTION = "--runtime-env-json"


class Visitor(Protocol):
    """What is done with the values of a document."""

    def secret(self, value: str | float, promise: Promise) -> Json:
        """Return what stands in place of a string or number that is secret by its place.

        Args:
            value: The string or number.
            promise: What its name says of it; a literal environment value may be anything.
        """

    def text(self, value: str) -> str:
        """Return what stands in place of any other string; keys of objects included."""

    def number(self, value: float) -> Json:
        """Return what stands in place of a number."""

    def runtime_env(self, yaml: str) -> Json:
        """Return what stands in place of the text of a runtime environment."""

    def template(self, template: Manifest, depth: int) -> Json:
        """Return what stands in place of a template of a Pod, Job or JobSet.

        Args:
            template: The template, which is to be visited as any object.
            depth: Levels above it.
        """


def visited(document: Json, visitor: Visitor, depth: int = 0) -> Json:
    """Return a copy of `document` in which `visitor` has replaced every value.

    Args:
        document: Any JSON.
        visitor: Is shown every value and key.
        depth: Levels above `document`.
    """
    if isinstance(document, str):
        if document[:1] in _BEGINS_DOCUMENT:
            return _held(document, visitor, depth)
        return visitor.text(document)
    if document is None or document is True or document is False:
        return document
    if isinstance(document, _NUMBERS):
        return visitor.number(document)
    if depth >= DEEPEST:
        return TOO_DEEP
    if isinstance(document, OBJECT_TYPES):
        return _object(document, visitor, depth)
    return _list(document, visitor, depth)


def _held(value: str, visitor: Visitor, depth: int) -> Json:
    """Visit a string that may hold a document (`last-applied-configuration`)."""
    if depth >= DEEPEST:
        return TOO_DEEP
    try:
        held: Json = json.loads(value)
    except ValueError:
        return visitor.text(value)
    except RecursionError:
        return TOO_DEEP
    shown = visited(held, visitor, depth + 1)
    if shown == held:
        return visitor.text(value)
    return visitor.text(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))


def _object(node: Manifest, visitor: Visitor, depth: int) -> Json:
    is_secret_object = node.get("kind") == "Secret"
    is_named_secret = not _VALUES.isdisjoint(node) and _is_named_secret(node)
    result: dict[str, Json] = {}
    for key, value in node.items():
        shown: Json
        if key not in _TELLING and not promises_secret(str(key)):
            shown = visited(value, visitor, depth + 1)
        elif key in _ENVIRONMENTS:
            shown = _environment(value, visitor, depth + 1)
        elif key == "runtimeEnvYAML" and isinstance(value, str):
            shown = visitor.runtime_env(value)
        elif key in ("data", "stringData") and is_secret_object:
            shown = _all_secret(value, visitor, depth + 1, Promise.SECRET)
        elif key == "template" and isinstance(value, dict):
            shown = visitor.template(value, depth + 1)
        elif key == "args" and isinstance(value, list):
            shown = _list(value, visitor, depth + 1, node.get("command"))
        elif (key in _VALUES and is_named_secret) or promises_secret(str(key)):
            shown = _promised(value, visitor, depth + 1)
        else:
            shown = visited(value, visitor, depth + 1)
        result[visitor.text(str(key))] = shown
    return result


def _is_named_secret(node: Manifest) -> bool:
    """Tell whether an object is a pair of a name that promises a secret and its value.

    A toleration, which has a key and a value as well, is none.
    """
    if "operator" in node:
        return False
    for key in _NAMES:
        name = node.get(key)
        if isinstance(name, str) and promises_secret(name):
            return True
    return False


def _list(node: Sequence[Json], visitor: Visitor, depth: int, program: Json = None) -> Json:
    """Visit a list; in a command line the item after `--token` is a secret.

    Args:
        node: The list.
        visitor: Is shown every value and key.
        depth: Levels above the list.
        program: The command that the list holds arguments of.
    """
    result: list[Json] = []
    before: Json = program[-1] if isinstance(program, list) and program else None
    passwords = _passwords(program, node)
    for index, item in enumerate(node):
        if isinstance(item, str) and isinstance(before, str) and _is_value_of(before, item):
            result.append(_value_of(before, item, visitor))
        elif isinstance(item, str) and (option := _secret_option(item)):
            secret = visitor.secret(item[len(option) + 1 :], _promise_of_option(option))
            result.append(visitor.text(f"{option}={secret}"))
        elif isinstance(item, str) and index in passwords:
            start, end = passwords[index]
            secret = visitor.secret(item[start:end], Promise.SECRET)
            result.append(visitor.text(f"{item[:start]}{secret}{item[end:]}"))
        else:
            result.append(visited(item, visitor, depth + 1))
        before = item
    return result


def _passwords(program: Json, arguments: Sequence[Json]) -> dict[int, tuple[int, int]]:
    """Return where the words of a command hold passwords: index of an argument -> start and end.

    Those of the program itself have indices below 0: they are of another list.
    """
    before = program if isinstance(program, list) else []
    words = [word for word in (*before, *arguments[:_ARGUMENTS_MAX]) if isinstance(word, str)]
    if len(words) != len(before) + len(arguments[:_ARGUMENTS_MAX]) or len(words) < 2:  # noqa: PLR2004  # a program and an option
        return {}
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    result = {}
    for span in passwords_in_command(" ".join(words)):
        at = bisect_right(starts, span.start) - 1
        result[at - len(before)] = (span.start - starts[at], span.end - starts[at])
    return result


def _is_value_of(option: str, item: str) -> bool:
    if _OPTION.match(item) is not None or _OPTION.fullmatch(option) is None:
        return False
    if option in _USER_OPTIONS:
        return ":" in item
    return option == _RUNTIME_ENV_OPTION or promises_secret(option)


def _value_of(option: str, item: str, visitor: Visitor) -> Json:
    if option in _USER_OPTIONS:
        user, _, password = item.partition(":")
        return f"{visitor.text(user)}:{visitor.secret(password, Promise.SECRET)}"
    return visitor.secret(item, _promise_of_option(option))


def _secret_option(item: str) -> str:
    """Return the option of `--token=x`, or nothing; the value may hold blanks and anything."""
    found = _OPTION_WITH_VALUE.fullmatch(item)
    if found is None:
        return ""
    option = found[1]
    return option if option == _RUNTIME_ENV_OPTION or promises_secret(option) else ""


def _promise_of_option(option: str) -> Promise:
    return Promise.NOTHING if option == _RUNTIME_ENV_OPTION else Promise.SECRET


def _environment(value: Json, visitor: Visitor, depth: int) -> Json:
    """Visit literal environment values: a list of name and value, of `A=b`, or an object."""
    if depth >= DEEPEST:
        return visited(value, visitor, depth)
    if isinstance(value, Mapping):
        return _variables(value, visitor, depth)
    if isinstance(value, str) or not isinstance(value, Sequence):
        return visited(value, visitor, depth)
    return [_variable(item, visitor, depth + 1) for item in value]


def _variables(node: Manifest, visitor: Visitor, depth: int) -> Json:
    return {
        visitor.text(str(name)): _all_secret(value, visitor, depth + 1, promise_of(str(name)))
        for name, value in node.items()
    }


def _variable(item: Json, visitor: Visitor, depth: int) -> Json:
    if isinstance(item, str):
        name, equals, value = item.partition("=")
        if not equals or not value:
            return visited(item, visitor, depth)
        secret = visitor.secret(value, promise_of(name))
        return f"{visitor.text(name)}={secret}"
    if not isinstance(item, OBJECT_TYPES):
        return visited(item, visitor, depth)
    promise = promise_of(str(item.get("name", "")))
    return {
        visitor.text(str(key)): _all_secret(value, visitor, depth + 1, promise)
        if key == "value"
        else visited(value, visitor, depth + 1)
        for key, value in item.items()
    }


def _promised(value: Json, visitor: Visitor, depth: int) -> Json:
    """Visit what stands under a name that promises a secret.

    Objects tell where a secret lies (`secretKeyRef`), but for their own `value`.
    """
    if depth >= DEEPEST:
        return _all_secret(value, visitor, depth, Promise.SECRET)
    if isinstance(value, Mapping):
        if "value" not in value:
            return visited(value, visitor, depth)
        rest = {key: entry for key, entry in value.items() if key != "value"}
        shown = _object(rest, visitor, depth)
        literal = _all_secret(value["value"], visitor, depth + 1, Promise.SECRET)
        return {**shown, "value": literal} if isinstance(shown, Mapping) else shown
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_promised(item, visitor, depth + 1) for item in value]
    return _all_secret(value, visitor, depth, Promise.SECRET)


def _all_secret(value: Json, visitor: Visitor, depth: int, promise: Promise) -> Json:
    """Visit a value whose every string and number is secret."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, _LITERALS):
        return visitor.secret(value, promise)
    if depth >= DEEPEST:
        return TOO_DEEP
    if isinstance(value, Mapping):
        return {
            visitor.text(str(key)): _all_secret(entry, visitor, depth + 1, promise)
            for key, entry in value.items()
        }
    return [_all_secret(item, visitor, depth + 1, promise) for item in value]
