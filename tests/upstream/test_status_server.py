"""What Pods are told of a status server is what Trainer tells them, with its feature on.

The answers are kept as data, so that this needs no Go; `make upstream` makes them anew.
"""

from functools import cache
from typing import Any

import pytest

from tests.upstream import status_server, trainjob_data
from tests.upstream.trainjob_cases import Case
from tests.upstream.trainjobs import explained, found, theirs

RUNTIMES = trainjob_data.read()[0]


@cache
def answers() -> dict[str, Any]:
    return status_server.read()


def cases_on(runtime: str) -> list[Case]:
    return list(status_server.cases({runtime: RUNTIMES[runtime]}))


@pytest.mark.parametrize("runtime", sorted(RUNTIMES))
def test_pods_are_told_of_the_server_as_trainer_tells_them(runtime: str) -> None:
    differ = {case.id: found(case, answers()[case.id]) for case in cases_on(runtime)}
    unlisted = [
        f"{case.id}: {differ[case.id][:5]}"
        for case in cases_on(runtime)
        if differ[case.id] and not explained(case, answers()[case.id])
    ]
    assert unlisted == []


@pytest.mark.parametrize("runtime", sorted(RUNTIMES))
def test_trainer_was_asked_with_the_feature_on(runtime: str) -> None:
    """Whatever is built has the authority, and every container that trains the address."""
    plain = next(case for case in cases_on(runtime) if case.id == f"{runtime}/server/plain")
    built = theirs(plain, answers()[plain.id])
    if built.refused:
        assert explained(plain, answers()[plain.id])
        return
    assert "ConfigMap/train-tls-config" in built.objects
    assert "KUBEFLOW_TRAINER_SERVER_URL" in str(built.objects["JobSet/train"])


def test_every_case_was_asked_and_every_answer_has_its_case() -> None:
    assert {case.id for case in status_server.cases(RUNTIMES)} == set(answers())
