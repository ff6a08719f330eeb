"""The lives, by what they are about."""

from tests.operators.train_lives.cases import (
    bad_instants,
    deletions,
    ends,
    objects,
    of_policies,
    of_runtimes,
    suspending,
)
from tests.operators.train_lives.cases.table import LIVES, UNHOOKED, Life

__all__ = [
    "LIVES",
    "UNHOOKED",
    "Life",
    "bad_instants",
    "deletions",
    "ends",
    "objects",
    "of_policies",
    "of_runtimes",
    "suspending",
]
