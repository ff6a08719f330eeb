"""The jobs that are to fail on the node are jobs that everybody takes, and the judge sees slips."""

from typing import Any

import pytest

from jobledger.core.rayjob.validation.validate import validate
from tests.node.failures.cases import Case, cases
from tests.node.failures.judging import END, disagreement

CASES = tuple(cases())
[KILLED] = [case for case in CASES if case.name == "submitter-takes-too-much"]
[WAITS] = [case for case in CASES if case.name == "head-waits-for-a-node"]
SAID = "failed, because a container used more memory than its limit: OOMKilled."
POD = "submitter-takes-too-much-x2x2x Failed ray-job-submitter OOMKilled (exit 137)"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_fails_is_a_valid_job(case: Case) -> None:
    assert case.manifest["kind"] in END
    assert case.manifest["kind"] == "TrainJob" or validate(case.manifest, "") is None
    assert len({one.name for one in CASES}) == len(CASES)


def account(case: Case, *sentences: str, **more: str) -> dict[str, Any]:
    told = {"failure_class": case.cause, "failure_group": case.group, "outcome": case.outcome}
    return {**told, "sentences": [{"text": text} for text in sentences], **more}


@pytest.mark.parametrize(
    ("sentences", "more", "pod", "said"),
    [
        ((SAID,), {}, POD, ""),
        ((SAID,), {"failure_class": "killed"}, POD, "it is told as ['failed', 'killed'"),
        ((SAID,), {"outcome": "going on"}, POD, "it is told as ['going on'"),
        (("It failed.", SAID), {}, POD, "'OOMKilled' is not told"),
        ((SAID,), {}, "head-1 Running ray-head running", "no evidence is as"),
    ],
)
def test_what_is_told_of_a_failure_is_judged(
    sentences: tuple[str, ...], more: dict[str, str], pod: str, said: str
) -> None:
    kept = [{"what": "Pod", "source": pod}]
    found = disagreement(KILLED, account(KILLED, *sentences, **more), kept)
    assert said in found
    assert bool(said) == bool(found)


def test_what_a_job_waits_for_may_stand_in_any_sentence() -> None:
    kept = [{"what": "Pod", "source": f"{WAITS.name}-head Pending Unschedulable"}]
    assert disagreement(WAITS, account(WAITS, "It waits.", WAITS.says), kept) == ""
    assert disagreement(WAITS, account(WAITS, "It waits."), kept)
