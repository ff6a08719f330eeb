"""`spec.runtimeEnvYAML`, parsed at the door: YAML to the JSON object it stands for.

Within limits, and never repeating the content in a problem.
"""

import functools
import math
import re
from collections.abc import Mapping

import yaml

from core.values.documents import Json, Manifest

NODES_MAX = 20_000
"""How many values a runtime environment may hold once its aliases are written out."""

PROBLEM_CHARACTERS_MAX = 200


CHARACTERS_MAX = 256 * 1024
"""Longest text that is read: a megabyte would keep the watch busy for a quarter of a minute."""

WHOLE_NUMBER_BITS_MAX = 64
"""Longest whole number that is read; neither JSON readers nor Ray take longer ones."""

_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """YAML as JSON sees it: a date is a text, and merged maps stay within the limit."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge `<<` into a map, unless what is merged is too much.

        PyYAML copies what is merged at every level: ten levels of ten are ten thousand million
        pairs.
        """
        total = len(node.value)
        for key, value in node.value:
            if key.tag != _MERGE:
                continue
            for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if isinstance(part, yaml.MappingNode):
                    self.flatten_mapping(part)
                    total += len(part.value)
                if total > NODES_MAX:
                    raise ValueError("too many values")
        super().flatten_mapping(node)


_Loader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@functools.lru_cache(maxsize=64)
def parse_runtime_env(text: str) -> tuple[Manifest, str]:
    """Return the runtime environment and an empty text, or an empty one and why it cannot be read.

    The problem names the place and never the content, which may hold secrets.
    """
    if not text.strip():
        return {}, ""
    if len(text) > CHARACTERS_MAX:
        return {}, f"longer than {CHARACTERS_MAX} characters"
    try:
        # a subclass of SafeLoader: no objects are made
        loaded = yaml.load(text, Loader=_Loader)  # noqa: S506
        budget = [NODES_MAX]
        plain = _plain(loaded, budget)
    except yaml.MarkedYAMLError as error:
        return {}, _where(error)
    except Exception as error:  # noqa: BLE001 whatever a foreign text makes the parser stumble over
        return {}, f"not readable as YAML ({type(error).__name__})"
    if not isinstance(plain, Mapping):
        return {}, f"a YAML map is needed, found {_kind(loaded)}"
    return plain, ""


def _where(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    problem = re.split("['\"]", error.problem or "not readable as YAML")[0].strip()
    return f"yaml: {problem[:PROBLEM_CHARACTERS_MAX]}{place}"


def _kind(loaded: object) -> str:
    return {str: "a text", list: "a list", type(None): "nothing"}.get(type(loaded), "a number")


def _plain(value: object, budget: list[int]) -> Json:
    budget[0] -= 1
    if budget[0] < 0:
        raise ValueError("too many values")
    if isinstance(value, dict):
        return {_key(key): _plain(item, budget) for key, item in value.items()}
    if isinstance(value, set):
        return [_plain(item, budget) for item in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        return [_plain(item, budget) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number that JSON cannot hold")
    if isinstance(value, int) and value.bit_length() > WHOLE_NUMBER_BITS_MAX:
        raise ValueError("a number that JSON cannot hold")
    if isinstance(value, bytes):
        raise ValueError("bytes, which JSON cannot hold")  # noqa: TRY004 it is not a wrong argument
    if isinstance(value, bool | int | float) or value is None:
        return value
    return _sendable(value if isinstance(value, str) else str(value))


def _sendable(value: str) -> str:
    """Return the text; raise `ValueError` for one that no request can carry."""
    value.encode()
    return value


def _key(key: object) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else _sendable(str(key))
