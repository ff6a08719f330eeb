"""Validates what plugins declare of their conditions, at the start and before any job is seen."""

from collections.abc import Iterable, Iterator

from jobledger.core.ports.cluster import Resource
from jobledger.core.trainjob.building.framework import Plugin
from jobledger.core.trainjob.contributions.answers import type_problem


def declaration_problems(plugins: Iterable[Plugin]) -> Iterator[tuple[str, str]]:
    """Yield the name of each plugin that declares something wrong, and what."""
    owners: dict[str, str] = {}
    for plugin in plugins:
        for problem in _problems(plugin):
            yield plugin.name, problem
            return
        for kind in plugin.condition_types:
            other = owners.setdefault(kind, plugin.name)
            if other != plugin.name:
                yield plugin.name, f"the condition {kind} belongs to the plugin {other}"


def _problems(plugin: Plugin) -> Iterator[str]:
    speaks = type(plugin).conditions is not Plugin.conditions
    types, sources = plugin.condition_types, plugin.conditions_from
    if not _is_tuple_of(types, str):
        yield "condition_types is no tuple of texts"
    elif not _is_tuple_of(sources, Resource):
        yield "conditions_from is no tuple of Resources"
    elif speaks and not types:
        yield "it gives conditions and declares none in condition_types"
    elif speaks and not sources:
        yield "it gives conditions and says in conditions_from of no kind of object"
    elif (types or sources) and not speaks:
        yield "it declares conditions and has no method `conditions` that gives any"
    elif any((one.group, one.plural) == ("", "secrets") for one in sources):
        yield "conditions_from names Secrets, which are never watched"
    else:
        yield from (problem for kind in types if (problem := type_problem(kind)))


def _is_tuple_of(value: object, kind: type) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, kind) for item in value)
