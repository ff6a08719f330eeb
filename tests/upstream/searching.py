"""Generated cases, asked one by one: the smallest of which upstream makes something else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search has found."""

    difference: str
    """What is told of the smallest case of which anything is told; empty if there is none."""
    asked: int
    """How many cases were asked, with those on the way to the smallest."""


def smallest(
    cases: st.SearchStrategy[Case], told: Callable[[Case], str], count: int, number: int
) -> Searched:
    """Ask so many cases, and look for the smallest of which anything is told.

    `told` returns what is wrong with a case, empty if nothing is. `number` is the seed.
    """
    last = ""
    asked = 0

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def agree(case: Case) -> None:
        nonlocal last, asked
        asked += 1
        found = told(case)
        if found:
            last = found
            raise AssertionError(found)

    try:
        agree()
    except AssertionError:
        return Searched(last, asked)
    return Searched("", asked)
