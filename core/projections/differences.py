"""Compares stored projection rows with the rows computed from the log."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

WHOLE_ROW = "(the whole row)"
"""Named as the column of a row that is absent on one side."""

Key: TypeAlias = tuple[str, str]
"""Table, and primary key as people read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A column that is not what the log says."""

    table: str
    key: str
    column: str
    found: str
    expected: str


def whole_row(table: str, key: str, *, is_there: bool) -> Difference:
    """Return that a row is there and should not be, or the other way round."""
    found, expected = ("present", "absent") if is_there else ("absent", "present")
    return Difference(table=table, key=key, column=WHOLE_ROW, found=found, expected=expected)


def differences(
    found: Mapping[Key, Mapping[str, object]], expected: Mapping[Key, Mapping[str, object]]
) -> Iterator[Difference]:
    """Yield every column in which rows differ, by table and key; columns are those expected."""
    for table, key in sorted(found.keys() | expected.keys()):
        is_row, should_row = found.get((table, key)), expected.get((table, key))
        if is_row is None or should_row is None:
            yield whole_row(table, key, is_there=is_row is not None)
            continue
        for column, value in should_row.items():
            if is_row[column] != value:
                yield Difference(
                    table=table,
                    key=key,
                    column=column,
                    found=str(is_row[column]),
                    expected=str(value),
                )
