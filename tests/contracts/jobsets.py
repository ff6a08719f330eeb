"""The contract of a JobSet controller: every rule, as a function of a bench with a JobSet's name.

The rules are those of the real controller, JobSet v0.12.0, and are checked against it.
"""

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import TypeAlias

from tests.contracts import jobsets_admission, jobsets_ending, jobsets_parts, jobsets_starting
from tests.support.jobsets import Bench

Rule: TypeAlias = Callable[[Bench], None]


def _rules(module: ModuleType) -> Iterator[Rule]:
    for name, found in vars(module).items():
        own = isinstance(found, FunctionType) and found.__module__ == module.__name__
        if own and not name.startswith("_"):
            yield found


RULES: tuple[Rule, ...] = tuple(
    rule
    for module in (jobsets_parts, jobsets_starting, jobsets_ending, jobsets_admission)
    for rule in _rules(module)
)
"""All rules, in the order they stand in the files."""
