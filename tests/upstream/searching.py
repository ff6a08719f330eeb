"""Generated cases, asked one by one: the smallest of which upstream makes something else."""

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Case = TypeVar("Case")


def smallest(
    cases: st.SearchStrategy[Case], told: Callable[[Case], str], count: int, number: int
) -> str | None:
    """Return what is told of the smallest case of which anything is told, or None.

    `told` returns what is wrong with a case, empty if nothing is. `number` is the seed.
    """
    last = ""

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
        nonlocal last
        found = told(case)
        if found:
            last = found
            raise AssertionError(found)

    try:
        agree()
    except AssertionError:
        return last
    return None
