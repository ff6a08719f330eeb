"""The contract of a Kubernetes API: every rule, as a function of a client.

Each rule was read from the documentation or the source of a real API server and is checked against
one wherever there is one. A rule gets a client with a namespace of its own.
"""

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import TypeAlias

from tests.contracts import (
    kubernetes_api_deletion,
    kubernetes_api_lists,
    kubernetes_api_patches,
    kubernetes_api_training,
    kubernetes_api_validation,
    kubernetes_api_writes,
)
from tests.support.api import Api

Rule: TypeAlias = Callable[[Api], None]


def _rules(module: ModuleType) -> Iterator[Rule]:
    for name, found in vars(module).items():
        own = isinstance(found, FunctionType) and found.__module__ == module.__name__
        if own and not name.startswith("_"):
            yield found


RULES: tuple[Rule, ...] = tuple(
    rule
    for module in (
        kubernetes_api_writes,
        kubernetes_api_patches,
        kubernetes_api_lists,
        kubernetes_api_deletion,
        kubernetes_api_validation,
        kubernetes_api_training,
    )
    for rule in _rules(module)
)
"""All rules, in the order they stand in the files."""
