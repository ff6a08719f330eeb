"""Our objects are Trainer's, on every runtime it ships and at every edge that was thought of.

The answers are kept as data, so that this needs no Go; `make upstream` makes them anew.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.upstream import trainjob_data, trainjob_updates
from tests.upstream.trainjob_cases import Case, cases
from tests.upstream.trainjobs import KNOWN, explained, found

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"


@cache
def data() -> tuple[dict[str, Any], dict[str, Any]]:
    return trainjob_data.read()


@cache
def by_runtime() -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {}
    for case in cases(data()[0]):
        groups.setdefault(case.id.split("/")[0], []).append(case)
    return groups


@pytest.mark.parametrize("runtime", sorted(data()[0]))
def test_what_trainer_builds_is_built(runtime: str) -> None:
    answers = data()[1]
    wrong = [
        f"{case.id}: {difference}"
        for case in by_runtime()[runtime]
        for difference in found(case, answers[case.id])
        if not explained(case, answers[case.id])
    ]
    assert wrong == []


def test_every_case_was_asked_and_every_answer_has_its_case() -> None:
    assert {case.id for case in cases(data()[0])} == set(data()[1])


def test_the_page_of_differences_lists_what_is_known_and_nothing_else() -> None:
    listed = set(re.findall(r"<!-- oracle: (trainjob-[a-z-]+) -->", PAGE.read_text()))
    assert listed == {*KNOWN, trainjob_updates.KNOWN}


@pytest.mark.parametrize("line", sorted(KNOWN))
def test_each_listed_difference_is_seen(line: str) -> None:
    """A line whose difference is gone is to be removed."""
    answers = data()[1]
    assert any(
        explained(case, answers[case.id]) == line and found(case, answers[case.id])
        for group in by_runtime().values()
        for case in group
    )
