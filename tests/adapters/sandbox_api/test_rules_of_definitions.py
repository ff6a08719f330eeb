"""The rules of the bundled definitions are all understood."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.sandbox.admission.cel_rules import PREDICATES
from jobledger.sandbox.admission.definitions import bundled_definitions


def _rules(schema: object) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _rules(part)
    if isinstance(schema, dict):
        yield from (rule["rule"] for rule in schema.get("x-kubernetes-validations") or ())
        for part in schema.values():
            yield from _rules(part)


@pytest.mark.parametrize("definition", bundled_definitions(), ids=lambda d: d["metadata"]["name"])
def test_every_rule_has_a_predicate(definition: dict[str, Any]) -> None:
    """A rule without one would let everything through."""
    assert set(_rules(definition["spec"]["versions"])) <= PREDICATES.keys()
