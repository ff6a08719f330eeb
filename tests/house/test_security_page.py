"""Each row of the attacker's table names its test, and each test that is named is there."""

import re
from collections.abc import Iterator

import pytest

from tests.house.test_docs import ROOT

SAME = re.compile(r"^(as above|the same)$")
"""How a row says that its tests are those of the row before."""

NO_TEST = {"a superuser, or whoever may write the server's files"}
"""Rows of which nothing can be shown: nothing is held against them."""


def rows() -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each row with content."""
    page = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
    for number, line in enumerate(page.splitlines(), start=1):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if line.startswith("|") and not line.startswith("|---") and cells[-1] != "test":
            yield number, cells


def references() -> Iterator[tuple[int, str, str]]:
    """Yield line, file and name (or none) of each test that a row names."""
    file = ""
    for number, cells in rows():
        for written in re.findall(r"`([^`]+)`", cells[-1]):
            path, _, name = written.partition("::")
            file = path if path.startswith("tests/") else file
            yield number, file, name.rpartition("::")[2]


@pytest.mark.parametrize(("number", "cells"), list(rows()), ids=lambda value: str(value)[:60])
def test_a_row_names_its_tests(number: int, cells: list[str]) -> None:
    if cells[0] not in NO_TEST:
        assert "`" in cells[-1] or SAME.match(cells[-1]), f"line {number} names no test"


@pytest.mark.parametrize(("number", "file", "name"), list(references()))
def test_what_is_named_is_there(number: int, file: str, name: str) -> None:
    found = ROOT / file
    assert found.is_file(), f"line {number}: {file}"
    if name:
        text = found.read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", text, re.MULTILINE), f"line {number}: {name}"
