"""What is made for a RayJob is KubeRay's, on its samples and at every edge that was thought of.

The answers are kept as data, so that this needs no Go; `make upstream` makes them anew.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.upstream import rayjob_data
from tests.upstream.rayjob_cases import Case, bases, cases
from tests.upstream.rayjob_known import KNOWN, remaining
from tests.upstream.rayjobs import Built, ours, theirs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"


@cache
def data() -> dict[str, Any]:
    return rayjob_data.read()


@cache
def compared() -> tuple[tuple[Case, Built, Built], ...]:
    return tuple((case, theirs(data()[case.id]), ours(case)) for case in cases())


@pytest.mark.parametrize("base", sorted(bases()))
def test_what_kuberay_makes_is_made(base: str) -> None:
    wrong = [
        f"{case.id}: {difference}"
        for case, one, other in compared()
        if case.id.split("/")[0] == base
        for difference in remaining(case, one, other)
    ]
    assert wrong == []


def test_every_case_was_asked_and_every_answer_has_its_case() -> None:
    assert sorted(case.id for case in cases()) == sorted(data())


def test_the_page_of_differences_lists_what_is_known_and_nothing_else() -> None:
    listed = re.findall(r"<!-- oracle: ((?:rayjob|kuberay)-[a-z0-9-]+) -->", PAGE.read_text())
    assert sorted(listed) == sorted(KNOWN)


@pytest.mark.parametrize("line", sorted(KNOWN))
def test_each_listed_difference_is_seen(line: str) -> None:
    """A line whose difference is gone is to be removed."""
    assert any(remaining(*each, but=line) for each in compared())
