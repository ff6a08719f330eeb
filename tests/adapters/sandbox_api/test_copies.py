"""A copy of a document is as deep as the document, whatever JSON or YAML brings."""

import pytest

from jobledger.sandbox.model.documents import JsonValue, copy_of


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -1.5, True, None, {"b": []}], "c": "d\x00é\u202e"},
        {"more than 64 bits": [2**64, -(2**63) - 1, 10**400]},
        {"a lone surrogate": {"\ud800": ["\udfff"]}},
        {"tiny": 5e-324, "infinite": float("inf")},
        {1: "a key of YAML", None: "another"},
        "a text",
    ],
)
def test_a_copy_is_equal_and_nothing_of_it_is_shared(value: JsonValue) -> None:
    copy = copy_of(value)
    assert (copy, type(copy)) == (value, type(value))
    assert shared(copy, value) == []


def shared(copy: JsonValue, value: JsonValue) -> list[JsonValue]:
    """Return the containers that a copy has in common with what it was made of."""
    if not isinstance(value, (dict, list)):
        return []
    inner = value.values() if isinstance(value, dict) else value
    copied = copy.values() if isinstance(copy, dict) else copy
    found = [value] if copy is value else []
    return found + [one for pair in zip(copied, inner, strict=True) for one in shared(*pair)]
