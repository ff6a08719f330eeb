"""Every error of ours can be handed from one process to another, whatever its class takes."""

import inspect
import pickle

import pytest

from jobledger.core import errors
from jobledger.core.errors import BrokenChain, JobledgerError

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, JobledgerError)
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_arrives_as_it_was(kind: type[JobledgerError]) -> None:
    takes = list(inspect.signature(kind.__init__).parameters.values())[1:]
    named = inspect.isfunction(kind.__init__)
    given = [1 if one.annotation is int else "x" for one in takes] if named else ["a sentence"]
    error = kind(*given)
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is kind
    assert (str(arrived), arrived.args, vars(arrived)) == (str(error), error.args, vars(error))


def test_its_facts_arrive_with_it() -> None:
    arrived = pickle.loads(pickle.dumps(BrokenChain("stream 7", "no JSON")))
    assert (arrived.where, arrived.problem, str(arrived)) == (
        "stream 7",
        "no JSON",
        "stream 7: no JSON",
    )
