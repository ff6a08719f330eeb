"""Reads YAML that others wrote, within limits, and says in one line why it cannot be read."""

from collections.abc import Mapping
from typing import Any

import yaml

VALUES_MAX, DEPTH_MAX = 1_000_000, 100
"""No object of a cluster has more: etcd takes 1.5 MB. A few lines of aliases can stand for more."""


class NotReadable(Exception):
    """A text is no YAML, or none that can be used; the error says why."""


def documents(content: bytes) -> list[Any]:
    """Return the documents of a text, None for one that is empty.

    Raises:
        NotReadable: it has none.
    """
    try:
        found = list(yaml.safe_load_all(content.decode()))
    except yaml.YAMLError as error:
        raise NotReadable(f"is not YAML: {_problem(error)}") from error
    except RecursionError as error:
        raise NotReadable("cannot be read: it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise NotReadable("cannot be read: it is no text") from error
    except (ValueError, OverflowError) as error:
        raise NotReadable("cannot be read: it has a date or a number that is none") from error
    if not all(_is_within_limits(document) for document in found):
        what = f"more than {VALUES_MAX:,} values or {DEPTH_MAX} levels, aliases written out"
        raise NotReadable(f"holds {what}")
    return found


def _problem(error: yaml.YAMLError) -> str:
    """Return what is wrong and where, without a word of the text: it may hold what is secret."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem}, in line {error.problem_mark.line + 1}"
    return str(error).splitlines()[0]


def _is_within_limits(document: object) -> bool:
    left, count = [(document, 0)], 0
    while left:
        value, depth = left.pop()
        count += 1
        if depth > DEPTH_MAX or count > VALUES_MAX:
            return False
        if isinstance(value, Mapping | list):
            inner = value.values() if isinstance(value, Mapping) else value
            left.extend((one, depth + 1) for one in inner)
    return True
