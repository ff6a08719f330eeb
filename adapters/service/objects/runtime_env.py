"""Parses `spec.runtimeEnvYAML` into the JSON object it stands for.

As upstream reads it (`adapters/service/objects/go_yaml.py`), within limits, and never repeating the
content in a problem. Only the first document of a text counts.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from math import isfinite
from typing import Any

import yaml

from jobledger.adapters.service.objects.go_yaml import MERGE, STR, Unreadable, key_text, scalar
from jobledger.adapters.service.objects.go_yaml_scanner import GoScanner
from jobledger.core.values.documents import Json, Manifest

NODES_MAX = 20_000
"""How many values a runtime environment may hold once its aliases are written out."""

DEPTH_MAX = 100
"""How deep maps and lists may lie in each other; looked at before anything recursive is done."""

PROBLEM_CHARACTERS_MAX = 200


CHARACTERS_MAX = 256 * 1024
"""Longest text that is read: a megabyte would keep the watch busy for a quarter of a minute."""

VERSION = (1, 1)
"""Of YAML; a text that says it is of another is refused."""

_MERGED = "<<"
_TEXT_MARK = "!"


class _Limits:
    """Counts what a text holds, and refuses what is too deep or too much."""

    def __init__(self) -> None:
        self.depth = self.nodes = 0

    def begin(self, *, is_collection: bool) -> None:
        """Take note of a node: keys are nodes and no values."""
        self.nodes += 1
        self.depth += is_collection
        if self.depth > DEPTH_MAX:
            raise Unreadable(f"more than {DEPTH_MAX} maps and lists in each other")
        if self.nodes > 2 * NODES_MAX:
            raise Unreadable(f"more than {NODES_MAX} values")

    def end(self) -> None:
        """Take note of the end of a map or list."""
        self.depth -= 1


def _look_ahead(text: str) -> None:
    """Refuse what is too deep or too much by the parser in C: quickly, and without recursion.

    What it cannot read is left to the reader, which counts as well.
    """
    limits, quick = _Limits(), yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    with suppress(yaml.YAMLError, UnicodeError):
        for event in yaml.parse(text, Loader=quick):
            if isinstance(event, yaml.CollectionEndEvent):
                limits.end()
            elif isinstance(event, yaml.NodeEvent):
                limits.begin(is_collection=isinstance(event, yaml.CollectionStartEvent))


class _Reader(GoScanner):
    """YAML up to its nodes: what a plain scalar means is not for it to say."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Return the tag of what has none: a text, unless it is a scalar written plainly."""
        del value
        return "" if kind is yaml.ScalarNode and implicit[0] else STR

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._limits = _Limits()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node, unless that is too deep or too much."""
        is_collection = not self.check_event(yaml.AliasEvent, yaml.ScalarEvent)
        self._limits.begin(is_collection=is_collection)
        made: yaml.Node | None = super().compose_node(parent, index)
        if is_collection:
            self._limits.end()
        return made

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:  # noqa: ANN401 a name or None
        """Return a scalar; one with the tag `!` is a text."""
        is_text = self.peek_event().tag == _TEXT_MARK  # type: ignore[no-untyped-call]
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        if is_text:
            node.tag = STR
        return node

    def first(self) -> yaml.Node | None:
        """Return the first document, None if there is nothing."""
        node: yaml.Node | None = self.get_node() if self.check_node() else None
        if self.yaml_version not in (None, VERSION):
            raise Unreadable("another version of YAML than 1.1")
        return node


@functools.lru_cache(maxsize=64)
def parse_runtime_env(text: str) -> tuple[Manifest | None, str]:
    """Return the runtime environment (None for nothing) and why it cannot be read, empty if it can.

    The problem names the place and never the content, which may hold secrets.
    """
    if len(text) > CHARACTERS_MAX:
        return None, f"longer than {CHARACTERS_MAX} characters"
    try:
        _look_ahead(text)
        node = _Reader(text).first()
        found = None if node is None else _plain(node, [NODES_MAX])
    except Unreadable as error:
        return None, f"yaml: {error}"
    except yaml.MarkedYAMLError as error:
        return None, _where(error)
    except UnicodeError:
        return None, "yaml: half of a character (a lone surrogate), which no request can carry"
    except RecursionError:
        return None, "yaml: a map or list that holds itself"
    except Exception:  # noqa: BLE001 whatever a foreign text makes the parser stumble over
        return None, "not readable as YAML; try it with any YAML reader"
    if found is not None and not isinstance(found, Mapping):
        return None, f"a YAML map is needed, found {_kind(found)}"
    return found, ""


def _where(error: yaml.MarkedYAMLError) -> str:
    problem = re.split("['\"]", error.problem or "not readable as YAML")[0].strip()
    return f"yaml: {problem[:PROBLEM_CHARACTERS_MAX]}{_place(error.problem_mark)}"


def _place(mark: yaml.Mark | None) -> str:
    return f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""


def _kind(found: Json) -> str:
    if isinstance(found, str):
        return "a text"
    return "a list" if isinstance(found, list) else "a number"


def _plain(node: yaml.Node, budget: list[int]) -> Json:
    budget[0] -= 1
    if budget[0] < 0:
        raise Unreadable(f"more than {NODES_MAX} values")
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, budget) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return dict(_pairs(node, budget))
    with _placed(node):
        value = scalar(node.tag, node.value)
        if isinstance(value, float) and not isfinite(value):
            raise Unreadable("a number that JSON cannot hold")
    return _sendable(value) if isinstance(value, str) else value


def _pairs(node: yaml.MappingNode, budget: list[int]) -> Iterator[tuple[str, Json]]:
    """Yield the pairs of a map, merged ones where they stand: the last one of a key counts."""
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value == _MERGED and key.tag in ("", MERGE):
            for part in _merged(value):
                budget[0] -= 1
                yield from _pairs(part, budget)
            continue
        with _placed(key):
            if not isinstance(key, yaml.ScalarNode):
                raise Unreadable("a key that is no text")
            name = key_text(scalar(key.tag, key.value))
        yield _sendable(name), _plain(value, budget)


def _merged(node: yaml.Node) -> Iterator[yaml.MappingNode]:
    """Yield the maps that are merged; of several the first one counts, so it comes last."""
    parts = list(reversed(node.value)) if isinstance(node, yaml.SequenceNode) else [node]
    for part in parts:
        if not isinstance(part, yaml.MappingNode):
            with _placed(part):
                raise Unreadable("a map is needed for a merge")
        yield part


@contextmanager
def _placed(node: yaml.Node) -> Iterator[None]:
    """Let what cannot be read say where it stands."""
    try:
        yield
    except Unreadable as error:
        raise Unreadable(f"{error}{_place(node.start_mark)}") from None


def _sendable(value: str) -> str:
    """Return the text; raise `ValueError` for one that no request can carry."""
    value.encode()
    return value
